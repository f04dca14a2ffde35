//! The state that senders and receiver share: the [queue](super::queue), the waiters, and the
//! number of senders.
//!
//! A receiver that finds the next slot unclaimed registers its waker and marks the claim word as
//! awaited. The sender that claims the slot wakes it. The last sender to be dropped wakes it too,
//! and in a closed channel the thread that returns the last permit.

use std::future::{Future, poll_fn};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::task::{Context, Poll, Waker, ready};

use wakeful_base::on_unwind::{OnUnwind, drop_all};
use wakeful_base::sync::atomic::AtomicUsize;
use wakeful_base::waiting::{LeafDetails, WaitKind, address, note_with};
use wakeful_base::{budget, call_now};

use super::capacity::{Capacity, Words};
use super::error::TryRecvError;
use super::queue::{Claimed, Queue};
use super::rx_waker::RxWaker;
use crate::acquire::{Enqueued, PermitSource};
use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::backoff::Backoff;
use crate::batch_semaphore::{BatchSemaphore, COUNTED_WAITERS_MAX};
use crate::holder::{Claimant, NotTracked};
use crate::permit_queue::{PermitQueue, Waiter};

/// How the capacity of a channel is accounted for: [`Capacity`] in a bounded channel, [`Unlimited`]
/// in an unbounded one.
pub(super) trait FlowControl {
    /// How many credits a value costs.
    const PRICE: u64;

