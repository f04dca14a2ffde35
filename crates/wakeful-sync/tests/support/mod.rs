//! What the tests share: futures polled by hand, values that count, how long to stress.

#![allow(dead_code)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A future that is polled when the test says so, with a waker that counts.
pub struct Manual<F> {
    future: Pin<Box<F>>,
    wakes: Arc<WakeCount>,
}

pub fn manual<F: Future>(future: F) -> Manual<F> {
    Manual { future: Box::pin(future), wakes: Arc::default() }
}

impl<F: Future> Manual<F> {
    pub fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(self.wakes.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    pub fn poll_with(&mut self, waker: &Waker) -> Poll<F::Output> {
        self.future.as_mut().poll(&mut Context::from_waker(waker))
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
        self.wakes.0.load(SeqCst)
    }

    pub fn is_woken(&self) -> bool {
        self.wakes() > 0
    }
}

/// A waker that panics when called.
pub fn panicking_waker() -> Waker {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker panics");
        }
    }
    Arc::new(Panics).into()
}

/// Counts values that are alive; each made by [`value`](Self::value) must be dropped once.
#[derive(Clone, Default)]
pub struct Alive(Arc<AtomicUsize>);

pub struct Counted {
    pub number: usize,
    alive: Arc<AtomicUsize>,
    // A second drop of the same value would be a double free of this.
    _own: Box<u8>,
}

impl Alive {
    pub fn value(&self, number: usize) -> Counted {
        self.0.fetch_add(1, SeqCst);
        Counted { number, alive: self.0.clone(), _own: Box::new(0) }
    }

    pub fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_ne!(self.alive.fetch_sub(1, SeqCst), 0, "more values dropped than made");
    }
}

/// Runs `round` again and again: about a second, or as long as `WAKEFUL_STRESS_SECONDS` says.
pub fn stress(mut round: impl FnMut(u64)) {
    let seconds = std::env::var("WAKEFUL_STRESS_SECONDS").ok().and_then(|s| s.parse().ok());
    let end = Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(1.0));
    let mut number = 0;
    while Instant::now() < end {
        round(number);
        number += 1;
    }
}

/// A small generator of pseudo-random numbers: the same seed gives the same run.
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
