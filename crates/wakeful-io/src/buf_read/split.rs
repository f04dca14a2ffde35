use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::until::poll_read_until;
use crate::traits::AsyncBufRead;

pin_project! {
    /// A stream of a reader's segments between delimiters.
    ///
    /// Created by [`AsyncBufReadExt::split`](crate::AsyncBufReadExt::split).
    ///
    /// ```
    /// use wakeful::io::{AsyncBufReadExt, BufReader};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut fields = BufReader::new(&b"ann:42"[..]).split(b':');
    /// let mut found = Vec::new();
    /// while let Some(field) = fields.next_segment().await? {
    ///     found.push(field);
    /// }
    /// assert_eq!(found, [&b"ann"[..], b"42"]);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Split<R> {
        #[pin]
        reader: R,
        buf: Vec<u8>,
        delimiter: u8,
    }
}

impl<R: AsyncBufRead> Split<R> {
    pub(super) fn new(reader: R, delimiter: u8) -> Self {
        Split { reader, buf: Vec::new(), delimiter }
    }
}

impl<R: AsyncBufRead + Unpin> Split<R> {
    /// Returns the next segment without its delimiter, or `None` at the end.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, no bytes are lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncBufReadExt, BufReader};
    ///
    /// let mut segments = BufReader::new(&b"a,bc,"[..]).split(b',');
    /// assert_eq!(segments.next_segment().await?.as_deref(), Some(&b"a"[..]));
    /// assert_eq!(segments.next_segment().await?.as_deref(), Some(&b"bc"[..]));
    /// assert_eq!(segments.next_segment().await?, None);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn next_segment(&mut self) -> io::Result<Option<Vec<u8>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_segment(cx)).await
    }
}

impl<R: AsyncBufRead> Split<R> {
    /// Polls for the next segment, like [`next_segment`](Self::next_segment).
    ///
    /// `Pending` means that the segment is not complete yet; the task of the latest `cx` is woken
    /// when more bytes may be available.
    pub fn poll_next_segment(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        let me = self.project();
        ready!(poll_read_until(me.reader, cx, *me.delimiter, me.buf))?;
        if me.buf.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut segment = mem::take(me.buf);
        if segment.last() == Some(me.delimiter) {
            segment.pop();
        }
        Poll::Ready(Ok(Some(segment)))
    }
}