    /// Counts `n` values as received, which frees their room.
    fn received(&self, words: Words<'_>, n: usize);

    /// Refuses further values, and wakes the senders that wait for room.
    fn close(&self, words: Words<'_>);

    /// Returns whether there is no value in the channel and no permit to send one.
    fn is_idle(&self, words: Words<'_>) -> bool;

    /// Returns the capacity, if there is a limit.
    fn limit(&self) -> Option<u64>;
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

    fn limit(&self) -> Option<u64> {
        Some(self.bound() as u64)
    }
}

/// The flow control of an unbounded channel: values cost no credits.
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

    fn limit(&self) -> Option<u64> {
        None
    }
}

pub(super) struct Chan<T, F> {
    queue: Queue<T>,
    rx_waker: RxWaker,
    /// A semaphore without permits, which is closed together with the channel. `closed` waits for
    /// that.
    closed_signal: BatchSemaphore,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    flow: F,
}

// SAFETY: values of type `T` are sent by one thread and received by another, hence `T: Send`. The
// queue's cells are not synchronized, but only its receiver methods touch them. Those are `unsafe`,
// and their contract is that one receiver calls them, one call at a time.
unsafe impl<T: Send, F: Send> Send for Chan<T, F> {}
// SAFETY: as for `Send`; `F` is shared, hence `F: Sync`.
unsafe impl<T: Send, F: Sync> Sync for Chan<T, F> {}
impl<T, F> UnwindSafe for Chan<T, F> {}
impl<T, F> RefUnwindSafe for Chan<T, F> {}

impl<T, F: FlowControl> Chan<T, F> {
    /// Creates an empty channel with one sender.
    pub(super) fn new(flow: F, credits: usize) -> Self {
        Chan {
            queue: Queue::new(credits),
            rx_waker: RxWaker::new(),
            closed_signal: BatchSemaphore::new(0, NotTracked),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            flow,
        }
    }

    #[inline]
    pub(super) fn words(&self) -> Words<'_> {
        Words { claims: self.queue.claims(), received: self.queue.received() }
    }

    /// Claims a slot, if the channel is open and has room. [`publish`](Self::publish) must follow.
    #[inline]
    pub(super) fn claim(&self) -> Result<Claimed<T>, TryAcquireError> {
        self.queue.claim(F::PRICE, false)
    }

    /// Sends a value with a permit that the caller holds, even if the channel has been closed.
    #[inline]
    pub(super) fn send_paid(&self, value: T) {
        let Ok(slot) = self.queue.claim(0, true) else {
            unreachable!("a reserved slot can be claimed even in a closed channel")
        };
        self.publish(slot, value);
    }

    /// Writes `value` into the slot, and wakes the receiver if it waits for it.
    #[inline]
    pub(super) fn publish(&self, slot: Claimed<T>, value: T) {
        if slot.publish(value) {
            self.rx_waker.wake();
        }
    }

    /// Returns whether no value will come after those already in the channel.
    fn is_finished(&self, rx_closed: bool) -> bool {
        self.senders.load(Acquire) == 0 || rx_closed && self.flow.is_idle(self.words())
    }

    /// Takes the next value if there is one. Otherwise registers `waker`, to be woken when there is
    /// a value or when none will ever come.
    ///
    /// # Safety
    /// The caller must be the receiver, and make one call at a time.
    #[inline]
    unsafe fn pop_or_wait(&self, waker: &Waker) -> Poll<Option<T>> {
        // SAFETY: the caller is the receiver (contract of this function).
        if let Some(value) = unsafe { self.queue.pop() } {
            return Poll::Ready(Some(value));
        }
        // SAFETY: the caller is the receiver (contract of this function).
        unsafe { self.wait_for_value(waker) }
    }

    /// Continues [`pop_or_wait`](Self::pop_or_wait) when there was no value.
    ///
    /// Not inlined, so that calls that find a value do not have to save the registers that only
    /// this path uses.
    ///
    /// # Safety
    /// The caller must be the receiver, and make one call at a time.
    #[inline(never)]
    unsafe fn wait_for_value(&self, waker: &Waker) -> Poll<Option<T>> {
        let closed = self.queue.claims().load().is_closed();
        let mut backoff = Backoff::new();
        let (mut is_waiting, mut has_slept) = (false, false);
        loop {
            // This must precede `pop`: a sender sends before it is counted as dropped, so its value
            // is found below.
            let finished = self.is_finished(closed);
            // SAFETY: the caller is the receiver (contract of this function).
            if let Some(value) = unsafe { self.queue.pop() } {
                return Poll::Ready(Some(value));
            }
            if finished {
                return Poll::Ready(None);
            }
            if has_slept {
                // The thread that claimed the slot was preempted before it published the value, and
                // may take longer still. Meanwhile the other tasks of this thread run.
                waker.wake_by_ref();
            }
            if is_waiting || has_slept {
                self.rx_waker.note_waiter();
                note_with(WaitKind::MpscRecv, address(self), waker, || LeafDetails {
                    available: Some(self.len() as u64),
                    ..self.describe()
                });
                return Poll::Pending;
            }
            self.rx_waker.register(waker);
            // SAFETY: the caller is the receiver (contract of this function).
            is_waiting = unsafe { self.queue.wait_for_claim() };
            has_slept = !is_waiting && backoff.pause();
        }
    }

    /// Receives the next value.
    ///
    /// # Safety
    /// The caller must be the receiver, and make one call at a time.
    #[inline]
    pub(super) unsafe fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let unit = ready!(budget::poll_proceed(cx));
        // SAFETY: the caller is the receiver (contract of this function).
        let value = ready!(unsafe { self.pop_or_wait(cx.waker()) });
        if value.is_some() {
            self.flow.received(self.words(), 1);
        }
        unit.made_progress();
        Poll::Ready(value)
    }

