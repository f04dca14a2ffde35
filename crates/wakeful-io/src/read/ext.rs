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
        /// For many small reads, use a [`BufReader`](crate::BufReader).
        ///
        /// # Errors
        ///
        /// Returns the same errors as [`read_exact`](Self::read_exact).
        ///
        /// # Cancel safety
        ///
        /// If the future is dropped before it completes, the bytes of the number that were read are
        /// lost. For a number of one byte, nothing is lost.
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

/// Extension methods for all types that implement [`AsyncRead`].
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
    /// Creates a reader that reads this reader to its end, and then `next`.
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

    /// Reads some bytes into `buf`.
    ///
    /// The future resolves to an `io::Result<usize>`: the number of bytes read.
    ///
    /// Zero means that the reader is at its end, perhaps only for now, or that `buf` is empty.
    ///
    /// # Errors
    ///
    /// Returns the errors of the reader. After an error, nothing was read.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped before it completes, nothing was read.
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

    /// Reads some bytes into `buf` and advances its cursor.
    ///
    /// The future resolves to an `io::Result<usize>`: the number of bytes read.
    ///
    /// Only one read is made, even if `buf` has room for more. Zero means that the reader is at its
    /// end, perhaps only for now, or that `buf` has no room. The memory of `buf` is not zeroed
    /// first.
    ///
    /// # Errors
    ///
    /// Returns the errors of the reader. After an error, nothing was read.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped before it completes, nothing was read.
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

    /// Reads exactly as many bytes as fit in `buf`.
    ///
    /// The future resolves to an `io::Result<usize>`: the length of `buf`.
    ///
    /// # Errors
    ///
    /// Returns [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the reader ends before `buf`
    /// is full, or the first error of the reader that is not
    /// [`Interrupted`](std::io::ErrorKind::Interrupted). After an error, it is unspecified how many
    /// bytes were read and what `buf` holds.
    ///
    /// # Cancel safety
    ///
    /// This method is not cancel safe. If the future is dropped before it completes, some bytes may
    /// have been moved from the reader to `buf`, and their number is lost.
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

    /// Reads all bytes up to the end of the reader and appends them to `buf`.
    ///
    /// The future resolves to an `io::Result<usize>`: the number of bytes read.
    ///
    /// # Errors
    ///
    /// Returns the first error of the reader that is not
    /// [`Interrupted`](std::io::ErrorKind::Interrupted). Bytes that were read before are in `buf`.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, the bytes read so far are in `buf`, and
    /// another call continues from there.
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

    /// Reads all text up to the end of the reader and appends it to `dst`.
    ///
    /// The future resolves to an `io::Result<usize>`: the number of bytes read.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) if the bytes are not valid UTF-8,
    /// or the first error of the reader that is not
    /// [`Interrupted`](std::io::ErrorKind::Interrupted). After an error, `dst` is unchanged.
    ///
    /// # Cancel safety
    ///
    /// This method is not cancel safe. If the future is dropped before it completes, the bytes read
    /// so far are lost, and the previous content of `dst` may be lost too.
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

    /// Creates a reader that ends after `limit` bytes of this reader.
    ///
    /// Failed reads do not count towards the limit.
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
