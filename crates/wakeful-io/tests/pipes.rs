//! `duplex` and `simplex`: the order of bytes, the capacity, and wake-ups.

mod support;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use support::{
    WakeCount, must_end, panic_text, poll_read, random_bytes, run, waker_that_clones_by,
};
use wakeful_base::FastRng;
use wakeful_io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, SimplexStream, duplex,
    simplex,
};

fn poll_write<W: AsyncWrite + Unpin>(
    writer: &mut W,
    waker: &Waker,
    bufs: &[&[u8]],
) -> Poll<io::Result<usize>> {
    let cx = &mut Context::from_waker(waker);
    match bufs {
        [buf] => Pin::new(writer).poll_write(cx, buf),
        _ => {
            let slices: Vec<_> = bufs.iter().map(|buf| IoSlice::new(buf)).collect();
            Pin::new(writer).poll_write_vectored(cx, &slices)
        }
    }
}

/// A model of one direction of a pipe.
struct Model {
    bytes: VecDeque<u8>,
    room: usize,
    closed: bool,
    reader_waits: bool,
    writer_waits: bool,
    reader_woken: usize,
    writer_woken: usize,
}

impl Model {
    fn new(room: usize) -> Self {
        Model {
            bytes: VecDeque::new(),
            room,
            closed: false,
            reader_waits: false,
            writer_waits: false,
            reader_woken: 0,
            writer_woken: 0,
        }
    }

    fn read(&mut self, len: usize) -> Poll<io::Result<Vec<u8>>> {
        if len > 0 && self.bytes.is_empty() && !self.closed {
            self.reader_waits = true;
            return Poll::Pending;
        }
        let n = len.min(self.bytes.len());
        if n > 0 {
            self.writer_woken += usize::from(std::mem::take(&mut self.writer_waits));
        }
        Poll::Ready(Ok(self.bytes.drain(..n).collect()))
    }

    fn write(&mut self, bufs: &[&[u8]]) -> Poll<io::Result<usize>> {
        let all = bufs.concat();
        let room = self.room - self.bytes.len();
        if self.closed {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        if all.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if room == 0 {
            self.writer_waits = true;
            return Poll::Pending;
        }
        let n = all.len().min(room);
        self.bytes.extend(&all[..n]);
        self.reader_woken += usize::from(std::mem::take(&mut self.reader_waits));
        Poll::Ready(Ok(n))
    }

    fn shut_down(&mut self) {
        self.closed = true;
        self.reader_woken += usize::from(std::mem::take(&mut self.reader_waits));
    }
}

fn same<T: PartialEq + std::fmt::Debug>(
    real: Poll<io::Result<T>>,
    model: Poll<io::Result<T>>,
    round: u64,
) {
    assert_eq!(real.map_err(|e| e.kind()), model.map_err(|e| e.kind()), "in round {round}");
}

/// Compares a pipe with the model for random reads and writes and a shutdown at the end.
fn compare(
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    room: usize,
    round: u64,
) {
    let rng = FastRng::from_seed(round + 1);
    let mut model = Model::new(room);
    let (reader_count, reader_waker) = WakeCount::new();
    let (writer_count, writer_waker) = WakeCount::new();
    for step in 0..300 {
        match rng.below(2) {
            0 => {
                let len = rng.below(2 * room as u32) as usize;
                same(poll_read(&mut reader, &reader_waker, len), model.read(len), round);
            }
            _ => {
                let bytes = random_bytes(&rng, rng.below(2 * room as u32) as usize, 0, 0);
                let (front, back) = bytes.split_at(rng.below(bytes.len() as u32 + 1) as usize);
                let bufs: &[&[u8]] = match rng.below(2) {
                    0 => &[&bytes],
                    _ => &[front, &[], back],
                };
                same(poll_write(&mut writer, &writer_waker, bufs), model.write(bufs), round);
            }
        }
        if step == 280 {
            run(writer.flush()).unwrap();
            run(writer.shutdown()).unwrap();
            model.shut_down();
        }
        assert_eq!(reader_count.get(), model.reader_woken, "in round {round}");
        assert_eq!(writer_count.get(), model.writer_woken, "in round {round}");
    }
}

#[test]
fn pipes_behave_like_the_model() {
    for round in 0..if cfg!(miri) { 3 } else { 200 } {
        let room = 1 + round as usize % 40;
        let (near, far) = duplex(room);
        compare(near, far, room, round);
        let (reader, writer) = simplex(room);
        compare(reader, writer, room, round);
        // The same for a stream that is split separately.
        let (reader, writer) = wakeful_io::split(SimplexStream::new_unsplit(room));
        compare(reader, writer, room, round);
    }
}

#[test]
fn the_two_directions_are_independent() {
    run(async {
        let (mut near, mut far) = duplex(4);
        near.write_all(b"ping").await.unwrap();
        far.write_all(b"pong").await.unwrap();
        let mut buf = [0; 4];
        far.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"ping");
        near.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"pong");
    });
}

