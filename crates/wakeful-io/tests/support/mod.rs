//! Helpers of the tests: polling futures by hand, and readers and writers that follow a script.

// Each test file uses only some of the helpers.
#![allow(dead_code)]

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;

use wakeful_base::FastRng;
use wakeful_io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

/// Counts how often it was woken.
#[derive(Default)]
pub struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl WakeCount {
    pub fn new() -> (Arc<WakeCount>, Waker) {
        let count = Arc::new(WakeCount::default());
        (count.clone(), count.into())
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A waker that does nothing but call `on_clone` when it is cloned.
pub fn waker_that_clones_by<F: Fn() + Send + Sync>(on_clone: &'static F) -> Waker {
    fn vtable<F: Fn()>() -> &'static RawWakerVTable {
        &const {
            RawWakerVTable::new(
                |data| {
                    // SAFETY: `data` is a `&'static F`, see the `RawWaker` below.
                    unsafe { (*data.cast::<F>())() };
                    RawWaker::new(data, vtable::<F>())
                },
                |_| (),
                |_| (),
                |_| (),
            )
        }
    }

    let raw = RawWaker::new(std::ptr::from_ref(on_clone).cast(), vtable::<F>());
    // SAFETY: the functions of a waker must be thread safe and its data valid for all clones. `F`
    // is `Sync`, and the data is `'static`, so nothing needs to be counted or freed.
    unsafe { Waker::from_raw(raw) }
}

/// Polls the future until it completes. Panics if it returns `Pending` without waking the task.
pub fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let (count, waker) = WakeCount::new();
    loop {
        let before = count.get();
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        assert!(count.get() > before, "the future returned Pending without waking the task");
    }
}

/// Polls a future once, with a waker that does nothing.
pub fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Calls `poll_read` once, and returns the bytes read.
pub fn poll_read<R: AsyncRead + Unpin>(
    reader: &mut R,
    waker: &Waker,
    len: usize,
) -> Poll<io::Result<Vec<u8>>> {
    let mut memory = vec![0; len];
    let mut buf = ReadBuf::new(&mut memory);
    let result = Pin::new(reader).poll_read(&mut Context::from_waker(waker), &mut buf);
    result.map_ok(|()| buf.filled().to_vec())
}

/// Returns the message of the panic that `f` ends with.
pub fn panic_text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("expected a panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => {
            payload.downcast_ref::<&str>().expect("a panic message is a string").to_string()
        }
    }
}

/// Runs `test` on another thread, and panics if it panics or has not ended after ten seconds.
#[track_caller]
pub fn must_end(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _done: std::sync::mpsc::Sender<()> = done;
        test();
    });
    let limit = Duration::from_secs(10);
    if is_done.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("the test hangs: it has not ended after {limit:?}");
    }
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}

/// What a scripted reader or writer does in one call.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Transfers at most this many bytes.
    Chunk(usize),
    /// Returns `Pending` and wakes the task immediately.
    Pending,
    /// Fails.
    Error(ErrorKind),
}

/// The probabilities of random steps, in percent.
#[derive(Clone, Copy)]
pub struct Odds {
    pub pending: u32,
    pub interrupted: u32,
    pub failed: u32,
}

/// Returns random steps. `failed` steps are errors that are not retried, unlike `interrupted`.
pub fn random_steps(rng: &FastRng, count: usize, chunk_max: u32, odds: Odds) -> Vec<Step> {
    let step = |_| match rng.below(100) {
        n if n < odds.pending => Step::Pending,
        n if n < odds.pending + odds.interrupted => Step::Error(ErrorKind::Interrupted),
        n if n < odds.pending + odds.interrupted + odds.failed => Step::Error(ErrorKind::TimedOut),
        _ => Step::Chunk(1 + rng.below(chunk_max) as usize),
    };
    (0..count).map(step).collect()
}

/// Returns random bytes with the given percentages of line feeds and of invalid UTF-8.
pub fn random_bytes(rng: &FastRng, len: usize, line_feeds: u32, invalid: u32) -> Vec<u8> {
    let byte = |_| match rng.below(100) {
        n if n < line_feeds => b'\n',
        n if n < line_feeds + invalid => 0xff,
        n if n < line_feeds + invalid + 3 => b'\r',
        _ => b'a' + rng.below(26) as u8,
    };
    (0..len).map(byte).collect()
}

/// An in-memory stream that follows a script. After the last step, each call transfers everything.
///
/// Through std's traits, which cannot wait, `Pending` steps are skipped.
#[derive(Debug)]
pub struct Scripted<T> {
    pub inner: T,
    pub steps: VecDeque<Step>,
    pub flushes: usize,
    pub shutdowns: usize,
    pub vectored: bool,
    pub largest_write: usize,
}

impl<T> Scripted<T> {
    pub fn new(inner: T, steps: impl IntoIterator<Item = Step>) -> Self {
        let steps = steps.into_iter().collect();
        Scripted { inner, steps, flushes: 0, shutdowns: 0, vectored: false, largest_write: 0 }
    }

    /// Performs the next step, and returns how many bytes the call may transfer.
    fn poll_step(&mut self, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        match self.steps.pop_front() {
            None => Poll::Ready(Ok(usize::MAX)),
            Some(Step::Chunk(n)) => Poll::Ready(Ok(n)),
            Some(Step::Error(kind)) => Poll::Ready(Err(kind.into())),
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn step(&mut self) -> io::Result<usize> {
        loop {
            if let Poll::Ready(n) = self.poll_step(&Context::from_waker(Waker::noop())) {
                return n;
            }
        }
    }
}

impl<T: io::Read + Unpin> AsyncRead for Scripted<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n = std::task::ready!(self.poll_step(cx))?.min(buf.remaining());
        let n = self.inner.read(buf.initialize_unfilled_to(n))?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<T: io::Write + Unpin> AsyncWrite for Scripted<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let n = std::task::ready!(self.poll_step(cx))?.min(buf.len());
        self.largest_write = self.largest_write.max(n);
        Poll::Ready(self.inner.write(&buf[..n]))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.vectored {
            let all: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
            return self.poll_write(cx, &all);
        }
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| buf))
    }

    fn is_write_vectored(&self) -> bool {
        self.vectored
    }

    fn poll_flush(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flushes += 1;
        Poll::Ready(self.inner.flush())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shutdowns += 1;
        Poll::Ready(Ok(()))
    }
}

impl<T: io::Seek + Unpin> AsyncSeek for Scripted<T> {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.inner.seek(position).map(drop)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        // Seeks consume only `Pending` steps, so that the other steps are left for reads.
        if let Some(Step::Pending) = self.steps.front() {
            self.steps.pop_front();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.inner.stream_position())
    }
}

impl<T: io::Read> io::Read for Scripted<T> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.step()?.min(buf.len());
        self.inner.read(&mut buf[..n])
    }
}

impl<T: io::Write> io::Write for Scripted<T> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.step()?.min(buf.len());
        self.inner.write(&buf[..n])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes += 1;
        self.inner.flush()
    }
}

impl<T: io::Seek> io::Seek for Scripted<T> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}
