//! Futures that are polled by hand with hostile wakers, and dropped at random.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use wakeful_torture::rng::Rng;

use crate::wakers;
use crate::world::{attempt, discard};

/// How many futures may wait. Beyond it the oldest is dropped.
const WAITING_MAX: usize = 24;

/// How many wakers are kept for more polls.
const WAKERS: usize = 3;

#[derive(Default)]
pub struct Pool {
    waiting: Vec<Waiting>,
    wakers: Vec<Waker>,
}

type BoxedFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Waiting {
    future: BoxedFuture,
    /// May be polled again after a panic. An async block must not be.
    survives: bool,
}

impl Pool {
    /// Adds an async block. It is dropped after a panic.
    pub fn add(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        self.push(Box::pin(future), false);
    }

    /// Adds one of the runtime's own futures. It is polled again after a panic.
    pub fn add_direct<F>(&mut self, future: F)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.push(Box::pin(Direct { future: Box::pin(future), done: false }), true);
    }

    fn push(&mut self, future: BoxedFuture, survives: bool) {
        if self.waiting.len() >= WAITING_MAX {
            discard(self.waiting.remove(0));
        }
        self.waiting.push(Waiting { future, survives });
    }

    /// Polls a future, drops a future or a waker, or wakes a waker.
    pub fn step(&mut self, rng: &mut Rng) {
        match rng.below(12) {
            0 if !self.waiting.is_empty() => {
                let at = rng.below(self.waiting.len());
                discard(self.waiting.swap_remove(at));
            }
            1 if !self.wakers.is_empty() => {
                let at = rng.below(self.wakers.len());
                discard(self.wakers.swap_remove(at));
            }
            2 if !self.wakers.is_empty() => {
                let at = rng.below(self.wakers.len());
                attempt(|| self.wakers[at].wake_by_ref());
            }
            _ => self.poll(rng),
        }
    }

    fn poll(&mut self, rng: &mut Rng) {
        if self.waiting.is_empty() {
            return;
        }
        let at = rng.below(self.waiting.len());
        let waker = match rng.below(WAKERS + 2) {
            0 => Waker::noop().clone(),
            kept if kept <= self.wakers.len() => match attempt(|| self.wakers[kept - 1].clone()) {
                Some(waker) => waker,
                None => return,
            },
            _ => wakers::hostile(),
        };
        let waiting = &mut self.waiting[at];
        let outcome = attempt(|| waiting.future.as_mut().poll(&mut Context::from_waker(&waker)));
        let ended = match outcome {
            Some(Poll::Ready(())) => true,
            Some(Poll::Pending) => false,
            None => !waiting.survives,
        };
        if ended {
            discard(self.waiting.swap_remove(at));
        }
        if self.wakers.len() < WAKERS {
            self.wakers.push(waker);
        } else {
            discard(waker);
        }
    }

    /// Drops all futures and wakers.
    pub fn clear(&mut self) {
        while let Some(waiting) = self.waiting.pop() {
            discard(waiting);
        }
        while let Some(waker) = self.wakers.pop() {
            discard(waker);
        }
    }
}

/// Mischief creates pools as local variables. Their futures are dropped with panics caught, too.
impl Drop for Pool {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Drops the output of a future, and is ready even if that panics.
struct Direct<F> {
    future: Pin<Box<F>>,
    done: bool,
}

impl<F: Future> Future for Direct<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.done {
            match self.future.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(output) => {
                    self.done = true;
                    discard(output);
                }
            }
        }
        Poll::Ready(())
    }
}
