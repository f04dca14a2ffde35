//! The copy functions, where std has no counterpart to compare with.

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
fn a_write_of_zero_bytes_is_an_error() {
    let error = run(copy(&mut repeat(1), &mut io::Cursor::new(&mut [0; 9][..]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    assert_eq!(error.to_string(), "write zero byte into writer");
    let mut reader = BufReader::new(repeat(1));
    let error = run(copy_buf(&mut reader, &mut io::Cursor::new(&mut [0; 9][..]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
}

#[test]
fn the_writer_is_flushed_while_the_reader_is_pending() {
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

/// A writer that is always pending.
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
        panic!("flushed although nothing was written");
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

#[test]
fn the_buffer_is_filled_while_the_writer_is_pending() {
    let mut reader = Scripted::new(&b"abcdef"[..], [Chunk(1), Chunk(2)]);
    assert!(poll_once(pin!(copy(&mut reader, &mut Stuck))).is_pending());
    assert_eq!(reader.inner, b"def");

    // A reader's error is returned although the writer is pending.
    let mut reader = Scripted::new(&b"abc"[..], [Chunk(1), Error(ErrorKind::TimedOut)]);
    let error = run(copy(&mut reader, &mut Stuck)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

/// A reader of three bytes that panics if it is read again after its end.
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
            _ => panic!("read after the end"),
        }
        Poll::Ready(Ok(()))
    }
}

#[test]
fn the_reader_is_not_polled_after_its_end() {
    // The reader reaches its end while the writer is pending.
    let mut writer = Scripted::new(Vec::new(), [Pending, Chunk(1), Pending]);
    assert_eq!(run(copy(&mut ReadOnce(0), &mut writer)).unwrap(), 3);
    assert_eq!(writer.inner, b"abc");
}

/// A reader that fills its whole buffer three times and records the sizes.
struct Rooms(Vec<usize>);

impl AsyncRead for Rooms {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0.len() < 3 {
            self.0.push(buf.remaining());
            // Some readers rely on an initialized buffer: `advance` panics otherwise.
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
fn buffers_have_the_requested_sizes() {
    let mut reader = Rooms(Vec::new());
    assert_eq!(run(copy(&mut reader, &mut Vec::new())).unwrap(), 3 * 8192);
    assert_eq!(reader.0, [8192; 3]);
    let (mut a, mut b) = (Rooms(Vec::new()), Rooms(Vec::new()));
    assert_eq!(run(copy_bidirectional_with_sizes(&mut a, &mut b, 10, 20)).unwrap(), (30, 60));
    assert_eq!((a.0, b.0), (vec![10; 3], vec![20; 3]));
}

#[test]
fn a_buffer_size_of_zero_is_refused() {
    for (there, back, name) in [(0, 1, "a_to_b"), (1, 0, "b_to_a")] {
        let (mut a, mut b) = (Rooms(Vec::new()), Rooms(Vec::new()));
        let copying = copy_bidirectional_with_sizes(&mut a, &mut b, there, back);
        let text = panic_text(|| _ = run(copying));
        assert_eq!(text, format!("`{name}_buf_size` must be greater than 0"));
    }
}

#[test]
fn the_end_of_a_stream_shuts_the_other_one_down() {
    let steps = [Pending, Chunk(2), Error(ErrorKind::Interrupted), Pending, Chunk(1)];
    let stream =
        |bytes: &'static [u8]| join(Scripted::new(bytes, steps), Scripted::new(Vec::new(), steps));
    let (mut a, mut b) = (stream(b"from a"), stream(b"b"));
    assert_eq!(run(copy_bidirectional(&mut a, &mut b)).unwrap(), (6, 1));
    assert_eq!((&b.writer().inner[..], b.writer().shutdowns), (&b"from a"[..], 1));
    assert_eq!((&a.writer().inner[..], a.writer().shutdowns), (&b"b"[..], 1));
}

#[test]
fn one_direction_may_end_before_the_other() {
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
fn an_error_in_one_direction_ends_both() {
    let a = join(&b"abc"[..], Vec::new());
    let b = join(Scripted::new(&b""[..], [Error(ErrorKind::TimedOut)]), Stuck);
    let (mut a, mut b) = (a, b);
    let error = run(copy_bidirectional(&mut a, &mut b)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}
