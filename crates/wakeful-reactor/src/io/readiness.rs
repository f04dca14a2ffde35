//! A future that waits for readiness. Any number of them may wait for one descriptor.

use super::registration::{ReadyEvent, outcome, wait_kind};
use super::slot::{IoSlot, IoWaiter};
use crate::Interest;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::os::fd::RawFd;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};
use wakeful_base::budget;
use wakeful_base::list::Links;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::waiting::note;

/// The future of [`Registration::readiness`](super::Registration::readiness).
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Readiness<'a> {
    slot: &'a IoSlot,
    interest: Interest,
    /// Whether the waiter has been added to the slot's list.
    is_waiting: bool,
    /// The descriptor, for notes.
    fd: RawFd,
    /// The node in the slot's list. Once `is_waiting` is set, it is accessed under the slot's lock
    /// only.
    waiter: UnsafeCell<IoWaiter>,
    _pinned: PhantomPinned,
}

// SAFETY: the waiter is accessed under the slot's lock, or through `&mut self` before it is in the
// list.
unsafe impl Send for Readiness<'_> {}
// SAFETY: a shared reference gives no access to the waiter.
unsafe impl Sync for Readiness<'_> {}

impl<'a> Readiness<'a> {
    pub(super) fn new(slot: &'a IoSlot, interest: Interest, fd: RawFd) -> Readiness<'a> {
        let waiter = IoWaiter { links: Links::new(), waker: None, interest, is_woken: false };
        Readiness {
            slot,
            interest,
            is_waiting: false,
            fd,
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
        ready!(budget::poll_traced(cx));
        // SAFETY: nothing is moved out of `self`, and the waiter stays in place.
        let this = unsafe { self.get_unchecked_mut() };
        let (slot, interest) = (this.slot, this.interest);
        let state = slot.state();
        if !this.is_waiting && state.ends_wait_for(interest) {
            return Poll::Ready(outcome(state, interest));
        }
        // Cloned before the lock is taken, because it runs external code.
        let mut waker = Some(cx.waker().clone());
        let mut waiter_ptr = this.waiter();
        let mut waiters = slot.waiters.lock();
        // SAFETY: the lock is held. Before `is_waiting`, no other thread knows the waiter.
        let waiter = unsafe { waiter_ptr.as_mut() };
        let state = slot.state();
        // A woken future is done, even if the readiness has been cleared since: it then returns an
        // event without readiness. If the waiter is not in the list yet, an event before the lock
        // was taken did not find it, so the state is checked again.
        if waiter.is_woken || (!this.is_waiting && state.ends_wait_for(interest)) {
            drop(waiters);
            return Poll::Ready(outcome(state, interest));
        }
        if !this.is_waiting {
            // SAFETY: the waiter is pinned and in no list yet, and our `drop` removes it.
            unsafe { waiters.list.push_back(waiter_ptr) };
            this.is_waiting = true;
        }
        std::mem::swap(&mut waiter.waker, &mut waker);
        drop(waiters);
        drop(waker);
        note(wait_kind(interest), this.fd as u64, cx.waker());
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
        // SAFETY: the waiter is in this list, or in none if it has been woken.
        unsafe { waiters.list.remove(waiter) };
        drop(waiters);
        // The waker is dropped with its field, after the lock is released.
    }
}
