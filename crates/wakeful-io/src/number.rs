//! Conversion between numbers and bytes, for the futures that read and write numbers.

use std::marker::PhantomData;

/// A number type with a byte order.
pub trait NumberFormat {
    /// The number type.
    type Value;
    /// A byte array of the number's size.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Copy;
    /// The initial value of a buffer to read the number into.
    const ZEROED: Self::Bytes;

    /// Converts `bytes` to the number.
    fn decode(bytes: Self::Bytes) -> Self::Value;
    /// Converts `value` to bytes.
    fn encode(value: Self::Value) -> Self::Bytes;
}

/// Network byte order: the most significant byte comes first.
#[derive(Debug)]
pub struct BigEndian<T>(PhantomData<T>);

/// Little-endian order: the least significant byte comes first.
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
