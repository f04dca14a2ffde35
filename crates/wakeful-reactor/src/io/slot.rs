//! One descriptor's readiness, and who waits for it.
//!
//! The state word:
//!
//! | bits | what |
//! |---|---|
//! | 0–5 | [`Ready`]: what the kernel said and nobody has disproved since |
//! | 6 | `SHUTDOWN`: the driver is gone, no event will come any more |
//! | 7 | `BROKEN`, with `SHUTDOWN`: the driver failed, and was not shut down |
//! | 16–31 | tick: counts events, so that clearing after a `WouldBlock` cannot wipe out a newer one |
//! | 32–63 | generation: which use of the slot this is |
//!
//! All of it changes by compare-and-swap on the whole word, so an event for an earlier generation can
//! never set anything.

use super::stopped::Stopped;
use crate::{Interest, Ready};
use std::ptr::NonNull;
use std::task::{Poll, Waker};
use wakeful_base::list::{Link, Links, List};
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};
use wakeful_base::sync::{Mutex, MutexGuard};
use wakeful_base::{CallWaker, WakeList};

const SHUTDOWN: u64 = 1 << 6;
const BROKEN: u64 = 1 << 7;
const TICK_SHIFT: u32 = 16;
const TICK_MASK: u64 = 0xffff << TICK_SHIFT;
const GENERATION_SHIFT: u32 = 32;

/// Reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

impl Direction {
    pub(super) fn interest(self) -> Interest {
        match self {
            Direction::Read => Interest::READABLE,
            Direction::Write => Interest::WRITABLE,
        }
    }
}

/// What a slot's state word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IoSlotState(u64);

impl IoSlotState {
    pub(crate) fn ready(self) -> Ready {
        Ready::from_bits(self.0 as usize)
    }

    pub(crate) fn is_shutdown(self) -> bool {
        self.0 & SHUTDOWN != 0
    }

    pub(crate) fn is_broken(self) -> bool {
        self.0 & BROKEN != 0
    }

    pub(crate) fn tick(self) -> u16 {
        (self.0 >> TICK_SHIFT) as u16
    }

    /// Whether somebody who waits for `interest` has to wait no longer.
    pub(crate) fn ends_wait_for(self, interest: Interest) -> bool {
        self.is_shutdown() || !(self.ready() & interest.answer()).is_empty()
    }

    fn generation(self) -> u32 {
        (self.0 >> GENERATION_SHIFT) as u32
    }
}

#[derive(Debug)]
pub(crate) struct IoSlot {
    state: AtomicU64,
    pub(crate) waiters: Mutex<IoWaiters>,
}

/// Who waits for a slot's descriptor.
#[derive(Debug, Default)]
pub(crate) struct IoWaiters {
    /// The one task that waits to read by polling.
    reader: Option<Waker>,
    /// The one task that waits to write by polling.
    writer: Option<Waker>,
    /// Any number of futures.
    pub(crate) list: List<IoWaiterLink>,
}

// SAFETY: waiters are touched under the slot's lock only, and hold nothing but a waker.
unsafe impl Send for IoWaiters {}

/// Wakers that lay in a slot when it was retired, to be dropped and not called.
#[derive(Debug)]
pub(crate) struct LeftWakers {
    _polled: [Option<Waker>; 2],
    /// Those of futures that were forgotten instead of dropped.
    _forgotten: Vec<Waker>,
}

/// A future that waits, in its slot's list. All but `interest` under the slot's lock.
#[derive(Debug)]
pub(crate) struct IoWaiter {
    pub(crate) links: Links<IoWaiter>,
    pub(crate) waker: Option<Waker>,
    pub(crate) interest: Interest,
    /// It was taken out of the list because what it waits for came.
    pub(crate) is_called: bool,
}

#[derive(Debug)]
pub(crate) struct IoWaiterLink;

// SAFETY: the links are a field of the waiter that nothing else touches.
unsafe impl Link for IoWaiterLink {
    type Node = IoWaiter;

