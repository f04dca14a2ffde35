//! Futures that a script polls by hand.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use crate::wakers::WakerSlot;

/// How many futures may wait if wakers call back. Beyond this number, a notification of all takes
/// several batches. If a waker called the same object between two batches, it would find the other
/// futures woken on Wakeful, but not yet on Tokio (docs/design/sync.md, "One word for lock, counter
/// and flag").
pub const WAKE_BATCH: usize = 30;

/// Returns how many futures may wait in a script of this size. In half of the scripts wakers call
/// back, and [`WAKE_BATCH`] is the limit.
pub fn waiting_max(size: u8) -> usize {
    if size % 2 == 1 { WAKE_BATCH } else { usize::MAX }
}

/// Returns the item that an operand picks, or `None` if there is none.
pub fn pick<T>(from: &mut [T], which: u8) -> Option<&mut T> {
    let len = from.len();
    if len == 0 { None } else { from.get_mut(which as usize % len) }
}

/// Removes the item that an operand picks, or returns `None` if there is none.
pub fn take<T>(from: &mut Vec<T>, which: u8) -> Option<T> {
    let len = from.len();
    if len == 0 { None } else { Some(from.remove(which as usize % len)) }
}

/// Futures that were pending when polled last, in the order in which they were added.
pub struct PendingFutures<'a, T> {
    waiting: Vec<Waiting<'a, T>>,
    counts_needed: bool,
}

struct Waiting<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + 'a>>,
    waker_slot: WakerSlot,
}

impl<T> Default for PendingFutures<'_, T> {
    fn default() -> Self {
        PendingFutures { waiting: Vec::new(), counts_needed: false }
    }
}

impl<'a, T> PendingFutures<'a, T> {
    /// Creates an empty list. For its futures, only required wake-ups are logged.
    pub fn counting_needed() -> Self {
        PendingFutures { waiting: Vec::new(), counts_needed: true }
    }

    /// Polls a new future, and keeps it if it is pending.
    pub fn begin(&mut self, waker: u8, future: impl Future<Output = T> + 'a) -> Option<T> {
        let waker_slot =
            if self.counts_needed { WakerSlot::counting_needed() } else { WakerSlot::default() };
        let mut waiting = Waiting { future: Box::pin(future), waker_slot };
        let output = waiting.poll(waker);
        if output.is_none() {
            self.waiting.push(waiting);
        }
        output
    }

    /// Polls one of the futures, and drops it if it is ready.
    pub fn poll(&mut self, which: u8, waker: u8) -> Option<T> {
        let waiting = pick(&mut self.waiting, which)?;
        let output = waiting.poll(waker);
        if output.is_some() {
            self.give_up(which);
        }
        output
    }

    /// Drops one of the futures. Returns whether there was one.
    pub fn give_up(&mut self, which: u8) -> bool {
        take(&mut self.waiting, which).is_some()
    }

    /// Returns the number of futures.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

impl<T> Waiting<'_, T> {
    fn poll(&mut self, waker: u8) -> Option<T> {
        match self.waker_slot.poll(waker, |cx| self.future.as_mut().poll(cx)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }
}
