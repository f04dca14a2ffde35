//! A future for readiness, of which any number may wait on one descriptor.

use super::registration::{ReadyEvent, outcome};
use super::slot::{IoSlot, IoWaiter};
use crate::Interest;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use wakeful_base::list::Links;
use wakeful_base::sync::UnsafeCell;

/// Future of [`Registration::readiness`](super::Registration::readiness).
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Readiness<'a> {
    slot: &'a IoSlot,
    interest: Interest,
    /// Whether the waiter was put into the slot's list.
    is_waiting: bool,
    /// In the slot's list, and touched under the slot's lock only, once `is_waiting`.
    waiter: UnsafeCell<IoWaiter>,
    _pinned: PhantomPinned,
}

// SAFETY: the waiter is touched under the slot's lock, or before it is shared.
unsafe impl Send for Readiness<'_> {}
// SAFETY: through a shared borrow there is no access to the waiter.
unsafe impl Sync for Readiness<'_> {}

impl<'a> Readiness<'a> {
    pub(super) fn new(slot: &'a IoSlot, interest: Interest) -> Readiness<'a> {
        let waiter = IoWaiter { links: Links::new(), waker: None, interest, is_called: false };
        Readiness {
            slot,
            interest,
            is_waiting: false,
            waiter: UnsafeCell::new(waiter),
            _pinned: PhantomPinned,
        }
    }

    fn waiter(&self) -> NonNull<IoWaiter> {
        self.waiter.with_mut(|waiter| NonNull::new(waiter).expect("a field is not at zero"))
    }
}

impl Future for Readiness<'_> {
    type Output = io::Result<ReadyEvent>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out: the waiter stays where it is.
        let this = unsafe { self.get_unchecked_mut() };
        let (slot, interest) = (this.slot, this.interest);
        let state = slot.state();
        if !this.is_waiting && state.ends_wait_for(interest) {
            return Poll::Ready(outcome(state, interest));
        }
        // Cloned before the lock is taken: it is somebody else's code.
        let mut waker = Some(cx.waker().clone());
        let mut waiter_ptr = this.waiter();
        let mut waiters = slot.waiters.lock();
        // SAFETY: under the lock, or not shared yet.
        let waiter = unsafe { waiter_ptr.as_mut() };
        let state = slot.state();
        // Once called we are done, even if the readiness was cleared since: an event of nothing then.
        // Before we are in the list, an event that came before we had the lock did not find us.
        if waiter.is_called || (!this.is_waiting && state.ends_wait_for(interest)) {
            drop(waiters);
            return Poll::Ready(outcome(state, interest));
        }
        if !this.is_waiting {
            // SAFETY: pinned, in no list yet, and taken out by our drop.
            unsafe { waiters.list.push_back(waiter_ptr) };
            this.is_waiting = true;
        }
        std::mem::swap(&mut waiter.waker, &mut waker);
        drop(waiters);
        drop(waker);
        Poll::Pending
    }
}

impl Drop for Readiness<'_> {
    fn drop(&mut self) {
        if !self.is_waiting {
            return;
        }
        let waiter = self.waiter();
        let mut waiters = self.slot.waiters.lock();
        // SAFETY: in this list, or in none since it was called.
        unsafe { waiters.list.remove(waiter) };
        drop(waiters);
        // The waker itself goes with the field, after the lock.
    }
}
