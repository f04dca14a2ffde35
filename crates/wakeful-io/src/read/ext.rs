use bytes::BufMut;

use super::chain::Chain;
use super::exact::ReadExact;
use super::into_buf::ReadIntoBuf;
use super::number::ReadNumber;
use super::some::Read;
use super::take::Take;
use super::to_end::ReadToEnd;
use super::to_string::ReadToString;
use crate::number::{BigEndian, LittleEndian};
use crate::traits::AsyncRead;

macro_rules! number_readers {
    ($(
        $name:ident: $order:ident<$number:ident>, $what:literal,
            $bytes:expr => $value:expr;
    )*) => {$(
        #[doc = concat!("Reads ", $what, ".")]
        ///
        #[doc = concat!("The future gives an `io::Result<", stringify!($number), ">`.")]
        /// Many small reads are best made from a [`BufReader`](crate::BufReader).
        ///
        /// # Errors
        ///
        /// As [`read_exact`](Self::read_exact).
        ///
        /// # Cancel safety
        ///
        /// A number of one byte: if the future is dropped before it is done, nothing was read.
        /// Longer ones: what was read of the number is lost.
        ///
        /// # Examples
        ///
        /// ```
        /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
        /// use wakeful::io::AsyncReadExt;
        ///
        #[doc = concat!("let mut reader: &[u8] = &", stringify!($bytes), ";")]
        #[doc = concat!("let number = reader.", stringify!($name), "().await?;")]
        #[doc = concat!("assert_eq!(number, ", stringify!($value), ");")]
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        fn $name(&mut self) -> ReadNumber<&mut Self, $order<$number>>
        where
            Self: Unpin,
        {
            ReadNumber::new(self)
        }
    )*};
}

