//! The methods of `AsyncReadExt`: how much they read, their errors, and the effect of dropping
//! them.

mod support;

use std::io::{Cursor, ErrorKind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::{BufMut, BytesMut};
use support::Step::{Chunk, Error, Pending};
use support::{Scripted, poll_once, run};
use wakeful_io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, ReadBuf};

fn reader<const N: usize>(
    bytes: &'static [u8],
    steps: [support::Step; N],
) -> Scripted<&'static [u8]> {
    Scripted::new(bytes, steps)
}

const INTERRUPTED: support::Step = Error(ErrorKind::Interrupted);
const FAILED: support::Step = Error(ErrorKind::TimedOut);

#[test]
fn read_makes_one_call() {
    run(async {
        let mut reader = reader(b"abcd", [Pending, Chunk(2), INTERRUPTED, Chunk(1)]);
        let mut buf = [0; 8];
        assert_eq!(reader.read(&mut buf).await.unwrap(), 2);
        assert_eq!(reader.read(&mut buf).await.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(reader.read(&mut buf).await.unwrap(), 1);
        assert_eq!(reader.read(&mut []).await.unwrap(), 0);
        assert_eq!(reader.read(&mut buf).await.unwrap(), 1);
        assert_eq!(reader.read(&mut buf).await.unwrap(), 0);
        assert_eq!(&buf[..1], b"d");
    });
}

#[test]
fn a_dropped_read_has_read_nothing() {
    let mut reader = reader(b"abcd", [Pending]);
    let mut buf = [0; 8];
    assert!(poll_once(pin!(reader.read(&mut buf))).is_pending());
    assert_eq!(run(reader.read(&mut buf)).unwrap(), 4);
}

#[test]
fn read_exact_fills_its_buffer_or_fails() {
    run(async {
        let mut reader = reader(b"abcdefg", [Chunk(1), Pending, INTERRUPTED, Chunk(2), Chunk(9)]);
        let mut buf = [0; 5];
        assert_eq!(reader.read_exact(&mut buf).await.unwrap(), 5);
        assert_eq!(&buf, b"abcde");
        assert_eq!(reader.read_exact(&mut []).await.unwrap(), 0);
        let error = reader.read_exact(&mut buf).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::UnexpectedEof, "early eof".into())
        );
    });
}

