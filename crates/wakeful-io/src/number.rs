//! How numbers travel as bytes, for those who read and those who write them.

use std::marker::PhantomData;

/// A number type in one byte order.
pub trait NumberFormat {
    /// The number.
    type Value;
    /// An array as long as the number has bytes.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Copy;
    /// To be read into.
    const ZEROED: Self::Bytes;

    /// The number that `bytes` stand for.
    fn decode(bytes: Self::Bytes) -> Self::Value;
    /// The bytes that stand for `value`.
    fn encode(value: Self::Value) -> Self::Bytes;
}

/// Network byte order: the most significant byte comes first.
#[derive(Debug)]
pub struct BigEndian<T>(PhantomData<T>);

/// The least significant byte comes first.
#[derive(Debug)]
pub struct LittleEndian<T>(PhantomData<T>);

macro_rules! number_formats {
    ($($number:ty)*) => {$(
        number_formats!(BigEndian, $number, from_be_bytes, to_be_bytes);
        number_formats!(LittleEndian, $number, from_le_bytes, to_le_bytes);
    )*};
    ($order:ident, $number:ty, $decode:ident, $encode:ident) => {
        impl NumberFormat for $order<$number> {
            type Value = $number;
            type Bytes = [u8; size_of::<$number>()];
            const ZEROED: Self::Bytes = [0; size_of::<$number>()];

            #[inline]
            fn decode(bytes: Self::Bytes) -> $number {
                <$number>::$decode(bytes)
            }

            #[inline]
            fn encode(value: $number) -> Self::Bytes {
                value.$encode()
            }
        }
    };
}

number_formats! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 }