#[test]
fn dropping_one_end_tells_the_other() {
    let (mut near, mut far) = duplex(4);
    let (reads, read_waker) = WakeCount::new();
    let (writes, write_waker) = WakeCount::new();
    run(far.write_all(b"last")).unwrap();
    run(near.write_all(b"full")).unwrap();
    assert!(poll_write(&mut near, &write_waker, &[b"x"]).is_pending());
    drop(far);
    assert_eq!(writes.get(), 1);
    let kind = run(near.write_all(b"x")).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::BrokenPipe);
    let mut text = String::new();
    run(near.read_to_string(&mut text)).unwrap();
    assert_eq!(text, "last");

    let (mut near, far) = duplex(4);
    assert!(poll_read(&mut near, &read_waker, 1).is_pending());
    drop(far);
    assert_eq!(reads.get(), 1);
}

#[test]
fn reading_is_possible_after_a_shutdown() {
    run(async {
        let (mut near, mut far) = duplex(8);
        near.write_all(b"bye").await.unwrap();
        near.shutdown().await.unwrap();
        assert_eq!(near.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        far.write_all(b"answer").await.unwrap();
        drop(far);
        let mut text = String::new();
        near.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "answer");
    });
}

#[test]
fn only_the_latest_waker_is_woken() {
    let (mut near, mut far) = duplex(4);
    let (first, first_waker) = WakeCount::new();
    let (second, second_waker) = WakeCount::new();
    assert!(poll_read(&mut near, &first_waker, 1).is_pending());
    assert!(poll_read(&mut near, &second_waker, 1).is_pending());
    run(far.write_all(b"x")).unwrap();
    assert_eq!((first.get(), second.get()), (0, 1));
}

/// A waker that reads from the stream when it is woken or dropped, like an executor that polls
/// immediately.
struct Reentrant(Arc<Mutex<Option<DuplexStream>>>);

impl Reentrant {
    fn read(&self) {
        if let Some(stream) = &mut *self.0.lock().unwrap() {
            _ = poll_read(stream, Waker::noop(), 1);
        }
    }
}

impl Wake for Reentrant {
    fn wake(self: Arc<Self>) {
        self.read();
    }
}

impl Drop for Reentrant {
    fn drop(&mut self) {
        self.read();
    }
}

#[test]
fn a_waker_may_use_the_stream() {
    let (near, mut far) = duplex(4);
    let near = Arc::new(Mutex::new(Some(near)));
    let park = |waker: Waker| {
        let mut stream = near.lock().unwrap().take().unwrap();
        // Replaces the previous waker, which is dropped.
        assert!(poll_read(&mut stream, &waker, 1).is_pending());
        *near.lock().unwrap() = Some(stream);
    };
    park(Arc::new(Reentrant(near.clone())).into());
    park(Arc::new(Reentrant(near.clone())).into());
    run(far.write_all(b"a")).unwrap();
    park(Arc::new(Reentrant(near.clone())).into());
    run(far.shutdown()).unwrap();
    drop(far);
    // Breaks the reference cycle between the stream and its wakers.
    drop(near.lock().unwrap().take());
}

