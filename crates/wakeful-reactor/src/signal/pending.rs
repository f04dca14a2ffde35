//! What came, what was handed out, and who waits.
//!
//! `pending` is a set of signals: [`set_pending`](PendingSignals::set_pending) adds one, from a handler, and
//! [`distribute`](PendingSignals::distribute) takes all of it away at once. Whatever is pending is so before the
//! alarm rings, and every ring makes some driver distribute: so nothing that was pending stays. Signals
//! that come faster than they are distributed become one.
//!
//! Each signal has a **channel**: how often it was delivered, and the wakers of its listeners. Deliveries
//! are counted under the channel's lock, so a listener that finds no news under that lock, and leaves
//! its waker there, is called by the next one.

use std::task::{Context, Poll, Waker, ready};
use wakeful_base::budget;
use wakeful_base::sync::Mutex;
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};
use wakeful_base::{CallWaker, WakeList};

#[derive(Debug)]
pub(super) struct PendingSignals {
    /// A bit for each signal that came and was not handed out yet.
    pending: AtomicU64,
    channels: Box<[Channel]>,
}

#[derive(Debug)]
struct Channel {
    /// Changes under the lock only.
    deliveries: AtomicU64,
    listeners: Mutex<Listeners>,
}

/// An entry for each listener, where its waker is while it waits.
#[derive(Debug, Default)]
struct Listeners {
    wakers: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl PendingSignals {
    /// For signals from zero to below `signals`, which are 64 at most.
    pub(super) fn new(signals: usize) -> PendingSignals {
        let channel = || Channel { deliveries: AtomicU64::new(0), listeners: Mutex::default() };
        PendingSignals {
            pending: AtomicU64::new(0),
            channels: (0..signals).map(|_| channel()).collect(),
        }
    }

    /// A signal came. Safe in a signal handler; the alarm has to ring after it.
    pub(super) fn set_pending(&self, signal: usize) {
        self.pending.fetch_or(1 << signal, Release);
    }

    /// Delivers everything that was pending, to wakers that are called by `call`.
    pub(super) fn distribute(&self, call: CallWaker<'_>) {
        let mut left = self.pending.swap(0, Acquire);
        while left != 0 {
            self.channels[left.trailing_zeros() as usize].deliver(call);
            left &= left - 1;
        }
    }

    /// A listener for what is delivered from now on.
    pub(super) fn listen(&self, signal: usize) -> Listener<'_> {
        let channel = &self.channels[signal];
        let mut listeners = channel.listeners.lock();
        let index = listeners.add();
        let seen = channel.deliveries.load(Relaxed);
        drop(listeners);
        Listener { channel, index, seen }
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

    /// Gives an entry up; returns the waker in it, to be dropped without the lock.
    fn remove(&mut self, index: usize) -> Option<Waker> {
        let waker = self.wakers[index].take();
        self.free.push(index);
        if self.free.len() == self.wakers.len() {
            *self = Listeners::default();
        }
        waker
    }

    /// Moves wakers to `wakers` while there is room, beginning at `from`; returns where it ended.
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

/// Waits for a signal. What comes while it does not look is one delivery, however much it was.
#[derive(Debug)]
pub struct Listener<'b> {
    channel: &'b Channel,
    index: usize,
    /// How many deliveries it knows of.
    seen: u64,
}

impl Listener<'_> {
    /// Waits for the next delivery on behalf of the task of `cx`.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let unit = ready!(budget::poll_proceed(cx));
        ready!(self.poll_delivery(cx.waker()));
        unit.made_progress();
        Poll::Ready(())
    }

    /// As [`poll_recv`](Self::poll_recv), for what is no task and has no budget.
    pub fn poll_delivery(&mut self, waker: &Waker) -> Poll<()> {
        let channel = self.channel;
        if self.sees_new(channel.deliveries.load(Acquire)) {
            return Poll::Ready(());
        }
        // Cloned and dropped without the lock: both are somebody else's code.
        let mut other = Some(waker.clone());
        let mut listeners = channel.listeners.lock();
        let is_new = self.sees_new(channel.deliveries.load(Relaxed));
        if !is_new {
            std::mem::swap(&mut listeners.wakers[self.index], &mut other);
        }
        drop(listeners);
        drop(other);
        if is_new { Poll::Ready(()) } else { Poll::Pending }
    }

    fn sees_new(&mut self, deliveries: u64) -> bool {
        std::mem::replace(&mut self.seen, deliveries) != deliveries
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