#[test]
fn read_exact_stops_at_the_first_error() {
    let mut reader = reader(b"abcd", [Chunk(1), FAILED]);
    let error = run(reader.read_exact(&mut [0; 4])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(reader.inner, b"bcd");
}

#[test]
fn read_buf_reads_once_into_the_available_room() {
    run(async {
        let mut reader = reader(b"abcdefgh", [Chunk(2), Chunk(9)]);
        let mut bytes = BytesMut::with_capacity(4);
        assert_eq!(reader.read_buf(&mut bytes).await.unwrap(), 2);
        let room = bytes.capacity() - bytes.len();
        assert_eq!(reader.read_buf(&mut bytes).await.unwrap(), room);
        assert_eq!(&bytes[..4], b"abcd");

        let mut full: &mut [u8] = &mut [];
        assert_eq!(reader.read_buf(&mut full).await.unwrap(), 0);
        let mut array = [0; 2];
        let mut room: &mut [u8] = &mut array;
        let room: &mut dyn BufMut = &mut room;
        assert_eq!(reader.read_buf(room).await.unwrap(), 2);
    });
}

#[test]
fn read_to_end_appends_everything() {
    for len in [0, 1, 31, 32, 33, 1000, if cfg!(miri) { 2000 } else { 100_000 }] {
        let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
        let steps = [Chunk(7), INTERRUPTED, Pending, Chunk(100)];
        let mut reader = Scripted::new(&bytes[..], steps);
        let mut all = b"before".to_vec();
        assert_eq!(run(reader.read_to_end(&mut all)).unwrap(), len);
        assert_eq!(&all[6..], bytes);
    }
}

#[test]
fn read_to_end_keeps_bytes_read_before_an_error() {
    let mut reader = reader(b"abcdef", [Chunk(3), FAILED]);
    let mut all = Vec::new();
    assert_eq!(run(reader.read_to_end(&mut all)).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(all, b"abc");
    assert_eq!(run(reader.read_to_end(&mut all)).unwrap(), 3);
    assert_eq!(all, b"abcdef");
}

#[test]
fn a_vector_that_fits_exactly_does_not_grow() {
    let bytes = [7; 100];
    for capacity in [32, 100] {
        let mut all = Vec::with_capacity(capacity);
        run(Cursor::new(&bytes[..capacity]).read_to_end(&mut all)).unwrap();
        assert_eq!((all.len(), all.capacity()), (capacity, capacity));
    }
}

/// A reader that records the length of each buffer and how many bytes it had to zero.
struct Recorder {
    left: usize,
    rooms: Vec<usize>,
    zeroed: usize,
}

impl AsyncRead for Recorder {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.rooms.push(buf.remaining());
        self.zeroed += buf.capacity() - buf.initialized().len();
        let n = (buf.remaining() / 2 + 1).min(self.left);
        buf.initialize_unfilled();
        buf.advance(n);
        self.left -= n;
        Poll::Ready(Ok(()))
    }
}

#[test]
fn read_to_end_grows_in_steps_and_zeroes_nothing_twice() {
    let len = if cfg!(miri) { 1 << 11 } else { 1 << 20 };
    let mut reader = Recorder { left: len, rooms: Vec::new(), zeroed: 0 };
    let mut all = Vec::new();
    run(reader.read_to_end(&mut all)).unwrap();
    assert_eq!(all.len(), len);
    assert!(reader.rooms.len() < 300, "{} reads for {len} bytes", reader.rooms.len());
    // Each byte of the final allocation once, and up to 32 bytes for each earlier allocation.
    assert!(reader.zeroed <= all.capacity() + 32 * 20, "{} bytes zeroed", reader.zeroed);
}

#[test]
fn take_tells_the_reader_what_is_initialized() {
    let mut memory = [0; 64];
    let mut buf = ReadBuf::new(&mut memory);
    buf.put_slice(b"before");
    let mut take = Recorder { left: 100, rooms: Vec::new(), zeroed: 0 }.take(10);
    let poll = Pin::new(&mut take).poll_read(&mut Context::from_waker(Waker::noop()), &mut buf);
    assert!(poll.is_ready());
    assert_eq!((take.get_ref().zeroed, &take.get_ref().rooms[..]), (0, &[10][..]));
    assert_eq!((buf.filled().len(), take.limit()), (12, 4));
}

#[test]
fn read_to_string_appends_text() {
    let mut reader = Scripted::new("häuschen".as_bytes(), [Chunk(2), Pending, Chunk(1)]);
    let mut text = "ein ".to_owned();
    assert_eq!(run(reader.read_to_string(&mut text)).unwrap(), 9);
    assert_eq!(text, "ein häuschen");
}

#[test]
fn a_failed_read_to_string_leaves_the_string_unchanged() {
    for (bytes, steps, kind) in [
        (&b"ab\xff"[..], [Chunk(1), Chunk(1)], ErrorKind::InvalidData),
        (b"abc", [Chunk(1), FAILED], ErrorKind::TimedOut),
        (b"\xffbc", [Chunk(1), FAILED], ErrorKind::TimedOut),
    ] {
        let mut text = "before".to_owned();
        let error = run(reader(bytes, steps).read_to_string(&mut text)).unwrap_err();
        assert_eq!((error.kind(), &text[..]), (kind, "before"));
        let about_text = error.get_ref().is_some_and(|e| e.is::<std::str::Utf8Error>());
        assert_eq!(about_text, kind == ErrorKind::InvalidData);
    }
}

#[test]
fn chain_continues_with_the_second_reader() {
    run(async {
        let mut chain = reader(b"ab", [Chunk(1), Pending]).chain(reader(b"cd", [Chunk(1)]));
        let mut text = String::new();
        assert_eq!(chain.read(&mut []).await.unwrap(), 0);
        chain.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abcd");
        assert_eq!(chain.get_ref().1.inner, b"");
        let (_, mut second) = chain.into_inner();
        second.inner = b"x";
        assert_eq!(second.read_u8().await.unwrap(), b'x');
    });
}

#[test]
fn an_empty_read_is_not_the_end_of_the_first_reader() {
    run(async {
        let mut chain = b"ab".chain(&b"cd"[..]);
        assert_eq!(chain.read(&mut []).await.unwrap(), 0);
        assert_eq!(chain.read_u8().await.unwrap(), b'a');
    });
}

#[test]
fn take_ends_at_its_limit_and_can_be_given_a_new_one() {
    run(async {
        let mut take = reader(b"abcdefgh", [Chunk(2), FAILED]).take(4);
        let mut text = String::new();
        assert!(take.read_to_string(&mut text).await.is_err());
        assert_eq!(take.limit(), 2);
        assert_eq!(take.read_to_string(&mut text).await.unwrap(), 2);
        assert_eq!(take.read(&mut [0; 9]).await.unwrap(), 0);
        take.set_limit(u64::MAX);
        assert_eq!(take.read_to_string(&mut text).await.unwrap(), 4);
        assert_eq!((&text[..], take.into_inner().inner), ("cdefgh", &b""[..]));
    });
}

#[test]
fn take_does_not_poll_the_reader_at_its_limit() {
    let mut take = reader(b"abc", [Pending]).take(0);
    assert_eq!(run(take.read(&mut [0; 2])).unwrap(), 0);
    assert_eq!(take.get_ref().steps.len(), 1);
}

#[test]
fn consume_of_a_take_does_not_pass_its_limit() {
    run(async {
        let mut take = BufReader::new(&b"abcdef"[..]).take(3);
        assert_eq!(take.fill_buf().await.unwrap(), b"abc");
        take.consume(100);
        assert_eq!(take.limit(), 0);
        assert_eq!(take.fill_buf().await.unwrap(), b"");
        assert_eq!(take.into_inner().buffer(), b"def");
    });
}
