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
        /// The future gives an `io::Result<()>`. Many small writes are best made to a
        /// [`BufWriter`](crate::BufWriter).
        ///
        /// # Errors
        ///
        /// As [`write_all`](Self::write_all).
        ///
        /// # Cancel safety
        ///
        /// A number of one byte: if the future is dropped before it is done, nothing was written. Longer ones:
        /// some of the bytes may have been.
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

/// Methods of every [`AsyncWrite`].
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
    /// Writes some bytes from the front of `src`, and gives their number: `io::Result<usize>`.
    ///
    /// At most one write is made, and that it takes less than all is no error. Zero means that
    /// `src` is empty, or that the writer takes no more and likely never will again.
    ///
    /// # Errors
    ///
    /// Those of the writer. Nothing was written then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, nothing was written.
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

    /// As [`write`](Self::write), from several buffers as if they were one.
    ///
    /// See [`AsyncWrite::poll_write_vectored`].
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, nothing was written.
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

    /// Writes some bytes from the front of `src`, moves its cursor, and gives their number:
    /// `io::Result<usize>`.
    ///
    /// At most one write is made. What is left in `src` afterwards is what is still to be written.
    /// Zero means that `src` has nothing left, or that the writer takes no more and likely never
    /// will again.
    ///
    /// # Errors
    ///
    /// Those of the writer. Nothing was written then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, nothing was written.
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

    /// Writes all of `src`, and moves its cursor with every write.
    ///
    /// The future gives an `io::Result<()>`.
    ///
    /// # Errors
    ///
    /// [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more, or the first error
    /// of the writer that is not [`Interrupted`](std::io::ErrorKind::Interrupted). What was not
    /// written is left in `src`.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, some bytes may have been written. What was not
    /// is left in `src`.
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
    /// The future gives an `io::Result<()>`.
    ///
    /// # Errors
    ///
    /// [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more, or the first error
    /// of the writer that is not [`Interrupted`](std::io::ErrorKind::Interrupted). How much was
    /// written by then is not known.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, some bytes may have been written, and nobody
    /// knows how many; [`write_all_buf`](Self::write_all_buf) does.
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

    /// Gets everything written so far to where it is going.
    ///
    /// The future gives an `io::Result<()>`.
    ///
    /// # Errors
    ///
    /// If some of it does not get there.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, some bytes may have arrived; another flush goes
    /// on with the rest.
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

    /// Flushes, and ends the stream in good order. One should not write to it afterwards.
    ///
    /// The future gives an `io::Result<()>`.
    ///
    /// # Errors
    ///
    /// Those of the flush, and of the writer.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, another call goes on from there.
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
