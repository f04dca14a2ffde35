//! `copy` and its kin, where std has no counterpart.

mod support;

use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use support::Step::{Chunk, Error, Pending};
use support::{Scripted, panic_text, poll_once, run};
use wakeful_io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, ReadBuf, copy,
    copy_bidirectional, copy_bidirectional_with_sizes, copy_buf, duplex, join, repeat,
};

#[test]
fn a_writer_that_takes_no_more_is_an_error() {
    let error = run(copy(&mut repeat(1), &mut io::Cursor::new(&mut [0; 9][..]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    assert_eq!(error.to_string(), "write zero byte into writer");
    let mut reader = BufReader::new(repeat(1));
    let error = run(copy_buf(&mut reader, &mut io::Cursor::new(&mut [0; 9][..]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
}

#[test]
fn while_there_is_nothing_to_read_the_writer_is_flushed() {
    for buffered in [false, true] {
        let (mut near, mut far) = duplex(64);
        let mut writer = BufWriter::new(Vec::new());
        run(near.write_all(b"question")).unwrap();
        if buffered {
            let mut far = BufReader::new(far);
            assert!(poll_once(pin!(copy_buf(&mut far, &mut writer))).is_pending());
        } else {
            assert!(poll_once(pin!(copy(&mut far, &mut writer))).is_pending());
        }
        assert_eq!(writer.get_ref(), b"question");
    }
}

/// Never ready to write.
struct Stuck;

impl AsyncWrite for Stuck {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        panic!("nothing was written that could be flushed");
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

#[test]
fn while_the_writer_is_busy_more_is_read() {
    let mut reader = Scripted::new(&b"abcdef"[..], [Chunk(1), Chunk(2)]);
    assert!(poll_once(pin!(copy(&mut reader, &mut Stuck))).is_pending());
    assert_eq!(reader.inner, b"def");

    // An error of the reader does not wait for the writer.
    let mut reader = Scripted::new(&b"abc"[..], [Chunk(1), Error(ErrorKind::TimedOut)]);
    let error = run(copy(&mut reader, &mut Stuck)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

/// Has three bytes and an end, behind which nobody may read.
struct ReadOnce(u8);

impl AsyncRead for ReadOnce {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0 += 1;
        match self.0 {
            1 => buf.put_slice(b"abc"),
            2 => {}
            _ => panic!("read behind the end"),
        }
        Poll::Ready(Ok(()))
    }
}

#[test]
fn nothing_is_read_behind_the_end() {
    // The end comes while the writer is busy.
    let mut writer = Scripted::new(Vec::new(), [Pending, Chunk(1), Pending]);
    assert_eq!(run(copy(&mut ReadOnce(0), &mut writer)).unwrap(), 3);
    assert_eq!(writer.inner, b"abc");
}

/// Fills all the room it gets, three times, and notes how much that was.
struct Rooms(Vec<usize>);

impl AsyncRead for Rooms {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0.len() < 3 {
            self.0.push(buf.remaining());
            // Buffers behind readers are initialized; some readers rely on it.
            buf.advance(buf.remaining());
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rooms {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn buffers_are_as_long_as_asked_for() {
    let mut reader = Rooms(Vec::new());
    assert_eq!(run(copy(&mut reader, &mut Vec::new())).unwrap(), 3 * 8192);
    assert_eq!(reader.0, [8192; 3]);
    let (mut a, mut b) = (Rooms(Vec::new()), Rooms(Vec::new()));
    assert_eq!(run(copy_bidirectional_with_sizes(&mut a, &mut b, 10, 20)).unwrap(), (30, 60));
    assert_eq!((a.0, b.0), (vec![10; 3], vec![20; 3]));
}

#[test]
fn no_buffer_is_refused() {
    for (there, back, name) in [(0, 1, "a_to_b"), (1, 0, "b_to_a")] {
        let (mut a, mut b) = (Rooms(Vec::new()), Rooms(Vec::new()));
        let copying = copy_bidirectional_with_sizes(&mut a, &mut b, there, back);
        let text = panic_text(|| _ = run(copying));
        assert_eq!(text, format!("`{name}_buf_size` must be greater than 0"));
    }
}

#[test]
fn each_end_shuts_the_other_stream_down() {
    let steps = [Pending, Chunk(2), Error(ErrorKind::Interrupted), Pending, Chunk(1)];
    let stream =
        |bytes: &'static [u8]| join(Scripted::new(bytes, steps), Scripted::new(Vec::new(), steps));
    let (mut a, mut b) = (stream(b"from a"), stream(b"b"));
    assert_eq!(run(copy_bidirectional(&mut a, &mut b)).unwrap(), (6, 1));
    assert_eq!((&b.writer().inner[..], b.writer().shutdowns), (&b"from a"[..], 1));
    assert_eq!((&a.writer().inner[..], a.writer().shutdowns), (&b"b"[..], 1));
}

#[test]
fn one_way_may_end_before_the_other() {
    let (mut client, mut inbound) = duplex(4);
    let (mut outbound, mut server) = duplex(4);
    let mut copying = Box::pin(copy_bidirectional(&mut inbound, &mut outbound));
    run(client.write_all(b"bye")).unwrap();
    run(client.shutdown()).unwrap();
    assert!(poll_once(copying.as_mut()).is_pending());
    let mut text = String::new();
    run(server.read_to_string(&mut text)).unwrap();
    assert_eq!(text, "bye");

    run(server.write_all(b"moin")).unwrap();
    assert!(poll_once(copying.as_mut()).is_pending());
    drop(server);
    assert!(matches!(poll_once(copying.as_mut()), Poll::Ready(Ok((3, 4)))));
    text.clear();
    run(client.read_to_string(&mut text)).unwrap();
    assert_eq!(text, "moin");
}

#[test]
fn an_error_one_way_ends_both() {
    let a = join(&b"abc"[..], Vec::new());
    let b = join(Scripted::new(&b""[..], [Error(ErrorKind::TimedOut)]), Stuck);
    let (mut a, mut b) = (a, b);
    let error = run(copy_bidirectional(&mut a, &mut b)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}
