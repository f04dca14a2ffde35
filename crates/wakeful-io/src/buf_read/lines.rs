use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::until::poll_read_until;
use crate::traits::AsyncBufRead;

pin_project! {
    /// A stream of a reader's lines, without their line ends (`\n` or `\r\n`).
    ///
    /// Created by [`AsyncBufReadExt::lines`](crate::AsyncBufReadExt::lines).
    ///
    /// A loop that waits for other futures as well loses no line:
    ///
    /// ```
    /// use std::time::Duration;
    /// use wakeful::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};
    /// use wakeful::time;
    ///
    /// # let mut builder = wakeful::runtime::Builder::new_current_thread();
    /// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
    /// let (mut near, far) = duplex(64);
    /// let mut lines = BufReader::new(far).lines();
    /// let mut every = time::interval(Duration::from_secs(1));
    /// wakeful::spawn(async move {
    ///     near.write_all(b"half a ").await?;
    ///     time::sleep(Duration::from_secs(5)).await;
    ///     near.write_all(b"line\n").await
    /// });
    ///
    /// let line = loop {
    ///     wakeful::select! {
    ///         line = lines.next_line() => break line?,
    ///         _ = every.tick() => {} // drops the `next_line` future and creates a new one
    ///     }
    /// };
    /// assert_eq!(line.as_deref(), Some("half a line"));
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Lines<R> {
        #[pin]
        reader: R,
        buf: Vec<u8>,
    }
}

impl<R: AsyncBufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Lines { reader, buf: Vec::new() }
    }
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Returns the next line, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns the errors of the reader. For a line that is not valid UTF-8, returns
    /// [`InvalidData`](ErrorKind::InvalidData) with a [`FromUtf8Error`](std::string::FromUtf8Error)
    /// inside; the next call continues with the line after it.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, no bytes are lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncBufReadExt;
    ///
    /// let mut lines = b"one\r\ntwo".lines();
    /// let mut words = Vec::new();
    /// while let Some(line) = lines.next_line().await? {
    ///     words.push(line);
    /// }
    /// assert_eq!(words, ["one", "two"]);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_line(cx)).await
    }

    /// Returns a mutable reference to the inner reader.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns a reference to the inner reader.
    pub fn get_ref(&mut self) -> &R {
        &self.reader
    }

    /// Returns the inner reader. The bytes of an incomplete line are lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

impl<R: AsyncBufRead> Lines<R> {
    /// Polls for the next line, like [`next_line`](Self::next_line).
    ///
    /// `Pending` means that the line is not complete yet; the task of the latest `cx` is woken when
    /// more bytes may be available.
    pub fn poll_next_line(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<String>>> {
        let me = self.project();
        ready!(poll_read_until(me.reader, cx, b'\n', me.buf))?;
        if me.buf.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut line = mem::take(me.buf);
        if line.ends_with(b"\n") {
            line.pop();
            if line.ends_with(b"\r") {
                line.pop();
            }
        }
        let line = String::from_utf8(line);
        Poll::Ready(line.map(Some).map_err(|e| io::Error::new(ErrorKind::InvalidData, e)))
    }
}
