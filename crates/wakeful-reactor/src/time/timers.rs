//! The timers of one owner: a wheel and its entries.
//!
//! Code that has a `&mut Timers` is the owner while it has it: a worker in a core section, or the
//! holder of a lock. None of the methods runs user code; wakers are passed in and out by value.

use super::entry::{ArmedTimer, OwnerId, TimerEntry};
use super::inbox::TimerInbox;
use super::wheel::{Popped, TimerNode, Wheel};
use std::ptr::NonNull;
use std::task::Waker;
use wakeful_base::WakeList;
use wakeful_base::prefetch::prefetch;

/// How many cache lines to prefetch of the object that a waker points to, which is nearly always a
/// task. It has been idle, and will be polled soon.
const WOKEN_LINES: usize = 4;

/// The timers of one owner.
#[derive(Debug)]
pub struct Timers {
    id: OwnerId,
    wheel: Wheel,
}

// SAFETY: the owner's side of an entry may be accessed from any thread that has `&mut Timers`. The
// entry's state word synchronizes it with the sleeper.
unsafe impl Send for Timers {}

/// The state of a timer, as seen by a thread that is both owner and sleeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// The timer is due.
    Due,
    /// The timer is armed with the given waker.
    Waits,
    /// The timer is armed with another waker or none.
    OtherWaker,
}

impl Timers {
    /// Creates an empty wheel at position zero.
    pub fn new(id: OwnerId) -> Timers {
        Timers { id, wheel: Wheel::new(0) }
    }

    /// Returns the id by which entries refer to these timers.
    pub fn id(&self) -> OwnerId {
        self.id
    }

    /// Returns the time up to which all due timers have fired.
    pub fn position_ns(&self) -> u64 {
        self.wheel.position_ns()
    }

    /// Arms a new timer.
    pub fn arm(&mut self, deadline_ns: u64, waker: Option<Waker>) -> ArmedTimer {
        let entry = TimerEntry::armed(self.id, waker);
        // SAFETY: a new entry is in no wheel, and is not freed before the wheel has released it.
        unsafe { self.wheel.insert(node_of(entry), deadline_ns) };
        // SAFETY: the returned value is the entry's only sleeper.
        unsafe { ArmedTimer::from_raw(entry) }
    }

    /// Checks whether one of these timers is due, and whether it would wake `waker`.
    ///
    /// The caller is the timer's sleeper.
    #[inline]
    pub fn look(&self, timer: &mut ArmedTimer, waker: &Waker) -> Looked {
        let entry = self.own(timer);
        if entry.state.is_fired_here() {
            return Looked::Due;
        }
        // SAFETY: the caller is both owner and sleeper.
        let is_same = entry
            .waker
            .with(|slot| unsafe { (*slot).as_ref().is_some_and(|set| set.will_wake(waker)) });
        if is_same { Looked::Waits } else { Looked::OtherWaker }
    }

    /// Makes the timer wake `waker`.
    ///
    /// Returns the waker that was set before, or `waker` itself as an `Err` if the timer is due.
    #[inline]
    pub fn set_waker(
        &mut self,
        timer: &mut ArmedTimer,
        waker: Waker,
    ) -> Result<Option<Waker>, Waker> {
        let entry = self.own(timer);
        if entry.state.is_fired_here() {
            return Err(waker);
        }
        // SAFETY: the caller is both owner and sleeper.
        Ok(entry.waker.with_mut(|slot| unsafe { (*slot).replace(waker) }))
    }

    /// Arms one of these timers, due or not, for another deadline. It keeps its waker.
    pub fn rearm(&mut self, timer: &mut ArmedTimer, deadline_ns: u64) {
        let entry = self.own(timer);
        // SAFETY: the entry is in this wheel, or has fired and is in none. It is not freed before
        // the wheel has released it.
        if unsafe { self.wheel.reinsert(node_of(timer.as_ptr()), deadline_ns) } {
            entry.state.arm();
        } else {
            self.replace(timer, deadline_ns);
        }
    }

