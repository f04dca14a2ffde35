//! [`Acquire`]: the future that waits for permits.
//!
//! It takes permits from a [`PermitSource`], which is a `BatchSemaphore` or the capacity of a
//! bounded channel. The queue in which it waits is described in `permit_queue.rs`.
//!
//! ```text
//!   Start ──poll: enough permits and budget──▶ Done: the permits belong to the caller
//!     │                                         ▲
//!     │ poll: too few permits, or no budget     │ poll: granted, and budget
//!     ▼                                         │
//!   Queued ─────────────────────────────────────┘
//!     │ drop, or poll after close: the permits assigned so far are released
//!     ▼
//!   Done
//! ```
//!
//! A future that waits notes the kind of thing it waits for, which is its parameter `KIND`: a
//! [`WaitKind`] as a number. Those that take all permits of a lock are also named as its
//! holder (`holder.rs`).
//!
//! The future takes its permits first and consumes budget afterwards. A task without budget
//! therefore still gets its place in the queue, and keeps the permits assigned to it until it is
//! polled again.

use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use wakeful_base::budget;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::on_unwind::OnUnwind;
use wakeful_base::waiting::{WAIT_KINDS, WaitKind};

use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::holder::Claimant;
use crate::permit_queue::{PermitQueue, Waiter};

/// A set of permits that can be taken and waited for.
pub(crate) trait PermitSource {
    /// Returns whether the source has been closed and gives out no more permits.
    fn is_closed(&self) -> bool;

    /// Takes `n` permits if they are available now.
    fn try_acquire(&self, n: usize) -> Result<(), TryAcquireError>;

    /// Gives `n` permits back.
    fn release(&self, n: usize);

    /// Takes `n` permits, or takes those that are available and queues `waiter` for the rest.
    ///
    /// Must not panic after either: `Acquire` would not know that it has to give anything back.
    ///
    /// # Safety
    /// `waiter` must be live and in no queue, and must not move until it has been granted or has
    /// [left](Self::leave).
    unsafe fn enqueue(
        &self,
        n: usize,
        waiter: NonNull<Waiter>,
        waker: &Waker,
        claimant: Option<Claimant>,
    ) -> Result<Enqueued, AcquireError>;

    /// Returns the caller, to be named as the one that waits for all permits of a lock.
    fn claimant(&self) -> Option<Claimant> {
        None
    }

    /// Notes that the caller waits for `n` permits, with a waker that is registered.
    fn note_wait(&self, kind: WaitKind, n: usize, waker: &Waker);

    /// Notes that the caller has all permits of a lock, or, if not `collected`, that its future
    /// has them and waits for something else.
    fn note_holder(&self, _collected: bool) {}

    /// Calls `f` with the queue, under the queue's lock.
    fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R;

    /// Removes `waiter` from the queue and releases those of its `n` permits that were assigned to
    /// it.
    ///
    /// This unlinks `waiter` and can then wake other waiters. Even if one of their wakers panics,
    /// `waiter` has left, and a second call has no effect.
    ///
    /// # Safety
    /// `waiter` must be live. If it is in a queue, that queue must be this source's.
    unsafe fn leave(&self, n: usize, waiter: NonNull<Waiter>);
}

/// The outcome of [`PermitSource::enqueue`] and of a poll.
#[derive(Clone, Copy, PartialEq)]
#[must_use]
pub(crate) enum Enqueued {
    /// The permits belong to the caller.
    Granted,
    /// The waiter is queued, and its waker will be called.
    Waiting,
}

/// A future that resolves once `n` permits have been taken from `source`.
///
/// `KIND` is the [`WaitKind`] that it notes when it waits, as a number. If that is `Unknown`, the
/// caller notes what it waits for.
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquire<'a, S: PermitSource, const KIND: u8> {
    source: &'a S,
    n: usize,
    phase: Phase,
    waiter: Waiter,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Start,
    /// The waiter is queued or granted, or the permits were taken without queueing it. In the last
    /// case the waiter counts as granted as well, since a new waiter needs no permits.
    Queued,
    Done,
}

impl<'a, S: PermitSource, const KIND: u8> Acquire<'a, S, KIND> {
    const WAIT_KIND: WaitKind = WAIT_KINDS[KIND as usize];

    /// Its permits are all permits of a lock, so it becomes the lock's only holder.
    const IS_EXCLUSIVE: bool = matches!(Self::WAIT_KIND, WaitKind::Mutex | WaitKind::RwLockWrite);

    #[inline]
    pub(crate) fn new(source: &'a S, n: usize) -> Self {
        Acquire { source, n, phase: Phase::Start, waiter: Waiter::new() }
    }

    fn claimant(&self) -> Option<Claimant> {
        if Self::IS_EXCLUSIVE { self.source.claimant() } else { None }
    }

