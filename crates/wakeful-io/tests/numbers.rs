//! Every number that is written can be read back, in both byte orders and in any chunks.

mod support;

use std::io::ErrorKind;

use support::Step::{Chunk, Error, Pending};
use support::{Scripted, run};
use wakeful_io::{AsyncReadExt, AsyncWriteExt};

macro_rules! round_trips {
    ($($number:ident $write:ident $read:ident $to_bytes:ident;)*) => {$(
        #[test]
        fn $write() {
            run(async {
                let steps = [Chunk(1), Pending, Error(ErrorKind::Interrupted), Chunk(2), Pending];
                for number in [$number::MIN, $number::MAX, 0 as $number, 77 as $number] {
                    let mut writer = Scripted::new(Vec::new(), steps);
                    writer.$write(number).await.unwrap();
                    assert_eq!(writer.inner, number.$to_bytes());

                    let mut reader = Scripted::new(&writer.inner[..], steps);
                    assert_eq!(reader.$read().await.unwrap(), number);
                    assert_eq!(reader.$read().await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
                }
                let mut writer = std::io::Cursor::new(&mut [][..]);
                let error = writer.$write(1 as $number).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::WriteZero);
                let mut failing = Scripted::new(Vec::new(), [Error(ErrorKind::TimedOut)]);
                let error = failing.$write(1 as $number).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TimedOut);
                let mut failing = Scripted::new(&[][..], [Error(ErrorKind::TimedOut)]);
                assert_eq!(failing.$read().await.unwrap_err().kind(), ErrorKind::TimedOut);
            });
        }
    )*};
}

round_trips! {
    u8 write_u8 read_u8 to_be_bytes;
    i8 write_i8 read_i8 to_be_bytes;
    u16 write_u16 read_u16 to_be_bytes;
    i16 write_i16 read_i16 to_be_bytes;
    u32 write_u32 read_u32 to_be_bytes;
    i32 write_i32 read_i32 to_be_bytes;
    u64 write_u64 read_u64 to_be_bytes;
    i64 write_i64 read_i64 to_be_bytes;
    u128 write_u128 read_u128 to_be_bytes;
    i128 write_i128 read_i128 to_be_bytes;
    f32 write_f32 read_f32 to_be_bytes;
    f64 write_f64 read_f64 to_be_bytes;
    u16 write_u16_le read_u16_le to_le_bytes;
    i16 write_i16_le read_i16_le to_le_bytes;
    u32 write_u32_le read_u32_le to_le_bytes;
    i32 write_i32_le read_i32_le to_le_bytes;
    u64 write_u64_le read_u64_le to_le_bytes;
    i64 write_i64_le read_i64_le to_le_bytes;
    u128 write_u128_le read_u128_le to_le_bytes;
    i128 write_i128_le read_i128_le to_le_bytes;
    f32 write_f32_le read_f32_le to_le_bytes;
    f64 write_f64_le read_f64_le to_le_bytes;
}

#[test]
fn a_truncated_number_is_an_unexpected_end() {
    let error = run(async { b"\x01\x02\x03".chain(&b""[..]).read_u32().await }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}
