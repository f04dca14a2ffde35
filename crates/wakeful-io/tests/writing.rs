//! The methods of `AsyncWriteExt`: how much they write, their errors, and the effect of dropping
//! them.

mod support;

use std::io::{Cursor, ErrorKind, IoSlice};
use std::pin::pin;

use bytes::{Buf, Bytes};
use support::Step::{Chunk, Error, Pending};
use support::{Scripted, poll_once, run};
use wakeful_io::{AsyncWriteExt, BufWriter};

fn writer<const N: usize>(steps: [support::Step; N]) -> Scripted<Vec<u8>> {
    Scripted::new(Vec::new(), steps)
}

const INTERRUPTED: support::Step = Error(ErrorKind::Interrupted);
const FAILED: support::Step = Error(ErrorKind::TimedOut);

#[test]
fn write_makes_one_call() {
    run(async {
        let mut writer = writer([Pending, Chunk(2), INTERRUPTED]);
        assert_eq!(writer.write(b"abc").await.unwrap(), 2);
        assert_eq!(writer.write(b"c").await.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(writer.write(b"").await.unwrap(), 0);
        assert_eq!(writer.inner, b"ab");
    });
}

#[test]
fn write_vectored_writes_one_buffer_unless_the_writer_supports_more() {
    run(async {
        let bufs = [IoSlice::new(b""), IoSlice::new(b"ab"), IoSlice::new(b"cd")];
        let mut writer = writer([]);
        assert_eq!(writer.write_vectored(&bufs).await.unwrap(), 2);
        writer.vectored = true;
        assert_eq!(writer.write_vectored(&bufs).await.unwrap(), 4);
        assert_eq!(writer.write_vectored(&[]).await.unwrap(), 0);
        assert_eq!(writer.inner, b"ababcd");
    });
}

#[test]
fn write_all_repeats_until_all_is_written() {
    let mut writer = writer([Chunk(1), INTERRUPTED, Pending, Chunk(2)]);
    run(writer.write_all(b"abcdef")).unwrap();
    assert_eq!(writer.inner, b"abcdef");
}

#[test]
fn write_all_fails_after_a_write_of_zero_bytes() {
    let mut room = [0; 2];
    let error = run(Cursor::new(&mut room[..]).write_all(b"abc")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    assert_eq!(&room, b"ab");
    let mut writer = writer([Chunk(1), FAILED]);
    assert_eq!(run(writer.write_all(b"abc")).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(writer.inner, b"a");
}

#[test]
fn an_empty_write_makes_no_call() {
    run(async {
        let mut writer = writer([FAILED]);
        writer.write_all(b"").await.unwrap();
        writer.write_all_buf(&mut Bytes::new()).await.unwrap();
        assert_eq!(writer.write_buf(&mut Bytes::new()).await.unwrap(), 0);
        assert_eq!(writer.steps.len(), 1);
    });
}

#[test]
fn write_buf_advances_the_cursor_by_one_write() {
    run(async {
        let mut writer = writer([Chunk(2), FAILED]);
        let mut bytes = Bytes::from_static(b"abcd");
        assert_eq!(writer.write_buf(&mut bytes).await.unwrap(), 2);
        assert!(writer.write_buf(&mut bytes).await.is_err());
        assert_eq!(bytes, "cd");
    });
}

#[test]
fn write_all_buf_writes_all_chunks_together() {
    for vectored in [false, true] {
        let mut writer = writer([]);
        writer.vectored = vectored;
        let mut message = Bytes::from_static(b"head").chain(Bytes::from_static(b"body"));
        run(writer.write_all_buf(&mut message)).unwrap();
        assert_eq!(writer.inner, b"headbody");
        assert_eq!(writer.largest_write, if vectored { 8 } else { 4 });
    }
}

#[test]
fn write_all_buf_leaves_unwritten_bytes() {
    let mut bytes = Bytes::from_static(b"abcdef");
    let mut writer = writer([Chunk(1), INTERRUPTED, Chunk(1), Pending, Chunk(1), FAILED]);
    assert!(poll_once(pin!(writer.write_all_buf(&mut bytes))).is_pending());
    assert_eq!((&bytes[..], &writer.inner[..]), (&b"cdef"[..], &b"ab"[..]));
    assert!(run(writer.write_all_buf(&mut bytes)).is_err());
    assert_eq!((&bytes[..], &writer.inner[..]), (&b"def"[..], &b"abc"[..]));
    let error = run(Cursor::new(&mut [][..]).write_all_buf(&mut bytes)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
}

#[test]
fn flush_and_shutdown_pass_through_a_buffer() {
    run(async {
        let mut buffered = BufWriter::new(writer([Pending, Chunk(1), Pending]));
        buffered.write_all(b"abc").await.unwrap();
        buffered.flush().await.unwrap();
        assert_eq!(buffered.get_ref().inner, b"abc");
        buffered.write_all(b"d").await.unwrap();
        buffered.shutdown().await.unwrap();
        let writer = buffered.into_inner();
        assert_eq!((&writer.inner[..], writer.flushes, writer.shutdowns), (&b"abcd"[..], 1, 1));
    });
}

#[test]
fn a_flush_continues_after_a_dropped_one() {
    let mut buffered = BufWriter::new(writer([Chunk(2), Pending]));
    run(buffered.write_all(b"abcd")).unwrap();
    assert!(poll_once(pin!(buffered.flush())).is_pending());
    assert_eq!(buffered.get_ref().inner, b"ab");
    run(buffered.write_all(b"ef")).unwrap();
    run(buffered.flush()).unwrap();
    assert_eq!(buffered.get_ref().inner, b"abcdef");
    assert_eq!(buffered.buffer(), b"");
}

#[test]
fn a_buffer_keeps_unwritten_bytes() {
    let mut buffered = BufWriter::new(writer([Chunk(1), FAILED]));
    run(buffered.write_all(b"abc")).unwrap();
    assert_eq!(run(buffered.flush()).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(buffered.buffer(), b"bc");

    let mut buffered = BufWriter::new(Cursor::new(&mut [][..]));
    run(buffered.write_all(b"abc")).unwrap();
    let error = run(buffered.flush()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    assert_eq!(error.to_string(), "failed to write the buffered data");
}

#[test]
fn a_buffer_collects_slices_for_any_writer() {
    for vectored in [false, true] {
        run(async {
            let mut inner = writer([]);
            inner.vectored = vectored;
            let mut buffered = BufWriter::with_capacity(4, inner);
            let bufs = [IoSlice::new(b""), IoSlice::new(b"a"), IoSlice::new(b"b")];
            assert_eq!(buffered.write_vectored(&bufs).await.unwrap(), 2);
            assert_eq!((buffered.buffer(), buffered.get_ref().inner.len()), (&b"ab"[..], 0));
            // The first slice fits, both together do not.
            let bufs = [IoSlice::new(b"cd"), IoSlice::new(b"efg")];
            let n = buffered.write_vectored(&bufs).await.unwrap();
            assert_eq!(n, if vectored { 5 } else { 2 });
            assert_eq!(buffered.write_vectored(&[IoSlice::new(b"")]).await.unwrap(), 0);
            let large = [IoSlice::new(b""), IoSlice::new(b"12345")];
            assert_eq!(buffered.write_vectored(&large).await.unwrap(), 5);
            let expected: &[u8] = if vectored { b"abcdefg12345" } else { b"abcd12345" };
            assert_eq!(buffered.get_ref().inner, expected);
        });
    }
}

#[test]
fn a_buffer_of_zero_bytes_forwards_everything() {
    run(async {
        let mut buffered = BufWriter::with_capacity(0, writer([]));
        buffered.write_all(b"ab").await.unwrap();
        buffered.write_vectored(&[IoSlice::new(b"c")]).await.unwrap();
        assert_eq!(buffered.get_ref().inner, b"abc");
    });
}
