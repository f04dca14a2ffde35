use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::{AsyncBufRead, AsyncRead, ReadBuf};

pin_project! {
    /// A reader that reads the first of two readers to its end, and then the second.
    ///
    /// Created by [`AsyncReadExt::chain`](crate::AsyncReadExt::chain).
    ///
    /// ```
    /// use wakeful::io::{AsyncBufReadExt, AsyncReadExt, Chain};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let head: &[u8] = b"from: ann\n";
    /// let body: &[u8] = b"hello\n";
    /// let message: Chain<&[u8], &[u8]> = head.chain(body);
    /// let mut lines = message.lines();
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("from: ann"));
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("hello"));
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct Chain<T, U> {
        #[pin]
        first: T,
        #[pin]
        second: U,
        done_first: bool,
    }
}

impl<T: AsyncRead, U: AsyncRead> Chain<T, U> {
    pub(super) fn new(first: T, second: U) -> Self {
        Chain { first, second, done_first: false }
    }

    /// Returns references to both readers.
    pub fn get_ref(&self) -> (&T, &U) {
        (&self.first, &self.second)
    }

    /// Returns mutable references to both readers.
    ///
    /// Bytes that are read from them directly are missing from the chain.
    pub fn get_mut(&mut self) -> (&mut T, &mut U) {
        (&mut self.first, &mut self.second)
    }

    /// Returns pinned references to both readers.
    ///
    /// Bytes that are read from them directly are missing from the chain.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> (Pin<&mut T>, Pin<&mut U>) {
        let me = self.project();
        (me.first, me.second)
    }

    /// Returns both readers.
    pub fn into_inner(self) -> (T, U) {
        (self.first, self.second)
    }
}

impl<T: fmt::Debug, U: fmt::Debug> fmt::Debug for Chain<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("t", &self.first).field("u", &self.second).finish()
    }
}

impl<T: AsyncRead, U: AsyncRead> AsyncRead for Chain<T, U> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let me = self.project();
        if !*me.done_first {
            let before = buf.filled().len();
            ready!(me.first.poll_read(cx, buf))?;
            contract::assert_not_shrunk(buf, before);
            // A read without new bytes means the end only if the buffer had room.
            if buf.filled().len() > before || buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            *me.done_first = true;
        }
        me.second.poll_read(cx, buf)
    }
}

impl<T: AsyncBufRead, U: AsyncBufRead> AsyncBufRead for Chain<T, U> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let me = self.project();
        if !*me.done_first {
            let bytes = ready!(me.first.poll_fill_buf(cx))?;
            if !bytes.is_empty() {
                return Poll::Ready(Ok(bytes));
            }
            *me.done_first = true;
        }
        me.second.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let me = self.project();
        if *me.done_first { me.second.consume(amt) } else { me.first.consume(amt) }
    }
}
