//! [`join`], which makes one stream of a reader and a writer.

use std::pin::Pin;

use pin_project_lite::pin_project;

use crate::traits::forward::{forward_buf_read, forward_read, forward_write};
use crate::traits::{AsyncBufRead, AsyncRead, AsyncWrite};

pin_project! {
    /// A stream made of a reader and a writer, created by [`join`].
    ///
    /// ```
    /// use wakeful::io::{AsyncBufReadExt, AsyncWriteExt, Join, join, simplex};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (input, mut feed) = simplex(64);
    /// let mut session: Join<_, Vec<u8>> = join(wakeful::io::BufReader::new(input), Vec::new());
    /// feed.write_all(b"question\n").await?;
    ///
    /// let mut line = String::new();
    /// session.read_line(&mut line).await?;
    /// session.write_all(b"answer").await?;
    /// assert_eq!((line.as_str(), session.writer().as_slice()), ("question\n", &b"answer"[..]));
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    pub struct Join<R, W> {
        #[pin]
        reader: R,
        #[pin]
        writer: W,
    }
}

/// Joins a reader and a writer into one stream.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, join};
///
/// let mut stream = join(&b"in"[..], Vec::new());
/// stream.write_all(b"out").await?;
/// let mut text = String::new();
/// stream.read_to_string(&mut text).await?;
/// assert_eq!(text, "in");
/// assert_eq!(stream.into_inner().1, b"out");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn join<R, W>(reader: R, writer: W) -> Join<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    Join { reader, writer }
}

impl<R: AsyncRead, W: AsyncWrite> Join<R, W> {
    /// Returns the reader and the writer.
    pub fn into_inner(self) -> (R, W) {
        (self.reader, self.writer)
    }

    /// Returns a reference to the reader.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns a reference to the writer.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Returns a mutable reference to the reader.
    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns a mutable reference to the writer.
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Returns a pinned reference to the reader.
    pub fn reader_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().reader
    }

    /// Returns a pinned reference to the writer.
    pub fn writer_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().writer
    }
}

impl<R: AsyncRead, W> AsyncRead for Join<R, W> {
    forward_read!(self => self.project().reader);
}

impl<R: AsyncBufRead, W> AsyncBufRead for Join<R, W> {
    forward_buf_read!(self => self.project().reader);
}

impl<R, W: AsyncWrite> AsyncWrite for Join<R, W> {
    forward_write!(self => self.project().writer, & => self.writer);
}