    /// Receives up to `limit` values into `buffer`. Returns 0 only if `limit` is 0, or if no value
    /// will ever come.
    ///
    /// # Safety
    /// The caller must be the receiver, and make one call at a time.
    pub(super) unsafe fn poll_recv_many(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        let unit = ready!(budget::poll_proceed(cx));
        let mut count = 0;
        while count < limit {
            // SAFETY: the caller is the receiver (contract of this function).
            let value = match unsafe { self.queue.pop() } {
                Some(value) => value,
                None if count > 0 => break,
                // SAFETY: the caller is the receiver (contract of this function).
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

    /// Receives a value if there is one. Spins while a sender is in the middle of sending it.
    ///
    /// # Safety
    /// The caller must be the receiver, and make one call at a time.
    pub(super) unsafe fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut backoff = Backoff::new();
        loop {
            let finished = self.is_finished(self.queue.claims().load().is_closed());
            // SAFETY: the caller is the receiver (contract of this function).
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

    /// Takes the next remaining value of a closed channel. Spins while a sender is in the middle of
    /// sending it.
    ///
    /// # Safety
    /// The caller must be the receiver, and make one call at a time.
    unsafe fn pop_remaining(&self) -> Option<T> {
        let mut backoff = Backoff::new();
        loop {
            // SAFETY: the caller is the receiver (contract of this function).
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

    /// Takes and drops all remaining values.
    ///
    /// # Safety
    /// The caller must be the receiver, and make one call at a time.
    unsafe fn drain(&self) {
        // SAFETY: the caller is the receiver (contract of this function).
        drop_all(|| unsafe { self.pop_remaining() });
    }

    /// Returns how many values have been sent, or are being sent, and have not been received.
    pub(super) fn len(&self) -> usize {
        self.queue.claims().load().in_flight(self.queue.received().count())
    }

    /// Refuses further values, and wakes all senders that wait for room or in `closed`.
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
        let mut signal = pin!(self.closed_signal.acquire::<{ WaitKind::Unknown as u8 }>(1));
        let closed = poll_fn(|cx| {
            let polled = signal.as_mut().poll(cx);
            if polled.is_pending() {
                note_with(WaitKind::Closed, address(self), cx.waker(), || self.describe());
            }
            polled
        });
        let closed = closed.await;
        debug_assert!(closed.is_err(), "a channel never releases permits of its closed signal");
    }

    /// Returns what is known of the channel, for a future that waits for it.
    fn describe(&self) -> LeafDetails {
        LeafDetails {
            limit: self.flow.limit(),
            senders: Some(self.senders() as u64),
            receivers: Some(u64::from(!self.is_closed())),
            receiver: self.rx_waker.last_waiter(),
            ..LeafDetails::default()
        }
    }

    /// Closes the channel and drops all remaining values, because the receiver is being dropped.
    ///
    /// Draining comes last: once the channel is closed, only holders of permits can send, and their
    /// values are dropped with the channel. It waits for senders that have claimed a slot and not
    /// published it yet. If a waker panics first, when it is called or dropped, the values are
    /// drained during the unwinding.
    ///
    /// # Safety
    /// The caller must be the receiver, and make one call at a time.
    pub(super) unsafe fn drop_receiver(&self) {
        // SAFETY: the caller is the receiver (contract of this function).
        let waker_panics = OnUnwind(|| unsafe { self.drain() });
        self.close();
        drop(self.rx_waker.take());
        std::mem::forget(waker_panics);
        // SAFETY: the caller is the receiver (contract of this function).
        unsafe { self.drain() };
    }
}

impl<T> Chan<T, Capacity> {
    pub(super) fn capacity(&self) -> &Capacity {
        &self.flow
    }

    /// Claims a slot with a permit that the caller has just acquired.
    ///
    /// If the channel was closed in between, releases the permit and fails: after a close, only
    /// permits that users hold and slots claimed before it may still be used.
    pub(super) fn claim_paid(&self) -> Result<Claimed<T>, TryAcquireError> {
        let claimed = self.queue.claim(0, false);
        if claimed.is_err() {
            self.release(1);
        }
        claimed
    }

    /// Wakes the receiver of a closed channel if no value and no permit is left. Contains a panic
    /// of its waker: the caller may hold a value that it has to return.
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
        _claimant: Option<Claimant>,
    ) -> Result<Enqueued, AcquireError> {
        // SAFETY: the caller upholds the same contract for `waiter`.
        unsafe { self.flow.enqueue(self.words(), n, waiter, waker) }
    }

    #[inline]
    fn note_wait(&self, kind: WaitKind, n: usize, waker: &Waker) {
        note_with(kind, address(self), waker, || LeafDetails {
            available: Some(self.flow.available(self.words()) as u64),
            wanted: Some(n as u64),
            waiting: Some(self.flow.waiting_up_to(COUNTED_WAITERS_MAX) as u64),
            ..self.describe()
        });
    }

    fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R {
        self.flow.with_queue(f)
    }

    unsafe fn leave(&self, n: usize, waiter: NonNull<Waiter>) {
        // SAFETY: the caller upholds the same contract for `waiter`.
        unsafe { self.flow.leave(self.words(), n, waiter) };
        self.after_release();
    }
}

/// Counts senders.
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

    /// Adds a sender if at least one is left. Returns whether it did.
    #[must_use]
    pub(super) fn try_add_sender(&self) -> bool {
        let add = |count| if count == 0 { None } else { Some(count + 1) };
        self.senders.fetch_update(AcqRel, Acquire, add).is_ok()
    }

    /// Removes a sender. The last one wakes the receiver, which then returns `None`.
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