    /// Takes the waiter out of the queue, and releases the permits assigned to it.
    ///
    /// That may wake other waiters. If one of their wakers panics, this future is dropped during
    /// the unwinding, and with it the waiter's own waker.
    fn leave(&self) {
        // SAFETY: only the owner, which this future is, puts the waiter into a queue, and `leave`
        // below unlinks it before it wakes others.
        let waker_panics = OnUnwind(|| drop(unsafe { self.waiter.take_waker() }));
        // SAFETY: the waiter is live as part of `self`. It entered this source's queue, or none if
        // its permits were taken at once.
        unsafe { self.source.leave(self.n, NonNull::from(&self.waiter)) };
        std::mem::forget(waker_panics);
    }

    /// Polls a waiter that is past `Start`. If it still waits, stores `waker` in it.
    #[inline(never)]
    fn poll_queued(&self, waker: &Waker) -> Result<Enqueued, AcquireError> {
        // No user code may run under the lock. A new waker is cloned before the lock is taken, and
        // the old one is dropped after the lock is released.
        let mut new = None;
        loop {
            let is_closed = self.source.is_closed();
            if is_closed || self.waiter.is_granted() {
                // The clone, if any, was not needed. If its drop panicked, the caller would not get
                // its permits.
                contain_panic(|| drop(new.take()));
                if is_closed {
                    self.leave();
                    return Err(AcquireError::closed());
                }
                return Ok(Enqueued::Granted);
            }
            let (is_stored, old) = self.source.with_queue(|queue| {
                if self.waiter.is_granted() || self.source.is_closed() {
                    return (false, None);
                }
                // SAFETY: a waiter past `Start` that is neither granted nor closed is still in the
                // queue. Both were checked under the lock, and only a lock holder removes waiters.
                unsafe {
                    let waiter = NonNull::from(&self.waiter);
                    match new.take() {
                        Some(new) => (true, queue.set_waker(waiter, new, self.claimant())),
                        None => (queue.will_wake(waiter, waker), None),
                    }
                }
            });
            if is_stored {
                drop(old);
                return Ok(Enqueued::Waiting);
            }
            // If there is a clone already, the waiter was granted or the source closed meanwhile.
            if new.is_none() {
                new = Some(waker.clone());
            }
        }
    }

    /// Takes the permits or queues the waiter for them.
    #[inline]
    fn take_or_wait(&self, cx: &mut Context<'_>) -> Result<Enqueued, AcquireError> {
        let waiter = NonNull::from(&self.waiter);
        match self.phase {
            Phase::Start => match self.source.try_acquire(self.n) {
                Ok(()) => Ok(Enqueued::Granted),
                Err(TryAcquireError::Closed) => Err(AcquireError::closed()),
                // SAFETY: in `Start` the waiter is in no queue yet. It does not move, because only
                // `poll` calls this, on a pinned future. `drop` makes it leave.
                Err(TryAcquireError::NoPermits) => unsafe {
                    self.source.enqueue(self.n, waiter, cx.waker(), self.claimant())
                },
            },
            Phase::Queued if self.waiter.is_granted() && !self.source.is_closed() => {
                Ok(Enqueued::Granted)
            }
            Phase::Queued => self.poll_queued(cx.waker()),
            Phase::Done => panic!("an `acquire` future was polled after it had completed"),
        }
    }
}

impl<S: PermitSource, const KIND: u8> Future for Acquire<'_, S, KIND> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: no field is moved out of `this`.
        let this = unsafe { self.get_unchecked_mut() };
        match this.take_or_wait(cx) {
            Ok(enqueued) => {
                // From here on the waiter is queued or the permits are ours. Consuming budget may
                // call a waker. If that panics, `drop` sees `Queued` and gives everything back.
                this.phase = Phase::Queued;
                if enqueued == Enqueued::Waiting {
                    if !matches!(Self::WAIT_KIND, WaitKind::Unknown) {
                        this.source.note_wait(Self::WAIT_KIND, this.n, cx.waker());
                    }
                    return Poll::Pending;
                }
                let Poll::Ready(unit) = budget::poll_proceed(cx) else {
                    if Self::IS_EXCLUSIVE {
                        this.source.note_holder(false);
                    }
                    return Poll::Pending;
                };
                unit.made_progress();
                if Self::IS_EXCLUSIVE {
                    this.source.note_holder(true);
                }
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

impl<S: PermitSource, const KIND: u8> Drop for Acquire<'_, S, KIND> {
    #[inline]
    fn drop(&mut self) {
        if self.phase != Phase::Queued {
            return;
        }
        if self.waiter.is_granted() {
            self.source.release(self.n);
        } else {
            self.leave();
        }
    }
}