    /// Arms a new entry in place of one that stays in the near heap until its old deadline.
    #[cold]
    fn replace(&mut self, timer: &mut ArmedTimer, deadline_ns: u64) {
        // SAFETY: the caller is both owner and sleeper.
        let waker = self.own(timer).waker.with_mut(|slot| unsafe { (*slot).take() });
        *timer = self.arm(deadline_ns, waker);
    }

    /// Disarms one of these timers, due or not. The caller drops the returned waker.
    #[must_use = "user code must not run here"]
    pub fn disarm(&mut self, timer: ArmedTimer) -> Option<Waker> {
        let entry = self.own(&timer);
        let is_fired = entry.state.is_fired_here();
        // SAFETY: the caller is both owner and sleeper.
        let waker = entry.waker.with_mut(|slot| unsafe { (*slot).take() });
        let entry = timer.as_ptr();
        // SAFETY: the entry is in this wheel, or has fired and is in none.
        if is_fired || unsafe { self.wheel.remove(node_of(entry)) } {
            // SAFETY: the sleeper is gone, and the wheel has released the entry.
            unsafe { TimerEntry::free(entry) };
        }
        waker
    }

    #[inline]
    fn own<'a>(&self, timer: &'a ArmedTimer) -> &'a TimerEntry {
        let entry = timer.entry();
        // Also checked in release builds: the callers are safe functions whose unsafe code relies
        // on being the entry's owner.
        assert!(entry.owner == self.id, "this timer is in another wheel");
        entry
    }

    /// Frees the entries in the inbox, which sleepers on other threads have left.
    pub fn clear_left(&mut self, inbox: &TimerInbox) {
        if inbox.is_empty() {
            return;
        }
        inbox.drain(|entry| {
            // SAFETY: an entry in the inbox belongs to the owner. It is in this wheel, or in none
            // if it became due.
            if unsafe { self.wheel.remove(node_of(entry)) } {
                // SAFETY: as above; its sleeper has taken the waker.
                unsafe { TimerEntry::free(entry) };
            }
        });
    }

    /// Fires the timers that are due at `now_ns`, the earliest first, until `wakers` is full.
    ///
    /// Returns true if there may be more.
    pub fn fire(&mut self, now_ns: u64, wakers: &mut WakeList) -> bool {
        while wakers.can_push() {
            match self.wheel.pop(now_ns) {
                None => return false,
                Some(popped) => self.process_popped(popped, wakers),
            }
        }
        true
    }

    fn process_popped(&mut self, popped: Popped, wakers: &mut WakeList) {
        match popped {
            Popped::Released(node) => {
                // SAFETY: its sleeper has left, through the inbox or `disarm`, and the wheel has
                // just released it.
                unsafe { TimerEntry::free(entry_of(node)) };
            }
            Popped::Due(node) => {
                // SAFETY: the caller is the owner, and the wheel yields an entry once for each time
                // it was armed.
                if let Some(waker) = unsafe { TimerEntry::fire(entry_of(node)) } {
                    prefetch(waker.data(), WOKEN_LINES);
                    wakers.push(waker);
                }
            }
        }
    }

    /// Fires all timers, due or not, for the end of a runtime. Otherwise like [`fire`](Self::fire).
    pub fn fire_all(&mut self, wakers: &mut WakeList) -> bool {
        while wakers.can_push() {
            match self.wheel.pop_any() {
                None => return false,
                Some(popped) => self.process_popped(popped, wakers),
            }
        }
        true
    }

    /// Returns whether there are no timers.
    pub fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }

    /// Returns when to call [`fire`](Self::fire) next, or `None` if there are no timers.
    ///
    /// The time may have passed already.
    pub fn next_ns(&self) -> Option<u64> {
        self.wheel.next_ns()
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        // After an orderly shutdown there are none left. A sleeper that remains must not refer to a
        // wheel that is gone.
        while self.fire_all(&mut WakeList::new()) {}
    }
}

fn node_of(entry: NonNull<TimerEntry>) -> NonNull<TimerNode> {
    // The node is the first field of the entry.
    entry.cast()
}

fn entry_of(node: NonNull<TimerNode>) -> NonNull<TimerEntry> {
    node.cast()
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "timers/tests/loom.rs"]
mod loom;
