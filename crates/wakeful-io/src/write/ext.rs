use std::io::IoSlice;

use bytes::Buf;

use super::all::WriteAll;
use super::all_buf::WriteAllBuf;
use super::flush::Flush;
use super::from_buf::WriteBuf;
use super::number::WriteNumber;
use super::shutdown::Shutdown;
use super::some::Write;
use super::vectored::WriteVectored;
use crate::number::{BigEndian, LittleEndian};
use crate::traits::AsyncWrite;

macro_rules! number_writers {
    ($(
        $name:ident: $order:ident<$number:ident>, $what:literal,
            $value:expr => $bytes:expr;
    )*) => {$(
        #[doc = concat!("Writes ", $what, ".")]
        ///
        /// The future resolves to an `io::Result<()>`. For many small writes, use a
        /// [`BufWriter`](crate::BufWriter).
        ///
        /// # Errors
        ///
        /// Returns the same errors as [`write_all`](Self::write_all).
        ///
        /// # Cancel safety
        ///
        /// If the future is dropped before it completes, some bytes of the number may have been
        /// written. For a number of one byte, nothing was written.
        ///
        /// # Examples
        ///
        /// ```
        /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
        /// use wakeful::io::AsyncWriteExt;
        ///
        /// let mut writer = Vec::new();
        #[doc = concat!("writer.", stringify!($name), "(", stringify!($value), ").await?;")]
        #[doc = concat!("assert_eq!(writer, ", stringify!($bytes), ");")]
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        fn $name(&mut self, n: $number) -> WriteNumber<&mut Self, $order<$number>>
        where
            Self: Unpin,
        {
            WriteNumber::new(self, n)
        }
    )*};
}

