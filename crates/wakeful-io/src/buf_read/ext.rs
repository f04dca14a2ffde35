use std::pin::Pin;

use super::fill::FillBuf;
use super::line::ReadLine;
use super::lines::Lines;
use super::split::Split;
use super::until::ReadUntil;
use crate::traits::AsyncBufRead;

/// Extension methods for all types that implement [`AsyncBufRead`].
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncBufReadExt, BufReader};
///
/// let mut reader = BufReader::new(&b"GET / HTTP/1.1\r\n"[..]);
/// let mut line = String::new();
/// reader.read_line(&mut line).await?;
/// assert_eq!(line, "GET / HTTP/1.1\r\n");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncBufReadExt: AsyncBufRead {
    /// Reads up to and including the next `byte`, or to the end, and appends the bytes to `buf`.
    ///
    /// The future resolves to an `io::Result<usize>`: the number of bytes read. Zero means that the
    /// reader is at its end.
    ///
    /// # Errors
    ///
    /// Returns the first error of the reader that is not
    /// [`Interrupted`](std::io::ErrorKind::Interrupted). Bytes that were read before are in `buf`.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, the bytes read so far are in `buf`, and
    /// another call continues from there. That call counts only the bytes it has read itself.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncBufReadExt;
    ///
    /// let mut reader: &[u8] = b"left-right";
    /// let mut buf = Vec::new();
    /// assert_eq!(reader.read_until(b'-', &mut buf).await?, 5);
    /// assert_eq!(buf, b"left-");
    /// assert_eq!(reader.read_until(b'-', &mut buf).await?, 5);
    /// assert_eq!(buf, b"left-right");
    /// assert_eq!(reader.read_until(b'-', &mut buf).await?, 0);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn read_until<'a>(&'a mut self, byte: u8, buf: &'a mut Vec<u8>) -> ReadUntil<'a, Self>
    where
        Self: Unpin,
    {
        ReadUntil::new(self, byte, buf)
    }

    /// Reads up to and including the next line feed, or to the end, and appends the text to `buf`.
    ///
    /// The future resolves to an `io::Result<usize>`: the number of bytes read. Zero means that the
    /// reader is at its end.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) if the line is not valid UTF-8;
    /// `buf` is then unchanged. Otherwise returns the first error of the reader that is not
    /// [`Interrupted`](std::io::ErrorKind::Interrupted); text that was read before is then in `buf`
    /// if it is valid UTF-8.
    ///
    /// # Cancel safety
    ///
    /// This method is not cancel safe. If the future is dropped before it completes, the bytes read
    /// so far are lost, and the previous content of `buf` may be lost too.
    /// [`read_until`](Self::read_until) and [`Lines::next_line`] lose nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncBufReadExt;
    ///
    /// let mut reader: &[u8] = b"one\ntwo";
    /// let mut line = String::new();
    /// assert_eq!(reader.read_line(&mut line).await?, 4);
    /// assert_eq!(line, "one\n");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn read_line<'a>(&'a mut self, buf: &'a mut String) -> ReadLine<'a, Self>
    where
        Self: Unpin,
    {
        ReadLine::new(self, buf)
    }

    /// Splits the bytes of this reader at each `byte`; see [`Split::next_segment`].
    fn split(self, byte: u8) -> Split<Self>
    where
        Self: Sized + Unpin,
    {
        Split::new(self, byte)
    }

    /// Returns the buffered bytes, reading more if the buffer is empty.
    ///
    /// The future resolves to an `io::Result<&[u8]>`.
    ///
    /// The bytes stay in the buffer until [`consume`](Self::consume) is called. An empty slice
    /// means that the reader is at its end.
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
    /// let mut reader: &[u8] = b"abc";
    /// assert_eq!(reader.fill_buf().await?, b"abc");
    /// reader.consume(2);
    /// assert_eq!(reader.fill_buf().await?, b"c");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        FillBuf::new(self)
    }

    /// Removes the first `amt` bytes from the buffer.
    ///
    /// `amt` must not exceed the length of the slice that [`fill_buf`](Self::fill_buf) returned.
    fn consume(&mut self, amt: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(amt);
    }

    /// Returns the lines of this reader; see [`Lines::next_line`].
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}
