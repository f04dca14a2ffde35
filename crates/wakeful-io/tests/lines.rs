//! The methods of `AsyncBufReadExt`.

mod support;

use std::io::ErrorKind;
use std::pin::pin;
use std::string::FromUtf8Error;

use support::Step::{Chunk, Error, Pending};
use support::{Scripted, panic_text, poll_once, run};
use wakeful_io::{AsyncBufReadExt, AsyncReadExt, BufReader};

fn reader<const N: usize>(
    bytes: &'static [u8],
    steps: [support::Step; N],
) -> BufReader<Scripted<&'static [u8]>> {
    BufReader::new(Scripted::new(bytes, steps))
}

const INTERRUPTED: support::Step = Error(ErrorKind::Interrupted);
const FAILED: support::Step = Error(ErrorKind::TimedOut);

#[test]
fn read_until_stops_after_the_delimiter() {
    run(async {
        let mut reader = reader(b"ab,cd", [Chunk(1), INTERRUPTED, Pending, Chunk(3)]);
        let mut buf = b"x".to_vec();
        assert_eq!(reader.read_until(b',', &mut buf).await.unwrap(), 3);
        assert_eq!(reader.read_until(b',', &mut buf).await.unwrap(), 2);
        assert_eq!(reader.read_until(b',', &mut buf).await.unwrap(), 0);
        assert_eq!(buf, b"xab,cd");
    });
}

#[test]
fn a_dropped_read_until_loses_no_bytes() {
    let mut reader = reader(b"abcd,", [Chunk(2), Pending]);
    let mut buf = Vec::new();
    assert!(poll_once(pin!(reader.read_until(b',', &mut buf))).is_pending());
    assert_eq!(buf, b"ab");
    assert_eq!(run(reader.read_until(b',', &mut buf)).unwrap(), 3);
    assert_eq!(buf, b"abcd,");
}

#[test]
fn read_until_keeps_bytes_read_before_an_error() {
    let mut reader = reader(b"abcd", [Chunk(2), FAILED]);
    let mut buf = Vec::new();
    assert_eq!(run(reader.read_until(b',', &mut buf)).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(buf, b"ab");
}

#[test]
fn read_line_appends_a_line() {
    run(async {
        let mut reader = reader("für\nelise".as_bytes(), [Chunk(2), Pending]);
        let mut line = "»".to_owned();
        assert_eq!(reader.read_line(&mut line).await.unwrap(), 5);
        assert_eq!(line, "»für\n");
        assert_eq!(reader.read_line(&mut line).await.unwrap(), 5);
        assert_eq!(reader.read_line(&mut line).await.unwrap(), 0);
        assert_eq!(line, "»für\nelise");
    });
}

#[test]
fn read_line_keeps_valid_text_before_an_error() {
    for (bytes, kept, kind) in
        [(&b"ab\xffc\n"[..], "x", ErrorKind::InvalidData), (b"\xff", "x", ErrorKind::InvalidData)]
    {
        let mut line = "x".to_owned();
        let error = run(reader(bytes, []).read_line(&mut line)).unwrap_err();
        assert_eq!((error.kind(), &line[..]), (kind, kept));
    }
    for (bytes, kept) in [(&b"abc"[..], "xab"), (b"a\xffc", "x")] {
        let mut line = "x".to_owned();
        let error = run(reader(bytes, [Chunk(2), FAILED]).read_line(&mut line)).unwrap_err();
        assert_eq!((error.kind(), &line[..]), (ErrorKind::TimedOut, kept));
    }
}

#[test]
fn lines_have_no_line_ends() {
    run(async {
        let mut lines = reader(b"a\nb\r\n\n\rc\r\r\nd\r", [Chunk(3), Pending]).lines();
        for line in ["a", "b", "", "\rc\r", "d\r"] {
            assert_eq!(lines.next_line().await.unwrap().as_deref(), Some(line));
        }
        assert_eq!(lines.next_line().await.unwrap(), None);
        assert_eq!(lines.next_line().await.unwrap(), None);
    });
}

#[test]
fn lines_continue_after_an_error() {
    run(async {
        let mut lines = reader(b"a\nb\xff\ncd\n", [Chunk(6), FAILED]).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("a"));
        let error = lines.next_line().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let error = error.into_inner().unwrap().downcast::<FromUtf8Error>().unwrap();
        assert_eq!(error.into_bytes(), b"b\xff");
        assert_eq!(lines.next_line().await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("cd"));
    });
}

#[test]
fn a_dropped_next_line_loses_nothing() {
    let mut lines = reader(b"abcd\nef", [Chunk(2), Pending]).lines();
    assert!(poll_once(pin!(lines.next_line())).is_pending());
    assert_eq!(run(lines.next_line()).unwrap().as_deref(), Some("abcd"));
    assert_eq!(lines.get_ref().buffer(), b"ef");
    assert_eq!(run(lines.get_mut().read_u8()).unwrap(), b'e');
    assert_eq!(lines.into_inner().buffer(), b"f");
}

#[test]
fn segments_have_no_delimiter() {
    run(async {
        let mut segments = reader(b"a,,bc,d", [Chunk(2), Pending]).split(b',');
        for segment in [&b"a"[..], b"", b"bc", b"d"] {
            assert_eq!(segments.next_segment().await.unwrap().as_deref(), Some(segment));
        }
        assert_eq!(segments.next_segment().await.unwrap(), None);
    });
}

#[test]
fn fill_buf_returns_bytes_until_they_are_consumed() {
    run(async {
        let mut reader = reader(b"abcdef", [Pending, Chunk(4)]);
        assert_eq!(reader.fill_buf().await.unwrap(), b"abcd");
        reader.consume(0);
        assert_eq!(reader.buffer(), b"abcd");
        reader.consume(3);
        assert_eq!(reader.fill_buf().await.unwrap(), b"d");
        reader.consume(100);
        assert_eq!(reader.fill_buf().await.unwrap(), b"ef");
        reader.consume(2);
        assert_eq!(reader.fill_buf().await.unwrap(), b"");
    });
}

#[test]
fn fill_buf_panics_if_polled_after_completion() {
    let mut reader = reader(b"ab", []);
    let mut fill = pin!(reader.fill_buf());
    assert!(poll_once(fill.as_mut()).is_ready());
    let text = panic_text(|| _ = poll_once(fill));
    assert_eq!(text, "the future of `fill_buf` was polled after completion");
}
