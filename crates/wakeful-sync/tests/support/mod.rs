//! Helpers of the tests: futures polled by hand, wakers and values that count, limits for stress
//! tests.

#![allow(dead_code)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::{Duration, Instant};
use wakeful_base::waiting::{self, Asking, Leaf, WaitSlot};

/// A source of wakers that counts their calls.
#[derive(Clone, Default)]
pub struct WakeCount(Arc<Counter>);

#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl WakeCount {
    pub fn waker(&self) -> Waker {
        self.0.clone().into()
    }

    pub fn count(&self) -> usize {
        self.0.0.load(SeqCst)
    }
}

/// A future that is polled only when the test says so, with a waker that counts.
pub struct Manual<F> {
    future: Pin<Box<F>>,
    wakes: WakeCount,
}

pub fn manual<F: Future>(future: F) -> Manual<F> {
    Manual { future: Box::pin(future), wakes: WakeCount::default() }
}

impl<F: Future> Manual<F> {
    pub fn poll(&mut self) -> Poll<F::Output> {
        self.poll_with(&self.wakes.waker())
    }

    pub fn poll_with(&mut self, waker: &Waker) -> Poll<F::Output> {
        self.future.as_mut().poll(&mut Context::from_waker(waker))
    }

    /// Polls as the task with this id, which is asked what it waits for.
    pub fn poll_asked(&mut self, id: u64) -> (Poll<F::Output>, Vec<Leaf>) {
        let (slot, waker) = (WaitSlot::new(id), self.wakes.waker());
        let _asking = Asking::begin();
        // SAFETY: the slot outlives the guard and is in no queue.
        let _current = unsafe { waiting::enter(&raw const slot) };
        let (polled, collected) = waiting::collect(&slot, &waker, || self.poll_with(&waker));
        if let Some(last) = collected.leaves.last() {
            let noted = slot.waits().expect("the slot is in no queue");
            assert_eq!((noted.kind, noted.detail), (last.kind, last.detail));
        }
        assert!(collected.leaves.iter().all(|leaf| leaf.has_own_waker));
        (polled, collected.leaves)
    }

    /// Polls as the task with this id, and returns the only leaf that it waits for.
    #[track_caller]
    pub fn leaf(&mut self, id: u64) -> Leaf {
        let (polled, leaves) = self.poll_asked(id);
        assert!(polled.is_pending(), "the future should wait");
        assert_eq!(leaves.len(), 1, "{leaves:?}");
        leaves.into_iter().next().unwrap()
    }

    #[track_caller]
    pub fn ready(&mut self) -> F::Output {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("the future should be ready"),
        }
    }

    #[track_caller]
    pub fn pending(&mut self) {
        assert!(self.poll().is_pending(), "the future should have to wait");
    }

    pub fn wakes(&self) -> usize {
        self.wakes.count()
    }

    pub fn is_woken(&self) -> bool {
        self.wakes() > 0
    }

    pub fn pinned(&mut self) -> Pin<&mut F> {
        self.future.as_mut()
    }

    pub fn into_inner(self) -> Pin<Box<F>> {
        self.future
    }
}

/// A waker that panics when called.
pub struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("a waker panics");
    }
}

pub fn panicking_waker() -> Waker {
    Arc::new(PanickingWaker).into()
}

/// Polls many futures once, every 20th with a waker that panics, and calls `release`, which has to
/// wake them all. It runs on a thread with a small stack, to catch recursion. Returns the futures.
pub fn release_many_that_panic<F: Future + Send>(
    futures: impl Iterator<Item = F>,
    release: impl FnOnce() + Send,
) -> Vec<Manual<F>> {
    struct PanicsSilently;
    impl Wake for PanicsSilently {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("this many messages take long to print"));
        }
    }
    let panics = Waker::from(Arc::new(PanicsSilently));
    let mut waiting: Vec<_> = futures.map(manual).collect();
    for (i, waiter) in waiting.iter_mut().enumerate() {
        if i % 20 == 0 {
            assert!(waiter.poll_with(&panics).is_pending());
        } else {
            waiter.pending();
        }
    }
    std::thread::scope(|scope| {
        let small = std::thread::Builder::new().stack_size(64 << 10);
        // Whether the panic continues out of `release` is checked by other tests.
        let _ = small.spawn_scoped(scope, release).unwrap().join();
    });
    assert!(waiting.iter().enumerate().all(|(i, waiter)| waiter.is_woken() || i % 20 == 0));
    waiting
}

