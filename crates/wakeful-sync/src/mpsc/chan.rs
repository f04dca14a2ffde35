//! What senders and receiver share: the [queue](super::queue), who waits, and who is still there.
//!
//! A receiver that finds the next slot unclaimed leaves its waker, says that it waits for that slot, and is woken
//! by the sender that claims it. The last sender to go wakes it too, and in a closed channel whoever
//! gives the last permit back.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::task::{Context, Poll, Waker, ready};

use wakeful_base::sync::atomic::AtomicUsize;
use wakeful_base::{budget, call_now};

use super::capacity::{Capacity, Words};
use super::error::TryRecvError;
use super::queue::{Claimed, Queue};
use super::rx_waker::RxWaker;
use crate::acquire::{Enqueued, PermitSource};
use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::backoff::Backoff;
use crate::batch_semaphore::BatchSemaphore;
use crate::on_unwind::{OnUnwind, drop_all};
use crate::permit_queue::{PermitQueue, Waiter};

/// What a value in the channel costs.
pub(super) trait FlowControl {
    /// How many credits.
    const PRICE: u64;

    /// Counts `n` values as received.
    fn received(&self, words: Words<'_>, n: usize);

    /// Lets nobody send any more.
    fn close(&self, words: Words<'_>);

    /// Whether nothing is under way: no value in the channel, no permit to send one.
    fn is_idle(&self, words: Words<'_>) -> bool;
}

impl FlowControl for Capacity {
    const PRICE: u64 = 1;

    #[inline]
    fn received(&self, words: Words<'_>, n: usize) {
        self.received(words, n);
    }

    fn close(&self, words: Words<'_>) {
        self.close(words);
    }

    fn is_idle(&self, words: Words<'_>) -> bool {
        self.available(words) == self.bound()
    }
}

/// Values cost nothing.
pub(super) struct Unlimited;

impl FlowControl for Unlimited {
    const PRICE: u64 = 0;

    #[inline]
    fn received(&self, words: Words<'_>, n: usize) {
        words.received.add_unbounded(n);
    }

    fn close(&self, words: Words<'_>) {
        words.claims.close();
    }

    fn is_idle(&self, words: Words<'_>) -> bool {
        words.claims.load().in_flight(words.received.count()) == 0
    }
}

pub(super) struct Chan<T, F> {
    queue: Queue<T>,
    rx_waker: RxWaker,
    /// Closed together with the channel; nothing else ever happens to it.
    closed_signal: BatchSemaphore,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    flow: F,
}

// SAFETY: the channel owns values that other threads receive, hence `T: Send`; the queue's cells
// are touched by one thread at a time, which is the contract of the methods that do.
unsafe impl<T: Send, F: Send> Send for Chan<T, F> {}
// SAFETY: as above.
unsafe impl<T: Send, F: Sync> Sync for Chan<T, F> {}
impl<T, F> UnwindSafe for Chan<T, F> {}
impl<T, F> RefUnwindSafe for Chan<T, F> {}

impl<T, F: FlowControl> Chan<T, F> {
    /// An empty channel with one sender.
    pub(super) fn new(flow: F, credits: usize) -> Self {
        Chan {
            queue: Queue::new(credits),
            rx_waker: RxWaker::new(),
            closed_signal: BatchSemaphore::new(0),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            flow,
        }
    }

    #[inline]
    pub(super) fn words(&self) -> Words<'_> {
        Words { claims: self.queue.claims(), received: self.queue.received() }
    }

    /// A place for a value, if nothing speaks against it; [publish](Self::publish) comes next.
    #[inline]
    pub(super) fn claim(&self) -> Result<Claimed<T>, TryAcquireError> {
        self.queue.claim(F::PRICE, false)
    }

    /// Sends a value that has been paid for.
    #[inline]
    pub(super) fn send_paid(&self, value: T) {
        let Ok(slot) = self.queue.claim(0, true) else {
            unreachable!("what has been paid for can be claimed even in a closed channel")
        };
        self.publish(slot, value);
    }

    /// Sends `value`.
    #[inline]
    pub(super) fn publish(&self, slot: Claimed<T>, value: T) {
        if slot.publish(value) {
            self.rx_waker.wake();
        }
    }

    /// Whether no value will ever come after those already in the channel.
    fn is_finished(&self, rx_closed: bool) -> bool {
        self.senders.load(Acquire) == 0 || rx_closed && self.flow.is_idle(self.words())
    }

    /// Takes the next value if there is one, or leaves `waker` to be called when there is a value or none to come.
    ///
    /// # Safety
    /// Only the receiver.
    #[inline]
    unsafe fn pop_or_wait(&self, waker: &Waker) -> Poll<Option<T>> {
        // SAFETY: passed on to the caller.
        if let Some(value) = unsafe { self.queue.pop() } {
            return Poll::Ready(Some(value));
        }
        // SAFETY: passed on to the caller.
        unsafe { self.wait_for_value(waker) }
    }

    /// As [`pop_or_wait`](Self::pop_or_wait), where there was none; apart, so that most calls need not save what only
    /// this needs.
    ///
    /// # Safety
    /// Only the receiver.
    #[inline(never)]
    unsafe fn wait_for_value(&self, waker: &Waker) -> Poll<Option<T>> {
        let closed = self.queue.claims().load().is_closed();
        let mut backoff = Backoff::new();
        let (mut is_waiting, mut has_slept) = (false, false);
        loop {
            // In this order: whoever was there to send has sent by the time it is gone.
            let finished = self.is_finished(closed);
            // SAFETY: passed on to the caller.
            if let Some(value) = unsafe { self.queue.pop() } {
                return Poll::Ready(Some(value));
            }
            if finished {
                return Poll::Ready(None);
            }
            if has_slept {
                // The value's claimer has been put aside in the middle of sending it. It may take longer yet: other tasks are to have their turn.
                waker.wake_by_ref();
            }
            if is_waiting || has_slept {
                return Poll::Pending;
            }
            self.rx_waker.register(waker);
            // SAFETY: passed on to the caller.
            is_waiting = unsafe { self.queue.wait_for_claim() };
            has_slept = !is_waiting && backoff.pause();
        }
    }

    /// Receives a value.
    ///
    /// # Safety
    /// Only the receiver.
    #[inline]
    pub(super) unsafe fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let unit = ready!(budget::poll_proceed(cx));
        // SAFETY: passed on to the caller.
        let value = ready!(unsafe { self.pop_or_wait(cx.waker()) });
        if value.is_some() {
            self.flow.received(self.words(), 1);
        }
        unit.made_progress();
        Poll::Ready(value)
    }

    /// Receives up to `limit` values into `buffer`; 0 only if `limit` is, or if none will ever come.
    ///
    /// # Safety
    /// Only the receiver.
    pub(super) unsafe fn poll_recv_many(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        let unit = ready!(budget::poll_proceed(cx));
        let mut count = 0;
        while count < limit {
            // SAFETY: passed on to the caller.
            let value = match unsafe { self.queue.pop() } {
                Some(value) => value,
                None if count > 0 => break,
                // SAFETY: passed on to the caller.
                None => match ready!(unsafe { self.wait_for_value(cx.waker()) }) {
                    Some(value) => value,
                    None => break,
                },
            };
            buffer.push(value);
            count += 1;
        }
        if count > 0 {
            self.flow.received(self.words(), count);
        }
        unit.made_progress();
        Poll::Ready(count)
    }

    /// Receives a value if there is one. Waits for a sender that is in the middle of sending it.
    ///
    /// # Safety
    /// Only the receiver.
    pub(super) unsafe fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut backoff = Backoff::new();
        loop {
            let finished = self.is_finished(self.queue.claims().load().is_closed());
            // SAFETY: passed on to the caller.
            if let Some(value) = unsafe { self.queue.pop() } {
                self.flow.received(self.words(), 1);
                return Ok(value);
            }
            if finished {
                return Err(TryRecvError::Disconnected);
            }
            if self.len() == 0 {
                return Err(TryRecvError::Empty);
            }
            backoff.pause();
        }
    }

