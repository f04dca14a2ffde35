//! Pending signals, deliveries, and the listeners that wait for them.
//!
//! `pending` is a set of signals. The handler adds one with
//! [`set_pending`](PendingSignals::set_pending), and [`distribute`](PendingSignals::distribute)
//! takes all of them. The handler adds the signal before it notifies the drivers, and every
//! notification makes some driver call `distribute`, so no pending signal is lost. Signals that
//! arrive faster than they are distributed are merged.
//!
//! Each signal has a **channel**: the number of its deliveries, and the wakers of its listeners.
//! Deliveries are counted under the channel's lock. A listener that finds no new delivery under
//! that lock, and leaves its waker, is therefore woken by the next delivery.

use std::task::{Context, Poll, Waker, ready};
use wakeful_base::budget;
use wakeful_base::sync::Mutex;
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};
use wakeful_base::waiting::{WaitKind, note};
use wakeful_base::{CallWaker, WakeList};

#[derive(Debug)]
pub(super) struct PendingSignals {
    /// One bit for each signal that has arrived and is not distributed yet.
    pending: AtomicU64,
    channels: Box<[Channel]>,
}

#[derive(Debug)]
struct Channel {
    /// Written under the lock only.
    deliveries: AtomicU64,
    listeners: Mutex<Listeners>,
}

/// One entry for each listener, with its waker while it waits.
#[derive(Debug, Default)]
struct Listeners {
    wakers: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl PendingSignals {
    /// Creates the state for signals `0..signals`, at most 64.
    pub(super) fn new(signals: usize) -> PendingSignals {
        let channel = || Channel { deliveries: AtomicU64::new(0), listeners: Mutex::default() };
        PendingSignals {
            pending: AtomicU64::new(0),
            channels: (0..signals).map(|_| channel()).collect(),
        }
    }

    /// Marks a signal as pending. Async-signal-safe. The caller must notify the drivers afterwards.
    pub(super) fn set_pending(&self, signal: usize) {
        self.pending.fetch_or(1 << signal, Release);
    }

    /// Delivers all pending signals, passing the listeners' wakers to `call`.
    pub(super) fn distribute(&self, call: CallWaker<'_>) {
        let mut left = self.pending.swap(0, Acquire);
        while left != 0 {
            self.channels[left.trailing_zeros() as usize].deliver(call);
            left &= left - 1;
        }
    }

    /// Returns a listener that receives all later deliveries.
    pub(super) fn listen(&self, signal: usize) -> Listener<'_> {
        let channel = &self.channels[signal];
        let mut listeners = channel.listeners.lock();
        let index = listeners.add();
        let seen = channel.deliveries.load(Relaxed);
        drop(listeners);
        Listener { channel, index, seen, signal }
    }
}

impl Channel {
    fn deliver(&self, call: CallWaker<'_>) {
        let mut listeners = self.listeners.lock();
        self.deliveries.store(self.deliveries.load(Relaxed) + 1, Release);
        let (mut wakers, mut from) = (WakeList::new(), 0);
        loop {
            from = listeners.take_wakers(from, &mut wakers);
            let is_last = from == listeners.wakers.len();
            drop(listeners);
            wakers.take_all(&mut *call);
            if is_last {
                return;
            }
            listeners = self.listeners.lock();
        }
    }
}

impl Listeners {
    fn add(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.wakers.push(None);
            self.wakers.len() - 1
        })
    }

    /// Releases an entry. Returns its waker, which is to be dropped without the lock.
    fn remove(&mut self, index: usize) -> Option<Waker> {
        let waker = self.wakers[index].take();
        self.free.push(index);
        if self.free.len() == self.wakers.len() {
            *self = Listeners::default();
        }
        waker
    }

    /// Moves wakers to `wakers`, beginning at `from`, until it is full. Returns the index to
    /// continue at.
    fn take_wakers(&mut self, from: usize, wakers: &mut WakeList) -> usize {
        let mut at = from.min(self.wakers.len());
        while at < self.wakers.len() && wakers.can_push() {
            if let Some(waker) = self.wakers[at].take() {
                wakers.push(waker);
            }
            at += 1;
        }
        at
    }
}

/// Waits for a signal. Signals that arrive between two polls are merged into one delivery.
#[derive(Debug)]
pub struct Listener<'b> {
    channel: &'b Channel,
    index: usize,
    /// The number of deliveries that the listener has seen.
    seen: u64,
    /// The index of the signal: its number minus one.
    signal: usize,
}

impl Listener<'_> {
    /// Waits for the next delivery on behalf of the task of `cx`, and pays a unit of its budget.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let unit = ready!(budget::poll_proceed(cx));
        if self.poll_delivery(cx.waker()).is_pending() {
            note(WaitKind::Signal, self.signal as u64 + 1, cx.waker());
            return Poll::Pending;
        }
        unit.made_progress();
        Poll::Ready(())
    }

    /// Waits for the next delivery without using a budget, for code that is not a task.
    pub fn poll_delivery(&mut self, waker: &Waker) -> Poll<()> {
        let channel = self.channel;
        let mut deliveries = channel.deliveries.load(Acquire);
        if deliveries == self.seen {
            // Cloned and dropped without the lock, since both run external code.
            let mut other = Some(waker.clone());
            let mut listeners = channel.listeners.lock();
            deliveries = channel.deliveries.load(Relaxed);
            if deliveries == self.seen {
                std::mem::swap(&mut listeners.wakers[self.index], &mut other);
            }
            drop(listeners);
            drop(other);
        }
        if deliveries == self.seen {
            return Poll::Pending;
        }
        // Last, because the drop of a waker may panic. The next poll then finds the delivery.
        self.seen = deliveries;
        Poll::Ready(())
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        let mut listeners = self.channel.listeners.lock();
        let waker = listeners.remove(self.index);
        drop(listeners);
        drop(waker);
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "pending/tests/loom.rs"]
mod loom;
#[cfg(all(test, not(wakeful_loom)))]
mod tests;
