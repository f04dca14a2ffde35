//! The trait impls of slices, vectors, cursors, and pointers to readers or writers.

mod support;

use std::io::{Cursor, IoSlice, SeekFrom};
use std::pin::Pin;

use support::run;
use wakeful_io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt,
};

fn slices() -> [IoSlice<'static>; 3] {
    [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")]
}

#[test]
fn a_slice_is_read_from_its_front() {
    run(async {
        let mut slice: &[u8] = b"abcde";
        let mut buf = [0; 2];
        assert_eq!(slice.read(&mut buf).await.unwrap(), 2);
        assert_eq!(slice.fill_buf().await.unwrap(), b"cde");
        AsyncBufReadExt::consume(&mut slice, 1);
        assert_eq!(slice, b"de");
    });
}

#[test]
fn a_cursor_beyond_its_end_reads_as_end_of_file() {
    run(async {
        for position in [3, 4, u64::MAX] {
            let mut cursor = Cursor::new(b"abc");
            cursor.set_position(position);
            assert_eq!(cursor.read(&mut [0; 2]).await.unwrap(), 0);
            assert_eq!(cursor.fill_buf().await.unwrap(), b"");
            assert_eq!(cursor.position(), position);
        }
    });
}

#[test]
fn a_cursor_seeks_like_in_std() {
    run(async {
        let mut cursor = Cursor::new(b"abcdef");
        assert_eq!(cursor.seek(SeekFrom::End(-2)).await.unwrap(), 4);
        assert_eq!(cursor.seek(SeekFrom::Current(-1)).await.unwrap(), 3);
        assert!(cursor.seek(SeekFrom::Current(-9)).await.is_err());
        assert_eq!(cursor.stream_position().await.unwrap(), 3);
        assert_eq!(cursor.rewind().await.unwrap(), 0);
    });
}

#[test]
fn a_vector_appends_all() {
    run(async {
        let mut vec = b"x".to_vec();
        assert!(vec.is_write_vectored());
        assert_eq!(vec.write_vectored(&slices()).await.unwrap(), 4);
        assert_eq!(vec.write(b"e").await.unwrap(), 1);
        vec.flush().await.unwrap();
        vec.shutdown().await.unwrap();
        assert_eq!(vec, b"xabcde");
    });
}

#[test]
fn cursors_write_at_their_position() {
    run(async {
        let mut array = *b"......";
        let mut cursor = Cursor::new(&mut array[..]);
        cursor.set_position(1);
        assert!(cursor.is_write_vectored());
        assert_eq!(cursor.write_vectored(&slices()).await.unwrap(), 4);
        assert_eq!(cursor.write(b"efg").await.unwrap(), 1);
        assert_eq!(cursor.write(b"fg").await.unwrap(), 0);
        assert_eq!(&array, b".abcde");

        let mut cursor = Cursor::new(b"......".to_vec().into_boxed_slice());
        cursor.write_all(b"ab").await.unwrap();
        assert_eq!(&cursor.into_inner()[..], b"ab....");

        let mut cursor = Cursor::new(b"..".to_vec());
        cursor.write_all(b"abc").await.unwrap();
        assert_eq!(cursor.into_inner(), b"abc");

        let mut vec = b"..".to_vec();
        Cursor::new(&mut vec).write_all(b"abc").await.unwrap();
        assert_eq!(vec, b"abc");
    });
}

/// Combines all traits, so that one trait object can be used for all calls.
trait Stream: AsyncBufRead + AsyncSeek + AsyncWrite {}
impl<T: AsyncBufRead + AsyncSeek + AsyncWrite + ?Sized> Stream for T {}

fn exercise(mut stream: impl Stream + Unpin) {
    run(async {
        assert!(stream.is_write_vectored());
        stream.write_all(b"ab").await.unwrap();
        stream.write_vectored(&slices()).await.unwrap();
        stream.flush().await.unwrap();
        stream.shutdown().await.unwrap();
        stream.rewind().await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'a');
        assert_eq!(stream.fill_buf().await.unwrap(), b"babcd");
        AsyncBufReadExt::consume(&mut stream, 4);
        assert_eq!(stream.stream_position().await.unwrap(), 5);
    });
}

#[test]
fn pointers_forward_every_call() {
    let mut cursor = Cursor::new(Vec::new());
    exercise(&mut cursor);
    exercise(Box::new(Cursor::new(Vec::new())));
    exercise(Box::new(Cursor::new(Vec::new())) as Box<dyn Stream + Unpin>);
    exercise(Pin::new(&mut Cursor::new(Vec::new())));
    exercise(Box::pin(Cursor::new(Vec::new())) as Pin<Box<dyn Stream>>);
}

#[test]
fn extension_methods_work_on_trait_objects() {
    run(async {
        let reader: &mut (dyn AsyncRead + Unpin) = &mut &b"\x01abc"[..];
        assert_eq!(reader.read_u8().await.unwrap(), 1);
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc");
        let writer: &mut (dyn AsyncWrite + Unpin) = &mut Vec::new();
        writer.write_all(b"abc").await.unwrap();
    });
}
