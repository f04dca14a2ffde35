//! The readiness of one descriptor, and the tasks that wait for it.
//!
//! The state word:
//!
//! | bits | meaning |
//! |---|---|
//! | 0–5 | [`Ready`]: what the kernel has reported and no operation has disproved since |
//! | 6 | `SHUTDOWN`: the driver is gone, no event will come any more |
//! | 7 | `BROKEN`, with `SHUTDOWN`: the driver has failed rather than been shut down |
//! | 16–31 | tick: counts events, so that `clear` does not clear a newer one |
//! | 32–63 | generation: counts the uses of the slot |
//!
//! Every change is a compare-and-swap of the whole word, so an event of an earlier generation never
//! sets anything.

use super::stopped::Stopped;
use crate::{Interest, Ready};
use std::ptr::NonNull;
use std::task::{Poll, Waker};
use wakeful_base::list::{Link, Links, List};
use wakeful_base::on_unwind::drop_all;
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};
use wakeful_base::sync::{Mutex, MutexGuard};
use wakeful_base::{CallWaker, WakeList};

const SHUTDOWN: u64 = 1 << 6;
const BROKEN: u64 = 1 << 7;
const TICK_SHIFT: u32 = 16;
const TICK_MASK: u64 = 0xffff << TICK_SHIFT;
const GENERATION_SHIFT: u32 = 32;

/// A direction of I/O.
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

