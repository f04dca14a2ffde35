//! What the tests share: futures polled by hand, a thread's own executor, values that count.

#![allow(dead_code)]

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Counts its calls.
#[derive(Default)]
pub struct CountingWaker {
    calls: AtomicUsize,
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.calls.fetch_add(1, SeqCst);
    }
}

/// A future, polled when the test says so.
pub struct ByHand<F: Future> {
    future: Pin<Box<F>>,
    waker: Arc<CountingWaker>,
}

pub fn by_hand<F: Future>(future: F) -> ByHand<F> {
    ByHand { future: Box::pin(future), waker: Arc::default() }
}

impl<F: Future> ByHand<F> {
    pub fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(self.waker.clone());
        self.poll_with(&waker)
    }

    pub fn poll_with(&mut self, waker: &Waker) -> Poll<F::Output> {
        self.future.as_mut().poll(&mut Context::from_waker(waker))
    }

    #[track_caller]
    pub fn assert_pending(&mut self) {
        assert!(self.poll().is_pending(), "the future should still wait");
    }

    #[track_caller]
    pub fn assert_ready(&mut self) -> F::Output {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("the future should be ready"),
        }
    }

    /// How often the future was woken in all.
    pub fn wakes(&self) -> usize {
        self.waker.calls.load(SeqCst)
    }

    pub fn into_inner(self) -> Pin<Box<F>> {
        self.future
    }

    pub fn pinned(&mut self) -> Pin<&mut F> {
        self.future.as_mut()
    }
}

/// Panics when called.
pub struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("this waker panics");
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Counts how many of it are alive.
#[derive(Debug)]
pub struct Counted {
    alive: Arc<AtomicIsize>,
    pub id: usize,
}

impl Counted {
    pub fn new(alive: &Arc<AtomicIsize>, id: usize) -> Self {
        alive.fetch_add(1, SeqCst);
        Counted { alive: alive.clone(), id }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Counted::new(&self.alive, self.id)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, SeqCst);
    }
}

pub fn alive() -> Arc<AtomicIsize> {
    Arc::default()
}

#[track_caller]
pub fn assert_none_alive(alive: &AtomicIsize) {
    assert_eq!(alive.load(SeqCst), 0, "each value is dropped once");
}

/// When a stress test should end.
pub fn stress_deadline() -> Instant {
    let seconds = std::env::var("WAKEFUL_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(1.0))
}

/// A small random number generator (xorshift), so that a failure can be repeated from its seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}