    /// Takes the next value of those that are left in a closed channel. Waits for a sender that is in the middle of sending it.
    ///
    /// # Safety
    /// Only the receiver.
    unsafe fn pop_remaining(&self) -> Option<T> {
        let mut backoff = Backoff::new();
        loop {
            // SAFETY: passed on to the caller.
            if let Some(value) = unsafe { self.queue.pop() } {
                self.flow.received(self.words(), 1);
                return Some(value);
            }
            if self.len() == 0 {
                return None;
            }
            backoff.pause();
        }
    }

    /// Takes and drops all values that are left.
    ///
    /// # Safety
    /// Only the receiver.
    unsafe fn drain(&self) {
        // SAFETY: passed on to the caller.
        drop_all(|| unsafe { self.pop_remaining() });
    }

    /// How many values have been or are being sent, and not been received.
    pub(super) fn len(&self) -> usize {
        self.queue.claims().load().in_flight(self.queue.received().count())
    }

    /// Lets nobody send any more, and tells all who wait for that.
    pub(super) fn close(&self) {
        if self.is_closed() {
            return;
        }
        let waker_panics = OnUnwind(|| self.closed_signal.close());
        self.flow.close(self.words());
        std::mem::forget(waker_panics);
        self.closed_signal.close();
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.queue.claims().load().is_closed()
    }