#[test]
fn the_halves_of_a_simplex_can_be_put_together() {
    run(async {
        let (reader, writer) = simplex(4);
        let mut whole: SimplexStream = reader.unsplit(writer);
        whole.write_all(b"ab").await.unwrap();
        assert_eq!(whole.read_u16().await.unwrap(), 0x6162);
    });
}

#[test]
fn a_pipe_without_room_is_refused() {
    let text = "`max_buf_size` must be greater than 0";
    assert_eq!(panic_text(|| _ = duplex(0)), text);
    assert_eq!(panic_text(|| _ = simplex(0)), text);
    assert_eq!(panic_text(|| _ = SimplexStream::new_unsplit(0)), text);
}

fn panicking_waker() -> Waker {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker panics");
        }
    }
    Arc::new(Panics).into()
}

#[test]
fn an_end_can_be_dropped_if_both_wakers_of_the_other_panic() {
    let (near, mut far) = duplex(1);
    let waker = panicking_waker();
    assert!(poll_read(&mut far, &waker, 1).is_pending());
    assert!(poll_write(&mut far, &waker, &[b"x"]).is_ready());
    assert!(poll_write(&mut far, &waker, &[b"x"]).is_pending());
    drop(near);
    let Poll::Ready(Ok(bytes)) = poll_read(&mut far, &waker, 1) else {
        panic!("the stream has ended")
    };
    assert!(bytes.is_empty());
}

#[test]
fn a_panic_of_the_other_sides_waker_loses_no_byte() {
    fn check(mut reader: impl AsyncRead + Unpin, mut writer: impl AsyncWrite + Unpin) {
        let waker = panicking_waker();
        assert!(poll_read(&mut reader, &waker, 8).is_pending());
        for bytes in [b"1234", b"5678"] {
            let Poll::Ready(Ok(4)) = poll_write(&mut writer, &waker, &[bytes]) else {
                panic!("there is room for four bytes");
            };
            assert!(poll_write(&mut writer, &waker, &[b"9"]).is_pending());
            let Poll::Ready(Ok(read)) = poll_read(&mut reader, &waker, 8) else {
                panic!("there are bytes");
            };
            assert_eq!(read, bytes);
            assert!(poll_read(&mut reader, &waker, 8).is_pending());
        }
    }
    let (near, far) = duplex(4);
    check(near, far);
    let (reader, writer) = simplex(4);
    check(reader, writer);
}

#[test]
fn a_stream_can_be_formatted_into_itself() {
    struct IntoStream(DuplexStream);
    impl std::fmt::Write for IntoStream {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            assert!(poll_write(&mut self.0, Waker::noop(), &[text.as_bytes()]).is_ready());
            Ok(())
        }
    }
    must_end(|| {
        let (mut near, far) = duplex(1000);
        std::fmt::write(&mut IntoStream(far), format_args!("{near:?}")).unwrap();
        let Poll::Ready(Ok(text)) = poll_read(&mut near, Waker::noop(), 1000) else {
            panic!("nothing was written");
        };
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("DuplexStream"), "{text}");
        assert!(text.contains("len_max: 1000"), "{text}");
    });
    let pipe = SimplexStream::new_unsplit(7);
    assert!(format!("{pipe:?}").contains("len_max: 7"));
}

#[test]
fn a_waker_may_use_the_stream_while_it_is_cloned() {
    static FAR: Mutex<Option<DuplexStream>> = Mutex::new(None);
    let waker = waker_that_clones_by(&|| drop(FAR.lock().unwrap().take()));
    must_end(move || {
        let (mut near, far) = duplex(1);
        *FAR.lock().unwrap() = Some(far);
        // The other end is dropped while the waker is cloned.
        let Poll::Ready(Ok(read)) = poll_read(&mut near, &waker, 1) else {
            panic!("the stream has ended")
        };
        assert!(read.is_empty());

        let (mut near, far) = duplex(1);
        *FAR.lock().unwrap() = Some(far);
        assert!(poll_write(&mut near, &waker, &[b"x"]).is_ready());
        let Poll::Ready(Err(error)) = poll_write(&mut near, &waker, &[b"x"]) else {
            panic!("the reader is gone");
        };
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}