    unsafe fn links(node: NonNull<IoWaiter>) -> NonNull<Links<IoWaiter>> {
        // SAFETY: the node is live by the trait's contract, and a field of it is not null.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

impl IoSlot {
    pub(crate) fn new() -> IoSlot {
        IoSlot { state: AtomicU64::new(0), waiters: Mutex::new(IoWaiters::default()) }
    }

    pub(crate) fn state(&self) -> IoSlotState {
        IoSlotState(self.state.load(Acquire))
    }

    pub(crate) fn generation(&self) -> u32 {
        self.state().generation()
    }

    /// Waits for `direction` on behalf of the one task that polls for it: leaves `waker` in place of the
    /// one before, unless it need not wait.
    pub(crate) fn poll(&self, waker: &Waker, direction: Direction) -> Poll<IoSlotState> {
        let interest = direction.interest();
        let state = self.state();
        if state.ends_wait_for(interest) {
            return Poll::Ready(state);
        }
        let mut waiters = self.waiters.lock();
        let mut old = None;
        let set = waiters.place(direction).as_ref();
        if !set.is_some_and(|set| set.will_wake(waker)) {
            // Not under the lock: a clone is somebody else's code.
            drop(waiters);
            let new = waker.clone();
            waiters = self.waiters.lock();
            old = waiters.place(direction).replace(new);
        }
        // An event that came before we had the lock found no waker of ours.
        let state = self.state();
        drop(waiters);
        drop(old);
        if state.ends_wait_for(interest) { Poll::Ready(state) } else { Poll::Pending }
    }

    /// The kernel reported `ready` for the descriptor of `generation`.
    pub(crate) fn report(&self, generation: u32, ready: Ready, call: CallWaker<'_>) {
        let reported = self.change(|state| {
            let is_current = state.generation() == generation && !state.is_shutdown();
            let tick = (state.0 & TICK_MASK).wrapping_add(1 << TICK_SHIFT) & TICK_MASK;
            is_current.then_some(state.0 & !TICK_MASK | tick | ready.bits() as u64)
        });
        if reported {
            self.call(ready, call);
        }
    }

    /// Takes the descriptor for `ready` though no event said so. Who is wrong there finds out by a
    /// `WouldBlock`, and clears it as ever; an event that comes meanwhile has a tick of its own.
    pub(crate) fn assume(&self, ready: Ready) {
        self.change(|state| (!state.is_shutdown()).then_some(state.0 | ready.bits() as u64));
    }

    /// An operation found that `ready`, seen at `tick`, does not hold any more. What is closed stays so.
    pub(crate) fn clear(&self, tick: u16, ready: Ready) {
        let cleared = ready - Ready::READ_CLOSED - Ready::WRITE_CLOSED;
        self.change(|state| (state.tick() == tick).then_some(state.0 & !(cleared.bits() as u64)));
    }

    /// No event will come any more: has all waiters called by `call`.
    pub(crate) fn shut_down(&self, why: Stopped, call: CallWaker<'_>) {
        let bits = match why {
            Stopped::ShutDown => SHUTDOWN,
            Stopped::Broken => SHUTDOWN | BROKEN,
        };
        self.state.fetch_or(bits, AcqRel);
        self.call(Ready::ALL, call);
    }

    /// The descriptor is gone: the slot is as new, for the next generation.
    ///
    /// Returns the wakers that are left. Their drop is user code and may panic, so the caller drops
    /// them after it has given the slot back.
    #[must_use]
    pub(crate) fn retire(&self) -> LeftWakers {
        self.change(|state| {
            let next = u64::from(state.generation().wrapping_add(1)) << GENERATION_SHIFT;
            Some(next | state.0 & (SHUTDOWN | BROKEN))
        });
        let mut waiters = self.waiters.lock();
        let polled = [waiters.reader.take(), waiters.writer.take()];
        let mut forgotten = Vec::new();
        // A future that waits borrows the registration, so those in the list were forgotten. Being
        // pinned, their memory is still there; the next generation must not meet them.
        while let Some(mut waiter) = waiters.list.pop_front() {
            // SAFETY: what is in the list is alive, and touched under the lock only.
            forgotten.extend(unsafe { waiter.as_mut() }.waker.take());
        }
        LeftWakers { _polled: polled, _forgotten: forgotten }
    }

    fn change(&self, new: impl Fn(IoSlotState) -> Option<u64>) -> bool {
        let mut now = self.state.load(Acquire);
        while let Some(next) = new(IoSlotState(now)) {
            match self.state.compare_exchange_weak(now, next, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// Has those who wait for any of `ready` called.
    fn call(&self, ready: Ready, call: CallWaker<'_>) {
        let mut waiters = self.waiters.lock();
        let reader = waiters.reader.take_if(|_| ready.is_readable());
        let writer = waiters.writer.take_if(|_| ready.is_writable());
        if waiters.list.is_empty() {
            drop(waiters);
        } else {
            self.call_listed(waiters, ready, call);
        }
        if let Some(reader) = reader {
            call(reader);
        }
        if let Some(writer) = writer {
            call(writer);
        }
    }

    #[inline(never)]
    fn call_listed<'a>(
        &'a self,
        mut waiters: MutexGuard<'a, IoWaiters>,
        ready: Ready,
        call: CallWaker<'_>,
    ) {
        let mut wakers = WakeList::new();
        while waiters.take_called(ready, &mut wakers) {
            drop(waiters);
            wakers.take_all(&mut *call);
            waiters = self.waiters.lock();
        }
        drop(waiters);
        wakers.take_all(call);
    }
}

impl IoWaiters {
    /// Where the one task that polls for `direction` leaves its waker.
    fn place(&mut self, direction: Direction) -> &mut Option<Waker> {
        match direction {
            Direction::Read => &mut self.reader,
            Direction::Write => &mut self.writer,
        }
    }

    /// Moves waiters for any of `ready` from the list to `wakers`. True if there may be more.
    fn take_called(&mut self, ready: Ready, wakers: &mut WakeList) -> bool {
        // SAFETY: what is in the list is alive, and touched under the lock only.
        let is_called = |waiter: NonNull<IoWaiter>| unsafe {
            !(ready & waiter.as_ref().interest.answer()).is_empty()
        };
        for mut waiter in self.list.extract_if(is_called) {
            // SAFETY: as above; its future finds out under the lock that it is in no list any more.
            let waiter = unsafe { waiter.as_mut() };
            waiter.is_called = true;
            if let Some(waker) = waiter.waker.take() {
                wakers.push(waker);
            }
            if !wakers.can_push() {
                return true;
            }
        }
        false
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "slot/tests/loom.rs"]
mod loom;
