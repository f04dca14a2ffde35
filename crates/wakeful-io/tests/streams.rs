//! `split`, `join`, `BufReader` and `BufStream`.

mod support;

use std::io::{self, Cursor, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use support::{Scripted, panic_text, run};
use wakeful_io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufStream,
    BufWriter, ReadBuf, duplex, empty, join, sink, split,
};

#[test]
fn the_halves_belong_to_one_stream() {
    run(async {
        let (near, mut far) = duplex(16);
        let (mut reader, mut writer) = split(near);
        assert!(writer.is_write_vectored());
        writer.write_all(b"abc").await.unwrap();
        writer.write_vectored(&[IoSlice::new(b"de")]).await.unwrap();
        writer.flush().await.unwrap();
        far.write_all(b"answer").await.unwrap();
        let mut buf = [0; 6];
        reader.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"answer");
        writer.shutdown().await.unwrap();
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abcde");
        assert_eq!(format!("{reader:?} {writer:?}"), "split::ReadHalf split::WriteHalf");
    });
}

#[test]
fn matching_halves_can_be_put_together() {
    let (reader, writer) = split(Cursor::new(vec![1]));
    let (other_reader, other_writer) = split(Cursor::new(vec![2]));
    assert!(reader.is_pair_of(&writer) && writer.is_pair_of(&reader));
    assert!(!reader.is_pair_of(&other_writer) && !writer.is_pair_of(&other_reader));
    assert_eq!(reader.unsplit(writer).into_inner(), [1]);

    let (reader, _writer) = split(empty());
    let (_reader, writer) = split(empty());
    let text = panic_text(|| _ = reader.unsplit(writer));
    assert!(text.starts_with("Unrelated `split::Write` passed to `split::Read::unsplit`."));
}

struct Panics;

impl AsyncRead for Panics {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        panic!("inside");
    }
}

#[test]
fn a_panic_in_one_half_reaches_the_other() {
    let (mut reader, mut writer) = split(join(Panics, sink()));
    assert_eq!(panic_text(|| _ = run(reader.read_u8())), "inside");
    let text = panic_text(|| _ = run(writer.write_u8(1)));
    assert!(text.starts_with("a poll of one half of this stream panicked"), "{text}");
}

#[test]
fn a_join_reads_from_the_reader_and_writes_to_the_writer() {
    run(async {
        let mut stream = join(BufReader::new(&b"one\ntwo"[..]), Vec::new());
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        assert!(stream.is_write_vectored());
        stream.write_all(b"ab").await.unwrap();
        stream.flush().await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!((stream.reader().buffer(), &stream.writer()[..]), (&b"two"[..], &b"ab"[..]));
        stream.reader_mut().consume(1);
        stream.writer_mut().push(b'c');
        let mut pinned = Pin::new(&mut stream);
        pinned.as_mut().reader_pin_mut().get_mut().consume(1);
        pinned.writer_pin_mut().push(b'd');
        let (reader, writer) = stream.into_inner();
        assert_eq!((reader.buffer(), &writer[..]), (&b"o"[..], &b"abcd"[..]));
    });
}

#[test]
fn a_large_read_bypasses_the_buffer() {
    run(async {
        let mut reader = BufReader::with_capacity(4, Scripted::new(&b"abcdefghij"[..], []));
        assert_eq!(reader.read(&mut [0; 6]).await.unwrap(), 6);
        assert_eq!(reader.buffer(), b"");
        assert_eq!(reader.read(&mut [0; 2]).await.unwrap(), 2);
        assert_eq!(reader.buffer(), b"ij");
        // Buffered bytes are returned first, without another read.
        assert_eq!(reader.read(&mut [0; 6]).await.unwrap(), 2);
    });
}

#[test]
fn an_empty_read_consumes_nothing() {
    run(async {
        let mut reader = BufReader::with_capacity(4, &b"abc"[..]);
        assert_eq!(reader.read(&mut []).await.unwrap(), 0);
        assert_eq!(reader.read_u8().await.unwrap(), b'a');
        assert_eq!(reader.read(&mut []).await.unwrap(), 0);
        assert_eq!(reader.buffer(), b"bc");
    });
}

#[test]
fn a_buffered_reader_does_not_buffer_writes() {
    run(async {
        let mut stream = BufReader::new(join(&b"abc"[..], Vec::new()));
        assert!(stream.is_write_vectored());
        stream.write_all(b"xy").await.unwrap();
        assert_eq!(stream.get_ref().writer(), b"xy");
        let mut stream = BufWriter::new(stream);
        assert_eq!(stream.fill_buf().await.unwrap(), b"abc");
        assert_eq!(stream.read_u8().await.unwrap(), b'a');
        assert_eq!(stream.get_mut().get_mut().reader(), b"");
    });
}

#[test]
fn a_buffer_of_zero_bytes_is_refused() {
    let text = "capacity must be greater than zero";
    assert_eq!(panic_text(|| _ = BufReader::with_capacity(0, empty())), text);
    assert_eq!(panic_text(|| _ = BufStream::with_capacity(0, 1, empty())), text);
}

#[test]
fn a_buffered_stream_can_be_made_of_either_nesting() {
    run(async {
        let inner = || join(&b"abcdef"[..], Vec::new());
        let mut outer = BufWriter::with_capacity(8, BufReader::with_capacity(4, inner()));
        outer.write_all(b"xy").await.unwrap();
        outer.read_u8().await.unwrap();
        let mut stream = BufStream::from(outer);
        assert_eq!(stream.fill_buf().await.unwrap(), b"bcd");
        assert_eq!(stream.get_ref().writer(), b"");
        stream.flush().await.unwrap();
        assert_eq!(stream.get_ref().writer(), b"xy");

        let mut stream = BufStream::from(BufReader::new(BufWriter::new(inner())));
        assert!(stream.is_write_vectored());
        assert_eq!(stream.read_u8().await.unwrap(), b'a');
        stream.write_vectored(&[IoSlice::new(b"z")]).await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(stream.get_mut().writer(), b"z");
        assert_eq!(stream.into_inner().writer(), b"z");
    });
}

#[test]
fn debug_shows_how_full_the_buffers_are() {
    run(async {
        let mut reader = BufReader::with_capacity(4, &b"abc"[..]);
        reader.read_u8().await.unwrap();
        assert_eq!(format!("{reader:?}"), "BufReader { reader: [], buffer: 2/4 }");
        let mut writer = BufWriter::with_capacity(4, Vec::new());
        writer.write_u8(1).await.unwrap();
        assert_eq!(format!("{writer:?}"), "BufWriter { writer: [], buffer: 1/4, written: 0 }");
        assert_eq!(format!("{:?} {:?}", empty(), sink()), "Empty { .. } Sink { .. }");
        assert_eq!(format!("{:?}", b"a".chain(&b""[..])), "Chain { t: [97], u: [] }");
    });
}
