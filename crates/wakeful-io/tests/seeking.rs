//! Seeks that have to wait, and seeks that were started but not awaited.

mod support;

use std::io::{self, Cursor, SeekFrom};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use support::Step::{Chunk, Pending};
use support::{Scripted, poll_once, run};
use wakeful_io::{
    AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite, AsyncWriteExt, BufReader,
    BufStream, BufWriter, ReadBuf,
};

/// A stream that records its seeks. Each takes two polls, and a seek during another one is an
/// error.
#[derive(Default)]
struct Slow {
    asked: Vec<SeekFrom>,
    underway: bool,
    fails: bool,
}

impl AsyncSeek for Slow {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        if self.underway || self.fails {
            return Err(io::Error::other("refused"));
        }
        self.asked.push(position);
        self.underway = true;
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if self.underway {
            self.underway = false;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(self.asked.len() as u64))
    }
}

impl AsyncRead for Slow {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buf.put_slice(&b"abcdef"[..buf.remaining().min(6)]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Slow {
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
fn a_seek_waits_for_an_earlier_one() {
    let mut slow = Slow::default();
    assert!(poll_once(pin!(slow.seek(SeekFrom::Start(1)))).is_pending());
    slow.underway = true;
    assert_eq!(run(slow.rewind()).unwrap(), 2);
    assert_eq!(slow.asked, [SeekFrom::Start(1), SeekFrom::Start(0)]);
}

#[test]
fn a_failed_seek_is_an_error() {
    let mut slow = Slow { fails: true, ..Slow::default() };
    assert!(run(slow.stream_position()).is_err());
    let mut reader = BufReader::new(slow);
    assert!(run(reader.rewind()).is_err());
    let mut writer = BufWriter::new(reader.into_inner());
    assert!(run(writer.rewind()).is_err());
    // The failed seek is not repeated by the next one.
    writer.get_mut().fails = false;
    assert_eq!(run(writer.seek(SeekFrom::End(0))).unwrap(), 1);
    assert_eq!(writer.get_ref().asked, [SeekFrom::End(0)]);
}

#[test]
fn a_buffered_reader_seeks_from_the_observed_position() {
    run(async {
        let mut reader = BufReader::new(Slow::default());
        reader.read_u16().await.unwrap();
        reader.seek(SeekFrom::Current(1)).await.unwrap();
        assert_eq!(reader.buffer(), b"");
        reader.read_u8().await.unwrap();
        reader.seek(SeekFrom::Current(i64::MIN)).await.unwrap();
        assert_eq!(reader.buffer(), b"");
        let asked = [SeekFrom::Current(-3), SeekFrom::Current(-5), SeekFrom::Current(i64::MIN)];
        assert_eq!(reader.get_ref().asked, asked);
    });
}

#[test]
fn a_buffered_reader_keeps_its_buffer_until_the_seek_completes() {
    let mut reader = BufReader::new(Slow::default());
    run(reader.read_u8()).unwrap();
    let mut reader = pin!(reader);
    reader.as_mut().start_seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(reader.buffer(), b"bcdef");
    let cx = &mut Context::from_waker(std::task::Waker::noop());
    assert!(reader.as_mut().poll_complete(cx).is_pending());
    assert_eq!(reader.buffer(), b"bcdef");
    assert!(reader.as_mut().poll_complete(cx).is_ready());
    assert_eq!(reader.buffer(), b"");
}

#[test]
fn a_buffered_writer_writes_before_it_seeks() {
    run(async {
        let inner = Scripted::new(Cursor::new(b"......".to_vec()), [Pending, Chunk(1), Pending]);
        let mut writer = BufWriter::new(inner);
        writer.write_all(b"ab").await.unwrap();
        assert_eq!(writer.seek(SeekFrom::Current(1)).await.unwrap(), 3);
        writer.write_all(b"c").await.unwrap();
        writer.flush().await.unwrap();
        assert_eq!(writer.get_ref().inner.get_ref(), b"ab.c..");
    });
}

#[test]
fn a_buffered_writer_waits_for_an_earlier_seek() {
    let mut writer = BufWriter::new(Slow { underway: true, ..Slow::default() });
    Pin::new(&mut writer).start_seek(SeekFrom::Start(1)).unwrap();
    let position = std::future::poll_fn(|cx| Pin::new(&mut writer).poll_complete(cx));
    assert_eq!(run(position).unwrap(), 1);
}

#[test]
fn a_buffered_stream_does_both() {
    run(async {
        let mut stream = BufStream::new(Cursor::new(b"abcdef".to_vec()));
        assert_eq!(stream.read_u16().await.unwrap(), 0x6162);
        assert_eq!(stream.stream_position().await.unwrap(), 2);
        stream.write_all(b"XY").await.unwrap();
        assert_eq!(stream.get_ref().get_ref(), b"abcdef");
        assert_eq!(stream.seek(SeekFrom::End(-3)).await.unwrap(), 3);
        assert_eq!(stream.get_ref().get_ref(), b"abXYef");
        assert_eq!(stream.read_u8().await.unwrap(), b'Y');
    });
}
