use std::pin::Pin;

use pin_project_lite::pin_project;

use super::{BufReader, BufWriter};
use crate::traits::forward::{forward_buf_read, forward_read, forward_seek, forward_write};
use crate::traits::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};

pin_project! {
    /// A stream with a read buffer and a write buffer: a [`BufReader`] around a [`BufWriter`].
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncBufReadExt, AsyncWriteExt, BufStream, duplex};
    ///
    /// let (client, server) = duplex(64);
    /// let (mut client, mut server) = (BufStream::new(client), BufStream::new(server));
    ///
    /// client.write_all(b"HELO\n").await?;
    /// client.flush().await?;
    /// let mut line = String::new();
    /// server.read_line(&mut line).await?;
    /// assert_eq!(line, "HELO\n");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    pub struct BufStream<RW> {
        #[pin]
        inner: BufReader<BufWriter<RW>>,
    }
}

impl<RW: AsyncRead + AsyncWrite> BufStream<RW> {
    /// Creates a `BufStream` with two buffers of 8 KiB.
    pub fn new(stream: RW) -> BufStream<RW> {
        BufStream { inner: BufReader::new(BufWriter::new(stream)) }
    }

    /// Creates a `BufStream` with buffers of the given capacities.
    ///
    /// # Panics
    ///
    /// Panics if `reader_capacity` is zero.
    #[track_caller]
    pub fn with_capacity(
        reader_capacity: usize,
        writer_capacity: usize,
        stream: RW,
    ) -> BufStream<RW> {
        let writer = BufWriter::with_capacity(writer_capacity, stream);
        BufStream { inner: BufReader::with_capacity(reader_capacity, writer) }
    }

    /// Returns a reference to the inner stream.
    pub fn get_ref(&self) -> &RW {
        self.inner.get_ref().get_ref()
    }

    /// Returns a mutable reference to the inner stream. Using it directly bypasses the buffers.
    pub fn get_mut(&mut self) -> &mut RW {
        self.inner.get_mut().get_mut()
    }

    /// Returns a pinned reference to the inner stream. Using it directly bypasses the buffers.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut RW> {
        self.project().inner.get_pin_mut().get_pin_mut()
    }

    /// Returns the inner stream. Bytes in the buffers are lost.
    pub fn into_inner(self) -> RW {
        self.inner.into_inner().into_inner()
    }
}

impl<RW> From<BufReader<BufWriter<RW>>> for BufStream<RW> {
    fn from(inner: BufReader<BufWriter<RW>>) -> Self {
        BufStream { inner }
    }
}

/// Swaps the nesting of the two wrappers. The contents of both buffers are kept.
impl<RW> From<BufWriter<BufReader<RW>>> for BufStream<RW> {
    fn from(outer: BufWriter<BufReader<RW>>) -> Self {
        let BufWriter { inner: reader, buf, written, seek } = outer;
        let writer = BufWriter { inner: reader.inner, buf, written, seek };
        let inner = BufReader { inner: writer, window: reader.window, seek: reader.seek };
        BufStream { inner }
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncRead for BufStream<RW> {
    forward_read!(self => self.project().inner);
}

impl<RW: AsyncRead + AsyncWrite> AsyncBufRead for BufStream<RW> {
    forward_buf_read!(self => self.project().inner);
}

impl<RW: AsyncRead + AsyncWrite> AsyncWrite for BufStream<RW> {
    forward_write!(self => self.project().inner, & => self.inner);
}

/// Seeks like [`BufReader`] and [`BufWriter`]: the read buffer is discarded and the write buffer
/// flushed.
impl<RW: AsyncRead + AsyncWrite + AsyncSeek> AsyncSeek for BufStream<RW> {
    forward_seek!(self => self.project().inner);
}
