//! The future that waits for permits.
//!
//! ```text
//!   Start ──poll: permits at hand, and budget──▶ Done (holds nothing any more: the permits are the
//!     │                                           ▲    caller's)
//!     │ poll: too few permits, or no budget       │ poll: granted, and budget
//!     ▼                                           │
//!   Queued ───────────────────────────────────────┘
//!     │ drop, or closed: what has been dealt goes back
//!     ▼
//!   Done
//! ```
//!
//! Permits come first and the budget is paid after: a task that has used it up gets in line all the
//! same, and keeps what it was dealt until it is polled again.

use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

use wakeful_base::budget;

use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::permit_queue::{PermitQueue, Waiter};

/// What permits can be taken from, and waited for.
pub(crate) trait PermitSource {
    /// Whether no more permits are given out.
    fn is_closed(&self) -> bool;

    /// Takes `n` permits if they are at hand.
    fn try_acquire(&self, n: usize) -> Result<(), TryAcquireError>;

    /// Gives `n` permits back.
    fn release(&self, n: usize);

    /// Takes `n` permits, or leaves `waiter` in the queue with the permits there are.
    ///
    /// Does not panic once it has done either: the caller could not tell, and would give nothing back.
    ///
    /// # Safety
    /// `waiter` must be live, in no queue, and stay in place until it is granted or has
    /// [left](Self::leave).
    unsafe fn enqueue(
        &self,
        n: usize,
        waiter: NonNull<Waiter>,
        waker: &Waker,
    ) -> Result<Enqueued, AcquireError>;

    /// Runs `f` on the queue, under its lock.
    fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R;

    /// Takes `waiter` out of the queue and gives back what it was dealt of its `n` permits, which may call
    /// wakers. If one of these panics, the waiter has left nevertheless, and a second call does no harm.
    ///
    /// # Safety
    /// `waiter` must have been enqueued here, and be live.
    unsafe fn leave(&self, n: usize, waiter: NonNull<Waiter>);
}

/// How an attempt to wait went.
#[derive(Clone, Copy, PartialEq)]
#[must_use]
pub(crate) enum Enqueued {
    /// No need to: the permits are the caller's.
    Granted,
    /// The waker is going to be called.
    Waiting,
}

/// Resolves once `n` permits have been taken from `source`.
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquire<'a, S: PermitSource> {
    source: &'a S,
    n: usize,
    phase: Phase,
    waiter: Waiter,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Start,
    /// In the queue, or granted: a waiter that never was in the queue says it is.
    Queued,
    Done,
}

impl<'a, S: PermitSource> Acquire<'a, S> {
    #[inline]
    pub(crate) fn new(source: &'a S, n: usize) -> Self {
        Acquire { source, n, phase: Phase::Start, waiter: Waiter::new() }
    }

    /// Looks how a queued waiter is doing; if it still waits, `waker` is the one to be called.
    #[inline(never)]
    fn look(&self, waker: &Waker) -> Result<Enqueued, AcquireError> {
        // No user code under the lock: a new waker is cloned before, an old one dropped after.
        let mut new = None;
        loop {
            if self.source.is_closed() {
                // SAFETY: it was enqueued there, or granted without.
                unsafe { self.source.leave(self.n, NonNull::from(&self.waiter)) };
                return Err(AcquireError::closed());
            }
            if self.waiter.is_granted() {
                return Ok(Enqueued::Granted);
            }
            let (settled, _old) = self.source.with_queue(|queue| {
                if self.waiter.is_granted() || self.source.is_closed() {
                    return (None, new.take());
                }
                // SAFETY: enqueued there, neither granted nor closed: it is in this queue.
                unsafe {
                    let waiter = NonNull::from(&self.waiter);
                    match new.take() {
                        Some(new) => (Some(Enqueued::Waiting), queue.set_waker(waiter, new)),
                        None if queue.will_wake(waiter, waker) => (Some(Enqueued::Waiting), None),
                        None => (None, None),
                    }
                }
            });
            match settled {
                Some(outcome) => return Ok(outcome),
                None => new = Some(waker.clone()),
            }
        }
    }

    /// Takes the permits, or gets in line for them.
    #[inline]
    fn take_or_wait(&self, cx: &mut Context<'_>) -> Result<Enqueued, AcquireError> {
        let waiter = NonNull::from(&self.waiter);
        match self.phase {
            Phase::Start => match self.source.try_acquire(self.n) {
                Ok(()) => Ok(Enqueued::Granted),
                Err(TryAcquireError::Closed) => Err(AcquireError::closed()),
                // SAFETY: the future is pinned, as only `poll` calls this, and `drop` makes a queued
                // waiter leave.
                Err(TryAcquireError::NoPermits) => unsafe {
                    self.source.enqueue(self.n, waiter, cx.waker())
                },
            },
            Phase::Queued if self.waiter.is_granted() && !self.source.is_closed() => {
                Ok(Enqueued::Granted)
            }
            Phase::Queued => self.look(cx.waker()),
            Phase::Done => panic!("an `acquire` future was polled after it had completed"),
        }
    }
}

impl<S: PermitSource> Future for Acquire<'_, S> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of the borrow.
        let this = unsafe { self.get_unchecked_mut() };
        match this.take_or_wait(cx) {
            Ok(enqueued) => {
                // From here on the waiter is in the queue, or the permits are ours. The budget may call
                // a waker: should that panic, our drop gives back what we have.
                this.phase = Phase::Queued;
                if enqueued == Enqueued::Waiting {
                    return Poll::Pending;
                }
                ready!(budget::poll_proceed(cx)).made_progress();
                this.phase = Phase::Done;
                Poll::Ready(Ok(()))
            }
            Err(closed) => {
                this.phase = Phase::Done;
                Poll::Ready(Err(closed))
            }
        }
    }
}

impl<S: PermitSource> Drop for Acquire<'_, S> {
    #[inline]
    fn drop(&mut self) {
        if self.phase != Phase::Queued {
            return;
        }
        if self.waiter.is_granted() {
            self.source.release(self.n);
        } else {
            // SAFETY: it was enqueued there.
            unsafe { self.source.leave(self.n, NonNull::from(&self.waiter)) };
        }
    }
}
