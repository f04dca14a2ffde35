//! Futures polled by hand.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use crate::wakers::Ring;

/// Picks an item by an operand; `None` if there is none.
pub fn pick<T>(from: &mut [T], which: u8) -> Option<&mut T> {
    let len = from.len();
    if len == 0 { None } else { from.get_mut(which as usize % len) }
}

/// Takes an item out by an operand; `None` if there is none.
pub fn take<T>(from: &mut Vec<T>, which: u8) -> Option<T> {
    let len = from.len();
    if len == 0 { None } else { Some(from.remove(which as usize % len)) }
}

/// Futures that were pending when last polled, in the order in which they came.
pub struct Line<'a, T> {
    waiting: Vec<Waiting<'a, T>>,
    counts_needed: bool,
}

struct Waiting<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + 'a>>,
    ring: Ring,
}

impl<T> Default for Line<'_, T> {
    fn default() -> Self {
        Line { waiting: Vec::new(), counts_needed: false }
    }
}

impl<'a, T> Line<'a, T> {
    /// Makes a line whose futures count only the calls of wakers that are needed.
    pub fn counting_needed() -> Self {
        Line { waiting: Vec::new(), counts_needed: true }
    }

    /// Polls a new future, and keeps it if it is pending.
    pub fn begin(&mut self, waker: u8, future: impl Future<Output = T> + 'a) -> Option<T> {
        let ring = if self.counts_needed { Ring::counting_needed() } else { Ring::default() };
        let mut waiting = Waiting { future: Box::pin(future), ring };
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

    /// Drops one of the futures.
    pub fn give_up(&mut self, which: u8) -> bool {
        take(&mut self.waiting, which).is_some()
    }

    /// Counts the futures.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

impl<T> Waiting<'_, T> {
    fn poll(&mut self, waker: u8) -> Option<T> {
        match self.ring.poll(waker, |cx| self.future.as_mut().poll(cx)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }
}