/// A waker whose drop panics, unless the thread is panicking already.
pub struct PanicsOnDrop;

impl Wake for PanicsOnDrop {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the drop of a waker panics");
        }
    }
}

pub fn waker_that_panics_on_drop() -> Waker {
    Arc::new(PanicsOnDrop).into()
}

/// Returns a waker that calls `on_clone` when it is cloned, and whose clones panic when they are
/// dropped.
pub fn waker_with_hostile_clones<F: Fn() + Send + Sync>(on_clone: &'static F) -> Waker {
    fn vtable<F: Fn()>() -> &'static RawWakerVTable {
        &const {
            RawWakerVTable::new(
                |data| {
                    // SAFETY: `data` was made from a `&'static F` below.
                    unsafe { (*data.cast::<F>())() };
                    RawWaker::new(data, &PANICS_ON_DROP)
                },
                |_| (),
                |_| (),
                |_| (),
            )
        }
    }

    static PANICS_ON_DROP: RawWakerVTable =
        RawWakerVTable::new(|data| RawWaker::new(data, &PANICS_ON_DROP), drop, |_| (), drop);

    fn drop(_: *const ()) {
        if !std::thread::panicking() {
            panic!("the drop of a waker panics");
        }
    }

    let raw = RawWaker::new(std::ptr::from_ref(on_clone).cast(), vtable::<F>());
    // SAFETY: `F` is `Sync` and the reference `'static`, so the data may be used on any thread at
    // any time. The vtable's functions release nothing.
    unsafe { Waker::from_raw(raw) }
}

/// Counts live values. Each value made by [`value`](Self::value) must be dropped exactly once.
#[derive(Clone, Debug, Default)]
pub struct Alive(Arc<AtomicUsize>);

#[derive(Debug)]
pub struct Counted {
    pub number: usize,
    alive: Alive,
    // Makes a second drop of the same value a double free, which sanitizers and Miri report.
    _own: Box<u8>,
}

impl Alive {
    pub fn value(&self, number: usize) -> Counted {
        self.0.fetch_add(1, SeqCst);
        Counted { number, alive: self.clone(), _own: Box::new(0) }
    }

    pub fn count(&self) -> usize {
        self.0.load(SeqCst)
    }

    #[track_caller]
    pub fn assert_none(&self) {
        assert_eq!(self.count(), 0, "each value is dropped once");
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.alive.value(self.number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_ne!(self.alive.0.fetch_sub(1, SeqCst), 0, "more values dropped than made");
    }
}

/// A value whose drop panics if the second field is true.
#[derive(Clone)]
pub struct PanicsWhenDropped(pub Counted, pub bool);

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        assert!(!self.1, "the drop of a value panics");
    }
}

/// Runs `test` on its own thread and passes a panic on. Panics if it has not ended after ten
/// seconds.
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

/// Returns when a stress test should end: after a second, or after `WAKEFUL_STRESS_SECONDS`.
pub fn stress_deadline() -> Instant {
    let seconds = std::env::var("WAKEFUL_STRESS_SECONDS").ok().and_then(|s| s.parse().ok());
    Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(1.0))
}

/// Repeats `round` until the deadline.
pub fn stress(mut round: impl FnMut(u64)) {
    let end = stress_deadline();
    let mut number = 0;
    while Instant::now() < end {
        round(number);
        number += 1;
    }
}

/// A small pseudo-random generator. The same seed gives the same numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }
}