    /// Waits until the channel is closed.
    pub(super) async fn closed(&self) {
        let closed = self.closed_signal.acquire(1).await;
        debug_assert!(closed.is_err(), "nobody releases permits there");
    }

    /// Closes, and drops all that was left for the receiver: it goes.
    ///
    /// # Safety
    /// Only the receiver.
    pub(super) unsafe fn drop_receiver(&self) {
        // SAFETY: passed on to the caller.
        let waker_panics = OnUnwind(|| unsafe { self.drain() });
        self.close();
        drop(self.rx_waker.take());
        std::mem::forget(waker_panics);
        // SAFETY: as above.
        unsafe { self.drain() };
    }
}

impl<T> Chan<T, Capacity> {
    pub(super) fn capacity(&self) -> &Capacity {
        &self.flow
    }

    /// A place for a value that has just been paid for, unless the channel was closed meanwhile: who closes it waits for
    /// no more than what has a place.
    pub(super) fn claim_paid(&self) -> Result<Claimed<T>, TryAcquireError> {
        let claimed = self.queue.claim(0, false);
        if claimed.is_err() {
            self.release(1);
        }
        claimed
    }

    /// Tells the receiver of a closed channel that nothing is under way any more, if so. Contains the panic of its
    /// waker: the caller may hold a value that it is to return.
    fn after_release(&self) {
        if self.is_closed() && self.flow.is_idle(self.words()) {
            if let Some(waker) = self.rx_waker.take() {
                call_now(waker);
            }
        }
    }
}

impl<T> PermitSource for Chan<T, Capacity> {
    #[inline]
    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    #[inline]
    fn try_acquire(&self, n: usize) -> Result<(), TryAcquireError> {
        self.flow.try_acquire(self.words(), n)
    }

    #[inline]
    fn release(&self, n: usize) {
        self.flow.release(self.words(), n);
        self.after_release();
    }

    unsafe fn enqueue(
        &self,
        n: usize,
        waiter: NonNull<Waiter>,
        waker: &Waker,
    ) -> Result<Enqueued, AcquireError> {
        // SAFETY: passed on to the caller.
        unsafe { self.flow.enqueue(self.words(), n, waiter, waker) }
    }

    fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R {
        self.flow.with_queue(f)
    }

    unsafe fn leave(&self, n: usize, waiter: NonNull<Waiter>) {
        // SAFETY: passed on to the caller.
        unsafe { self.flow.leave(self.words(), n, waiter) };
        self.after_release();
    }
}

/// Who is still there.
impl<T, F> Chan<T, F> {
    pub(super) fn senders(&self) -> usize {
        self.senders.load(Acquire)
    }

    pub(super) fn weak_senders(&self) -> usize {
        self.weak_senders.load(Relaxed)
    }

    pub(super) fn add_sender(&self) {
        self.senders.fetch_add(1, Relaxed);
    }

    /// Adds a sender, if there is one left. True if it did.
    #[must_use]
    pub(super) fn try_add_sender(&self) -> bool {
        let add = |count| if count == 0 { None } else { Some(count + 1) };
        self.senders.fetch_update(AcqRel, Acquire, add).is_ok()
    }

    /// The last one tells the receiver.
    pub(super) fn remove_sender(&self) {
        if self.senders.fetch_sub(1, AcqRel) == 1 {
            self.rx_waker.wake();
        }
    }

    pub(super) fn add_weak_sender(&self) {
        self.weak_senders.fetch_add(1, Relaxed);
    }

    pub(super) fn remove_weak_sender(&self) {
        self.weak_senders.fetch_sub(1, Relaxed);
    }
}