/// A value of a slot's state word.
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

    /// Returns whether a wait for `interest` is over.
    pub(crate) fn ends_wait_for(self, interest: Interest) -> bool {
        self.is_shutdown() || !(self.ready() & interest.ready_mask()).is_empty()
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

/// The wakers of tasks that wait for a slot's descriptor.
#[derive(Debug, Default)]
pub(crate) struct IoWaiters {
    /// The one task that polls for reading.
    reader: Option<Waker>,
    /// The one task that polls for writing.
    writer: Option<Waker>,
    /// Any number of futures.
    pub(crate) list: List<IoWaiterLink>,
}

// SAFETY: waiters are accessed under the slot's lock only, and own nothing but a waker.
unsafe impl Send for IoWaiters {}

/// The wakers that were left in a slot when it was retired. They are dropped, not called.
///
/// Any number of them may panic when they are dropped: the first panic continues after the last
/// waker has been dropped.
#[derive(Debug)]
pub(crate) struct LeftWakers {
    polled: [Option<Waker>; 2],
    /// The wakers of futures that were forgotten instead of dropped.
    forgotten: Vec<Waker>,
}

impl Drop for LeftWakers {
    fn drop(&mut self) {
        let LeftWakers { polled, forgotten } = self;
        drop_all(|| polled.iter_mut().find_map(Option::take).or_else(|| forgotten.pop()));
    }
}

/// A future that waits, as a node of its slot's list. All fields but `interest` are accessed under
/// the slot's lock.
#[derive(Debug)]
pub(crate) struct IoWaiter {
    pub(crate) links: Links<IoWaiter>,
    pub(crate) waker: Option<Waker>,
    pub(crate) interest: Interest,
    /// It has been removed from the list because the awaited event came.
    pub(crate) is_woken: bool,
}

#[derive(Debug)]
pub(crate) struct IoWaiterLink;

// SAFETY: the links are a field of the waiter that only the list accesses.
unsafe impl Link for IoWaiterLink {
    type Node = IoWaiter;

    unsafe fn links(node: NonNull<IoWaiter>) -> NonNull<Links<IoWaiter>> {
        // SAFETY: the node is live by the trait's contract, so the address of its field is valid
        // and not null.
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

    /// Waits for `direction` on behalf of the one task that polls for it. Stores `waker` in place
    /// of the previous one, unless the wait is over.
    pub(crate) fn poll(&self, waker: &Waker, direction: Direction) -> Poll<IoSlotState> {
        let interest = direction.interest();
        let state = self.state();
        if state.ends_wait_for(interest) {
            return Poll::Ready(state);
        }
        let mut waiters = self.waiters.lock();
        let mut old = None;
        let set = waiters.polled_waker(direction).as_ref();
        if !set.is_some_and(|set| set.will_wake(waker)) {
            // Cloned without the lock, because it runs external code.
            drop(waiters);
            let new = waker.clone();
            waiters = self.waiters.lock();
            old = waiters.polled_waker(direction).replace(new);
        }
        // An event that came before the lock was taken did not find this waker.
        let state = self.state();
        drop(waiters);
        drop(old);
        if state.ends_wait_for(interest) { Poll::Ready(state) } else { Poll::Pending }
    }

    /// Records that the kernel reported `ready` for the descriptor of `generation`, and wakes its
    /// waiters.
    pub(crate) fn report(&self, generation: u32, ready: Ready, call: CallWaker<'_>) {
        let reported = self.change(|state| {
            let is_current = state.generation() == generation && !state.is_shutdown();
            let tick = (state.0 & TICK_MASK).wrapping_add(1 << TICK_SHIFT) & TICK_MASK;
            is_current.then_some(state.0 & !TICK_MASK | tick | ready.bits() as u64)
        });
        if reported {
            self.wake_waiters(ready, call);
        }
    }

    /// Assumes that the descriptor is `ready`, though no event said so. If that is wrong, an
    /// operation returns `WouldBlock` and clears it as usual. An event that comes meanwhile has
    /// another tick.
    pub(crate) fn assume(&self, ready: Ready) {
        self.change(|state| (!state.is_shutdown()).then_some(state.0 | ready.bits() as u64));
    }

    /// Clears `ready`, seen at `tick`, after an operation found that it does not hold any more.
    /// Closed directions stay closed.
    pub(crate) fn clear(&self, tick: u16, ready: Ready) {
        let cleared = ready - Ready::READ_CLOSED - Ready::WRITE_CLOSED;
        self.change(|state| (state.tick() == tick).then_some(state.0 & !(cleared.bits() as u64)));
    }

    /// Passes the wakers of all waiters to `call`, since no event will come any more.
    pub(crate) fn shut_down(&self, why: Stopped, call: CallWaker<'_>) {
        let bits = match why {
            Stopped::ShutDown => SHUTDOWN,
            Stopped::Broken => SHUTDOWN | BROKEN,
        };
        self.state.fetch_or(bits, AcqRel);
        self.wake_waiters(Ready::ALL, call);
    }

    /// Resets the slot for its next use, after its descriptor was removed.
    ///
    /// Returns the wakers that were left. Dropping them runs user code, which may panic, so the
    /// caller does it after releasing the slot.
    #[must_use]
    pub(crate) fn retire(&self) -> LeftWakers {
        self.change(|state| {
            let next = u64::from(state.generation().wrapping_add(1)) << GENERATION_SHIFT;
            Some(next | state.0 & (SHUTDOWN | BROKEN))
        });
        let mut waiters = self.waiters.lock();
        let polled = [waiters.reader.take(), waiters.writer.take()];
        let mut forgotten = Vec::new();
        // A waiting future borrows the registration, which is gone. So the futures in the list were
        // forgotten rather than dropped. They are pinned, so their memory is still valid, but the
        // next user of the slot must not find them.
        while let Some(mut waiter) = waiters.list.pop_front() {
            // SAFETY: a waiter in the list is live, and accessed under the lock only.
            forgotten.extend(unsafe { waiter.as_mut() }.waker.take());
        }
        LeftWakers { polled, forgotten }
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

    /// Passes the wakers that wait for any of `ready` to `call`.
    fn wake_waiters(&self, ready: Ready, call: CallWaker<'_>) {
        let mut waiters = self.waiters.lock();
        let reader = waiters.reader.take_if(|_| ready.is_readable());
        let writer = waiters.writer.take_if(|_| ready.is_writable());
        if waiters.list.is_empty() {
            drop(waiters);
        } else {
            self.wake_listed(waiters, ready, call);
        }
        if let Some(reader) = reader {
            call(reader);
        }
        if let Some(writer) = writer {
            call(writer);
        }
    }

    #[inline(never)]
    fn wake_listed<'a>(
        &'a self,
        mut waiters: MutexGuard<'a, IoWaiters>,
        ready: Ready,
        call: CallWaker<'_>,
    ) {
        let mut wakers = WakeList::new();
        while waiters.take_woken(ready, &mut wakers) {
            drop(waiters);
            wakers.take_all(&mut *call);
            waiters = self.waiters.lock();
        }
        drop(waiters);
        wakers.take_all(call);
    }
}

impl IoWaiters {
    /// Returns the place for the waker of the one task that polls for `direction`.
    fn polled_waker(&mut self, direction: Direction) -> &mut Option<Waker> {
        match direction {
            Direction::Read => &mut self.reader,
            Direction::Write => &mut self.writer,
        }
    }

    /// Moves the wakers that wait for any of `ready` from the list to `wakers`. Returns true if
    /// there may be more.
    fn take_woken(&mut self, ready: Ready, wakers: &mut WakeList) -> bool {
        // SAFETY: a waiter in the list is live, and accessed under the lock only.
        let is_woken = |waiter: NonNull<IoWaiter>| unsafe {
            !(ready & waiter.as_ref().interest.ready_mask()).is_empty()
        };
        for mut waiter in self.list.extract_if(is_woken) {
            // SAFETY: as above. Its future finds out under the lock that it is not in the list any
            // more.
            let waiter = unsafe { waiter.as_mut() };
            waiter.is_woken = true;
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