/// Methods of every [`AsyncRead`].
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::AsyncReadExt;
///
/// let mut reader: &[u8] = b"\x00\x05hello and more";
/// let len = reader.read_u16().await?;
/// let mut text = String::new();
/// reader.take(len.into()).read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncReadExt: AsyncRead {
    /// Lets `next` go on where this reader ends.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncReadExt;
    ///
    /// let mut text = String::new();
    /// b"fish ".chain(&b"and chips"[..]).read_to_string(&mut text).await?;
    /// assert_eq!(text, "fish and chips");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn chain<R>(self, next: R) -> Chain<Self, R>
    where
        Self: Sized,
        R: AsyncRead,
    {
        Chain::new(self, next)
    }

    /// Reads what there is into `buf`, and gives the number of bytes: `io::Result<usize>`.
    ///
    /// Zero means that the reader is at its end, at least for now, or that `buf` is empty.
    ///
    /// # Errors
    ///
    /// Those of the reader. Nothing was read then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, nothing was read.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncReadExt;
    ///
    /// let mut reader: &[u8] = b"abcde";
    /// let mut buf = [0; 3];
    /// assert_eq!(reader.read(&mut buf).await?, 3);
    /// assert_eq!(&buf, b"abc");
    /// assert_eq!(reader.read(&mut buf).await?, 2);
    /// assert_eq!(reader.read(&mut buf).await?, 0);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Read<'a, Self>
    where
        Self: Unpin,
    {
        Read::new(self, buf)
    }

    /// Reads what there is into `buf`, moves its cursor, and gives the number of bytes:
    /// `io::Result<usize>`.
    ///
    /// At most one read is made, even if it leaves room. Zero means that the reader is at its end,
    /// at least for now, or that `buf` has no room. The memory of `buf` is not zeroed for this.
    ///
    /// # Errors
    ///
    /// Those of the reader. Nothing was read then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, nothing was read.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use bytes::BytesMut;
    /// use wakeful::io::AsyncReadExt;
    ///
    /// let mut reader: &[u8] = b"abc";
    /// let mut buf = BytesMut::with_capacity(16);
    /// reader.read_buf(&mut buf).await?;
    /// assert_eq!(&buf[..], b"abc");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn read_buf<'a, B>(&'a mut self, buf: &'a mut B) -> ReadIntoBuf<'a, Self, B>
    where
        Self: Unpin,
        B: BufMut + ?Sized,
    {
        ReadIntoBuf::new(self, buf)
    }

    /// Fills all of `buf`, and gives its length: `io::Result<usize>`.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the reader ends before, or the first
    /// error of the reader that is not [`Interrupted`](std::io::ErrorKind::Interrupted). How much
    /// was read by then, and what `buf` holds, is not specified.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, some bytes may have gone to `buf` and be missing
    /// from the reader.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncReadExt, ErrorKind};
    ///
    /// let mut reader: &[u8] = b"abcde";
    /// let mut buf = [0; 3];
    /// reader.read_exact(&mut buf).await?;
    /// assert_eq!(&buf, b"abc");
    /// let error = reader.read_exact(&mut buf).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn read_exact<'a>(&'a mut self, buf: &'a mut [u8]) -> ReadExact<'a, Self>
    where
        Self: Unpin,
    {
        ReadExact::new(self, buf)
    }

    number_readers! {
        read_u8: BigEndian<u8>, "an unsigned 8-bit integer",
            [7] => 7;
        read_i8: BigEndian<i8>, "a signed 8-bit integer",
            [0xfe] => -2;
        read_u16: BigEndian<u16>, "an unsigned 16-bit integer in big-endian order",
            [1, 0] => 256;
        read_i16: BigEndian<i16>, "a signed 16-bit integer in big-endian order",
            [0xff, 0xfe] => -2;
        read_u32: BigEndian<u32>, "an unsigned 32-bit integer in big-endian order",
            [0, 0, 1, 0] => 256;
        read_i32: BigEndian<i32>, "a signed 32-bit integer in big-endian order",
            [0xff; 4] => -1;
        read_u64: BigEndian<u64>, "an unsigned 64-bit integer in big-endian order",
            256u64.to_be_bytes() => 256;
        read_i64: BigEndian<i64>, "a signed 64-bit integer in big-endian order",
            [0xff; 8] => -1;
        read_u128: BigEndian<u128>, "an unsigned 128-bit integer in big-endian order",
            256u128.to_be_bytes() => 256;
        read_i128: BigEndian<i128>, "a signed 128-bit integer in big-endian order",
            [0xff; 16] => -1;
        read_f32: BigEndian<f32>, "a 32-bit floating-point number in big-endian order",
            1.5f32.to_be_bytes() => 1.5;
        read_f64: BigEndian<f64>, "a 64-bit floating-point number in big-endian order",
            1.5f64.to_be_bytes() => 1.5;
        read_u16_le: LittleEndian<u16>, "an unsigned 16-bit integer in little-endian order",
            [0, 1] => 256;
        read_i16_le: LittleEndian<i16>, "a signed 16-bit integer in little-endian order",
            [0xfe, 0xff] => -2;
        read_u32_le: LittleEndian<u32>, "an unsigned 32-bit integer in little-endian order",
            [0, 1, 0, 0] => 256;
        read_i32_le: LittleEndian<i32>, "a signed 32-bit integer in little-endian order",
            [0xff; 4] => -1;
        read_u64_le: LittleEndian<u64>, "an unsigned 64-bit integer in little-endian order",
            256u64.to_le_bytes() => 256;
        read_i64_le: LittleEndian<i64>, "a signed 64-bit integer in little-endian order",
            [0xff; 8] => -1;
        read_u128_le: LittleEndian<u128>, "an unsigned 128-bit integer in little-endian order",
            256u128.to_le_bytes() => 256;
        read_i128_le: LittleEndian<i128>, "a signed 128-bit integer in little-endian order",
            [0xff; 16] => -1;
        read_f32_le: LittleEndian<f32>, "a 32-bit floating-point number in little-endian order",
            1.5f32.to_le_bytes() => 1.5;
        read_f64_le: LittleEndian<f64>, "a 64-bit floating-point number in little-endian order",
            1.5f64.to_le_bytes() => 1.5;
    }

    /// Appends all bytes up to the end of the reader to `buf`, and gives their number:
    /// `io::Result<usize>`.
    ///
    /// # Errors
    ///
    /// The first error of the reader that is not [`Interrupted`](std::io::ErrorKind::Interrupted).
    /// What was read before is in `buf`.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, what was read is in `buf`, and another call goes on from
    /// there.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncReadExt;
    ///
    /// let mut reader: &[u8] = b"cde";
    /// let mut bytes = b"ab".to_vec();
    /// assert_eq!(reader.read_to_end(&mut bytes).await?, 3);
    /// assert_eq!(bytes, b"abcde");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn read_to_end<'a>(&'a mut self, buf: &'a mut Vec<u8>) -> ReadToEnd<'a, Self>
    where
        Self: Unpin,
    {
        ReadToEnd::new(self, buf)
    }

    /// Appends all text up to the end of the reader to `dst`, and gives its length in bytes:
    /// `io::Result<usize>`.
    ///
    /// # Errors
    ///
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) if it is not valid UTF-8, or the first
    /// error of the reader that is not [`Interrupted`](std::io::ErrorKind::Interrupted). `dst` is
    /// what it was before then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, what was read is lost, and so may be what `dst`
    /// held.
    ///
    /// # Examples
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncReadExt;
    ///
    /// let mut reader: &[u8] = "grüezi".as_bytes();
    /// let mut text = String::new();
    /// assert_eq!(reader.read_to_string(&mut text).await?, 7);
    /// assert_eq!(text, "grüezi");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn read_to_string<'a>(&'a mut self, dst: &'a mut String) -> ReadToString<'a, Self>
    where
        Self: Unpin,
    {
        ReadToString::new(self, dst)
    }

    /// Ends this reader after `limit` bytes.
    ///
    /// Failed reads do not count.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::AsyncReadExt;
    ///
    /// let mut reader: &[u8] = b"abcde";
    /// let mut text = String::new();
    /// (&mut reader).take(3).read_to_string(&mut text).await?;
    /// assert_eq!(text, "abc");
    /// assert_eq!(reader, b"de");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn take(self, limit: u64) -> Take<Self>
    where
        Self: Sized,
    {
        Take::new(self, limit)
    }
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}