/// Extension methods for all types that implement [`AsyncWrite`].
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::AsyncWriteExt;
///
/// let mut writer = Vec::new();
/// writer.write_u16(5).await?;
/// writer.write_all(b"hello").await?;
/// writer.flush().await?;
/// assert_eq!(writer, b"\x00\x05hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncWriteExt: AsyncWrite {
    /// Writes some bytes from the front of `src`.
    ///
    /// The future resolves to an `io::Result<usize>`: the number of bytes written.
    ///
    /// Only one write is made. Writing fewer bytes than `src` has is not an error. Zero means that
    /// `src` is empty, or that the writer accepts no more bytes and probably never will.
    ///
    /// # Errors
    ///
    /// Returns the errors of the writer. After an error, nothing was written.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped before it completes, nothing was
    /// written.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncWriteExt;
    ///
    /// let mut room = [0; 3];
    /// let mut writer = std::io::Cursor::new(&mut room[..]);
    /// assert_eq!(writer.write(b"abcde").await?, 3);
    /// assert_eq!(writer.write(b"de").await?, 0);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn write<'a>(&'a mut self, src: &'a [u8]) -> Write<'a, Self>
    where
        Self: Unpin,
    {
        Write::new(self, src)
    }

    /// Writes like [`write`](Self::write), but from several buffers as if they were one.
    ///
    /// See [`AsyncWrite::poll_write_vectored`].
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped before it completes, nothing was
    /// written.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::io::IoSlice;
    /// use wakeful::io::AsyncWriteExt;
    ///
    /// let mut writer = Vec::new();
    /// writer.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"cde")]).await?;
    /// assert_eq!(writer, b"abcde");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn write_vectored<'a, 'b>(&'a mut self, bufs: &'a [IoSlice<'b>]) -> WriteVectored<'a, 'b, Self>
    where
        Self: Unpin,
    {
        WriteVectored::new(self, bufs)
    }

    /// Writes some bytes from the front of `src` and advances its cursor.
    ///
    /// The future resolves to an `io::Result<usize>`: the number of bytes written.
    ///
    /// Only one write is made. The bytes that remain in `src` have not been written. Zero means
    /// that `src` is empty, or that the writer accepts no more bytes and probably never will.
    ///
    /// # Errors
    ///
    /// Returns the errors of the writer. After an error, nothing was written.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped before it completes, nothing was
    /// written.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use bytes::{Buf, Bytes};
    /// use wakeful::io::AsyncWriteExt;
    ///
    /// let mut writer = Vec::new();
    /// let mut bytes = Bytes::from_static(b"abc");
    /// while bytes.has_remaining() {
    ///     writer.write_buf(&mut bytes).await?;
    /// }
    /// assert_eq!(writer, b"abc");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn write_buf<'a, B>(&'a mut self, src: &'a mut B) -> WriteBuf<'a, Self, B>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        WriteBuf::new(self, src)
    }

    /// Writes all of `src`, and advances its cursor with every write.
    ///
    /// The future resolves to an `io::Result<()>`.
    ///
    /// # Errors
    ///
    /// Returns [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer accepts no more bytes, or
    /// the first error of the writer that is not [`Interrupted`](std::io::ErrorKind::Interrupted).
    /// Unwritten bytes remain in `src`.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, some bytes may have been written. Unwritten
    /// bytes remain in `src`, and another call continues from there.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use bytes::{Buf, Bytes};
    /// use wakeful::io::AsyncWriteExt;
    ///
    /// let mut writer = Vec::new();
    /// let mut message = Bytes::from_static(b"head ").chain(Bytes::from_static(b"body"));
    /// writer.write_all_buf(&mut message).await?;
    /// assert_eq!(writer, b"head body");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn write_all_buf<'a, B>(&'a mut self, src: &'a mut B) -> WriteAllBuf<'a, Self, B>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        WriteAllBuf::new(self, src)
    }

    /// Writes all of `src`.
    ///
    /// The future resolves to an `io::Result<()>`.
    ///
    /// # Errors
    ///
    /// Returns [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer accepts no more bytes, or
    /// the first error of the writer that is not [`Interrupted`](std::io::ErrorKind::Interrupted).
    /// After an error, the number of bytes written is unknown.
    ///
    /// # Cancel safety
    ///
    /// This method is not cancel safe. If the future is dropped before it completes, some bytes may
    /// have been written, and their number is unknown. [`write_all_buf`](Self::write_all_buf) keeps
    /// track of it.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncWriteExt;
    ///
    /// let mut writer = Vec::new();
    /// writer.write_all(b"some bytes").await?;
    /// assert_eq!(writer, b"some bytes");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn write_all<'a>(&'a mut self, src: &'a [u8]) -> WriteAll<'a, Self>
    where
        Self: Unpin,
    {
        WriteAll::new(self, src)
    }

    number_writers! {
        write_u8: BigEndian<u8>, "an unsigned 8-bit integer",
            7 => [7];
        write_i8: BigEndian<i8>, "a signed 8-bit integer",
            -2 => [0xfe];
        write_u16: BigEndian<u16>, "an unsigned 16-bit integer in big-endian order",
            256 => [1, 0];
        write_i16: BigEndian<i16>, "a signed 16-bit integer in big-endian order",
            -2 => [0xff, 0xfe];
        write_u32: BigEndian<u32>, "an unsigned 32-bit integer in big-endian order",
            256 => [0, 0, 1, 0];
        write_i32: BigEndian<i32>, "a signed 32-bit integer in big-endian order",
            -1 => [0xff; 4];
        write_u64: BigEndian<u64>, "an unsigned 64-bit integer in big-endian order",
            256 => 256u64.to_be_bytes();
        write_i64: BigEndian<i64>, "a signed 64-bit integer in big-endian order",
            -1 => [0xff; 8];
        write_u128: BigEndian<u128>, "an unsigned 128-bit integer in big-endian order",
            256 => 256u128.to_be_bytes();
        write_i128: BigEndian<i128>, "a signed 128-bit integer in big-endian order",
            -1 => [0xff; 16];
        write_f32: BigEndian<f32>, "a 32-bit floating-point number in big-endian order",
            1.5 => 1.5f32.to_be_bytes();
        write_f64: BigEndian<f64>, "a 64-bit floating-point number in big-endian order",
            1.5 => 1.5f64.to_be_bytes();
        write_u16_le: LittleEndian<u16>, "an unsigned 16-bit integer in little-endian order",
            256 => [0, 1];
        write_i16_le: LittleEndian<i16>, "a signed 16-bit integer in little-endian order",
            -2 => [0xfe, 0xff];
        write_u32_le: LittleEndian<u32>, "an unsigned 32-bit integer in little-endian order",
            256 => [0, 1, 0, 0];
        write_i32_le: LittleEndian<i32>, "a signed 32-bit integer in little-endian order",
            -1 => [0xff; 4];
        write_u64_le: LittleEndian<u64>, "an unsigned 64-bit integer in little-endian order",
            256 => 256u64.to_le_bytes();
        write_i64_le: LittleEndian<i64>, "a signed 64-bit integer in little-endian order",
            -1 => [0xff; 8];
        write_u128_le: LittleEndian<u128>, "an unsigned 128-bit integer in little-endian order",
            256 => 256u128.to_le_bytes();
        write_i128_le: LittleEndian<i128>, "a signed 128-bit integer in little-endian order",
            -1 => [0xff; 16];
        write_f32_le: LittleEndian<f32>, "a 32-bit floating-point number in little-endian order",
            1.5 => 1.5f32.to_le_bytes();
        write_f64_le: LittleEndian<f64>, "a 64-bit floating-point number in little-endian order",
            1.5 => 1.5f64.to_le_bytes();
    }

    /// Flushes the writer, so that everything written so far reaches its destination.
    ///
    /// The future resolves to an `io::Result<()>`.
    ///
    /// # Errors
    ///
    /// Returns an error if some bytes cannot be delivered.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, some bytes may have been flushed. Another call
    /// continues with the rest.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncWriteExt, BufWriter};
    ///
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"abc").await?;
    /// assert_eq!(writer.get_ref(), b"");
    /// writer.flush().await?;
    /// assert_eq!(writer.get_ref(), b"abc");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn flush(&mut self) -> Flush<'_, Self>
    where
        Self: Unpin,
    {
        Flush::new(self)
    }

    /// Flushes the writer and shuts it down. Callers should not write to it afterwards.
    ///
    /// The future resolves to an `io::Result<()>`.
    ///
    /// # Errors
    ///
    /// Returns the errors of flushing and of shutting down.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, another call continues from there.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncReadExt, AsyncWriteExt, duplex};
    ///
    /// let (mut near, mut far) = duplex(64);
    /// near.write_all(b"goodbye").await?;
    /// near.shutdown().await?;
    ///
    /// let mut text = String::new();
    /// far.read_to_string(&mut text).await?;
    /// assert_eq!(text, "goodbye");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn shutdown(&mut self) -> Shutdown<'_, Self>
    where
        Self: Unpin,
    {
        Shutdown::new(self)
    }
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}
