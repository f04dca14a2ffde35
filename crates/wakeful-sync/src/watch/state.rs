//! What both ends of a watch channel share.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::sync::RwLock;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::error::RecvError;
use crate::Notify;
use crate::wait_queue::{LockedLine, Round, WaitQueue, Waiter, Word};

pub(super) struct WatchState<T> {
    pub(super) value: RwLock<T>,
    /// The round is the value's version, the flag says that all senders are gone. A round starts under
    /// the value's write lock, so under its read lock the version is that of the value.
    queue: WaitQueue,
    pub(super) receivers: AtomicUsize,
    pub(super) senders: AtomicUsize,
    /// Called when the last receiver is gone.
    pub(super) no_receivers: Notify,
}

impl<T> WatchState<T> {
    /// For one sender and one receiver.
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

    /// Says that the value is another. The value's write lock must be held; who waits is to be told
    /// without it.
    #[inline]
    #[must_use = "receivers must be told"]
    pub(super) fn next_version(&self) -> Option<LockedLine<'_>> {
        self.queue.update(Word::in_next_round)
    }

    /// Says that all senders are gone.
    pub(super) fn close(&self) {
        if let Some(line) = self.queue.update(|word| word.with_flag(true)) {
            line.release_stale();
        }
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

/// Waits until the version is another than `seen`, which it then is set to.
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
        // SAFETY: `waiter` stays where it is; it is handed on only as a pinned reference.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: `this` came out of a `Pin`.
        let waiter = unsafe { Pin::new_unchecked(&this.waiter) };
        // SAFETY: `drop` makes the waiter leave this queue.
        let over = unsafe { this.state.queue.poll_over(*this.seen, waiter, cx.waker()) };
        let word = ready!(over);
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
        // SAFETY: a waiter that has entered a line was pinned, and stays so until it is dropped.
        let waiter = unsafe { Pin::new_unchecked(&self.waiter) };
        // SAFETY: this is the only queue it ever entered.
        unsafe { self.state.queue.leave(waiter) };
    }
}
