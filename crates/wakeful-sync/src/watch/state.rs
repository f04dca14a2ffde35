//! The state that the ends of a watch channel share, and the future of `changed`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use wakeful_base::sync::RwLock;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wakeful_base::waiting::{LeafDetails, WaitKind, address, note_with};

use super::error::RecvError;
use crate::Notify;
use crate::wait_queue::{LockedLine, Round, WaitQueue, Waiter, Word};

pub(super) struct WatchState<T> {
    pub(super) value: RwLock<T>,
    /// The round is the version of the value; the flag says that all senders are dropped. A new
    /// round starts only under the value's write lock, so while the read lock is held, the version
    /// belongs to the value.
    queue: WaitQueue,
    pub(super) receivers: AtomicUsize,
    pub(super) senders: AtomicUsize,
    /// Notified when the last receiver is dropped.
    pub(super) no_receivers: Notify,
}

impl<T> WatchState<T> {
    /// Creates the state of a channel with one sender and one receiver.
    pub(super) fn new(init: T) -> Self {
        WatchState {
            value: RwLock::new(init),
            queue: WaitQueue::new(Word::new(false)),
            receivers: AtomicUsize::new(1),
            senders: AtomicUsize::new(1),
            no_receivers: Notify::new(),
        }
    }

    #[inline]
    pub(super) fn version(&self) -> Round {
        self.queue.load().round()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queue.load().flag()
    }

    /// Starts a new version. The caller must hold the value's write lock, and must drop it before
    /// it wakes the waiters in the returned line.
    #[inline]
    #[must_use = "waiting receivers must be woken"]
    pub(super) fn next_version(&self) -> Option<LockedLine<'_>> {
        self.queue.update(Word::in_next_round)
    }

    /// Closes the channel, because all senders are dropped.
    pub(super) fn close(&self) {
        if let Some(line) = self.queue.update(|word| word.with_flag(true)) {
            line.release_stale();
        }
    }
}

impl<T> WatchState<T> {
    /// Notes that the caller waits for a value, or for the end of all receivers.
    #[inline]
    pub(super) fn note_wait(&self, kind: WaitKind, waker: &Waker) {
        note_with(kind, address(self), waker, || LeafDetails {
            senders: Some(self.senders.load(Relaxed) as u64),
            receivers: Some(self.receivers.load(Relaxed) as u64),
            ..LeafDetails::default()
        });
    }
}

impl<T: fmt::Debug> fmt::Debug for WatchState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("value", &self.value)
            .field("version", &self.version())
            .field("is_closed", &self.is_closed())
            .field("ref_count_rx", &self.receivers.load(Relaxed))
            .finish()
    }
}

/// A future that waits until the version differs from `seen`, and then updates `seen`.
pub(super) struct Changed<'a, T> {
    state: &'a WatchState<T>,
    seen: &'a mut Round,
    waiter: Waiter,
}

impl<'a, T> Changed<'a, T> {
    pub(super) fn new(state: &'a WatchState<T>, seen: &'a mut Round) -> Self {
        Changed { state, seen, waiter: Waiter::new() }
    }
}

impl<T> Future for Changed<'_, T> {
    type Output = Result<(), RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `waiter` is structurally pinned: it is never moved out of `this`, and is used
        // only as a pinned reference. The other fields are `Unpin`.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: `this` came from a `Pin`, and `waiter` is structurally pinned.
        let waiter = unsafe { Pin::new_unchecked(&this.waiter) };
        // SAFETY: the waiter enters only this queue, and leaves it in `drop`. The queue outlives
        // `self`, which borrows the state.
        let over = unsafe { this.state.queue.poll_over(*this.seen, waiter, cx.waker()) };
        let Poll::Ready(word) = over else {
            this.state.note_wait(WaitKind::Watch, cx.waker());
            return Poll::Pending;
        };
        if word.round() == *this.seen {
            return Poll::Ready(Err(RecvError(())));
        }
        *this.seen = word.round();
        Poll::Ready(Ok(()))
    }
}

impl<T> Drop for Changed<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a waiter that has entered a queue was pinned in `poll`, and stays pinned until it
        // is dropped. Other threads do not access a waiter that has not entered any queue.
        let waiter = unsafe { Pin::new_unchecked(&self.waiter) };
        // SAFETY: this is the only queue that the waiter ever entered.
        unsafe { self.state.queue.leave(waiter) };
    }
}
