use std::pin::Pin;

use super::fill::FillBuf;
use super::line::ReadLine;
use super::lines::Lines;
use super::split::Split;
use super::until::ReadUntil;
use crate::traits::AsyncBufRead;

/// Methods of every [`AsyncBufRead`].
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
    /// Appends to `buf` up to and with the next `byte`, or to the end, and gives the number of
    /// bytes: `io::Result<usize>`. Zero means that the reader is at its end.
    ///
    /// # Errors
    ///
    /// The first error of the reader that is not [`Interrupted`](std::io::ErrorKind::Interrupted).
    /// What was read before is in `buf`.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, what was read is in `buf`, and another call goes
    /// on from there. The number it gives is then of the bytes it added itself.
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

    /// Appends to `buf` up to and with the next line feed, or to the end, and gives the number of
    /// bytes: `io::Result<usize>`. Zero means that the reader is at its end.
    ///
    /// # Errors
    ///
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) if the line is not valid UTF-8; `buf` is
    /// what it was before then. Or the first error of the reader that is not
    /// [`Interrupted`](std::io::ErrorKind::Interrupted); what was read before is in `buf` if it is
    /// valid.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, what was read is lost, and so may be what `buf`
    /// held. [`read_until`](Self::read_until) and [`Lines::next_line`] lose nothing.
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

    /// What this reader has between delimiters; see [`Split::next_segment`].
    fn split(self, byte: u8) -> Split<Self>
    where
        Self: Sized + Unpin,
    {
        Split::new(self, byte)
    }

    /// Gives the buffered bytes, after reading more if there are none: `io::Result<&[u8]>`.
    ///
    /// They stay in the buffer until [`consume`](Self::consume) is told about them. None means that
    /// the reader is at its end.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, nothing is lost.
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

    /// Takes the first `amt` bytes out of the buffer.
    ///
    /// `amt` must not exceed what [`fill_buf`](Self::fill_buf) gave.
    fn consume(&mut self, amt: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(amt);
    }

    /// The lines of this reader; see [`Lines::next_line`].
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}
