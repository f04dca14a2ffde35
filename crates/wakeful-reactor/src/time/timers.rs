//! The owner's side: a wheel, and the entries in it.
//!
//! Whoever holds a `&mut Timers` is the owner for that long: a worker in a core section, or the holder of
//! a lock. No user code runs in any of the methods; wakers come in and go out by value.

use super::entry::{ArmedTimer, OwnerId, TimerEntry};
use super::inbox::TimerInbox;
use super::wheel::{Popped, TimerNode, Wheel};
use std::ptr::NonNull;
use std::task::Waker;
use wakeful_base::WakeList;
use wakeful_base::prefetch::prefetch;

/// As much of what a waker points to is asked for ahead, in cache lines: it has slept, and will be polled in a moment.
const WOKEN_LINES: usize = 4;

/// Timers of one owner.
#[derive(Debug)]
pub struct Timers {
    id: OwnerId,
    wheel: Wheel,
}

// SAFETY: entries may be touched from any thread, as their state says.
unsafe impl Send for Timers {}

/// What an owner that is the sleeper too finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// The time has come.
    Due,
    /// The waker is in place.
    Waits,
    /// Another waker is in place.
    OtherWaker,
}

impl Timers {
    /// No timers, in a wheel that stands at zero.
    pub fn new(id: OwnerId) -> Timers {
        Timers { id, wheel: Wheel::new(0) }
    }

    /// How its timers know it.
    pub fn id(&self) -> OwnerId {
        self.id
    }

    /// Up to when all that was due has fired.
    pub fn position_ns(&self) -> u64 {
        self.wheel.position_ns()
    }

    /// Arms a new timer.
    pub fn arm(&mut self, deadline_ns: u64, waker: Option<Waker>) -> ArmedTimer {
        let entry = TimerEntry::armed(self.id, waker);
        // SAFETY: a new entry is in no wheel; it stays until the wheel has let go of it.
        unsafe { self.wheel.insert(node_of(entry), deadline_ns) };
        // SAFETY: the only sleeper.
        unsafe { ArmedTimer::from_raw(entry) }
    }

    /// Looks at a timer of this owner's, whose sleeper the caller is.
    pub fn look(&self, timer: &mut ArmedTimer, waker: &Waker) -> Looked {
        let entry = self.own(timer);
        if entry.state.is_fired_here() {
            return Looked::Due;
        }
        // SAFETY: the caller is owner and sleeper.
        let is_same = entry
            .waker
            .with(|slot| unsafe { (*slot).as_ref().is_some_and(|set| set.will_wake(waker)) });
        if is_same { Looked::Waits } else { Looked::OtherWaker }
    }

    /// Has `waker` called when the time comes. Gives back the waker that is called no more: the one
    /// before, or `waker` itself with `Err` if the time has come.
    pub fn set_waker(
        &mut self,
        timer: &mut ArmedTimer,
        waker: Waker,
    ) -> Result<Option<Waker>, Waker> {
        let entry = self.own(timer);
        if entry.state.is_fired_here() {
            return Err(waker);
        }
        // SAFETY: the caller is owner and sleeper.
        Ok(entry.waker.with_mut(|slot| unsafe { (*slot).replace(waker) }))
    }

    /// Arms a timer of this owner's, due or not, for another time. Its waker stays.
    pub fn rearm(&mut self, timer: &mut ArmedTimer, deadline_ns: u64) {
        let entry = self.own(timer);
        // SAFETY: in this wheel, or fired and in none; it stays until the wheel has let go of it.
        if unsafe { self.wheel.reinsert(node_of(timer.as_ptr()), deadline_ns) } {
            entry.state.arm();
        } else {
            self.replace(timer, deadline_ns);
        }
    }

    /// Arms another entry instead of one that the heap keeps until its old time has come.
    #[cold]
    fn replace(&mut self, timer: &mut ArmedTimer, deadline_ns: u64) {
        // SAFETY: the caller is owner and sleeper.
        let waker = self.own(timer).waker.with_mut(|slot| unsafe { (*slot).take() });
        *timer = self.arm(deadline_ns, waker);
    }

    /// Takes a timer of this owner's out, due or not. The waker is to be dropped outside.
    #[must_use = "user code must not run here"]
    pub fn disarm(&mut self, timer: ArmedTimer) -> Option<Waker> {
        let entry = self.own(&timer);
        let is_fired = entry.state.is_fired_here();
        // SAFETY: the caller is owner and sleeper.
        let waker = entry.waker.with_mut(|slot| unsafe { (*slot).take() });
        let entry = timer.as_ptr();
        // SAFETY: in this wheel, or fired and in none.
        if is_fired || unsafe { self.wheel.remove(node_of(entry)) } {
            // SAFETY: the sleeper leaves, and the wheel has let go of it.
            unsafe { TimerEntry::free(entry) };
        }
        waker
    }

    fn own<'a>(&self, timer: &'a ArmedTimer) -> &'a TimerEntry {
        let entry = timer.entry();
        debug_assert_eq!(entry.owner, self.id, "this timer is in another wheel");
        entry
    }

    /// Takes out what sleepers elsewhere have left.
    pub fn clear_left(&mut self, inbox: &TimerInbox) {
        if inbox.is_empty() {
            return;
        }
        inbox.drain(|entry| {
            // SAFETY: the entry is ours by now, and in this wheel or, if its time has come, in none.
            if unsafe { self.wheel.remove(node_of(entry)) } {
                // SAFETY: as above; its sleeper has taken the waker.
                unsafe { TimerEntry::free(entry) };
            }
        });
    }

    /// Fires what is due at `now_ns`, the earliest first, until `wakers` is full. True if there may be
    /// more.
    pub fn fire(&mut self, now_ns: u64, wakers: &mut WakeList) -> bool {
        while wakers.can_push() {
            match self.wheel.pop(now_ns) {
                None => return false,
                Some(popped) => self.fire_one(popped, wakers),
            }
        }
        true
    }

    fn fire_one(&mut self, popped: Popped, wakers: &mut WakeList) {
        match popped {
            Popped::Released(node) => {
                // SAFETY: its sleeper has left, through the inbox or here, and the wheel just let go.
                unsafe { TimerEntry::free(entry_of(node)) };
            }
            Popped::Due(node) => {
                // SAFETY: we are the owner, and this time of it comes once.
                if let Some(waker) = unsafe { TimerEntry::fire(entry_of(node)) } {
                    prefetch(waker.data(), WOKEN_LINES);
                    wakers.push(waker);
                }
            }
        }
    }

    /// As [`fire`](Self::fire), for all timers whenever they are due: the runtime ends.
    pub fn fire_all(&mut self, wakers: &mut WakeList) -> bool {
        while wakers.can_push() {
            match self.wheel.pop_any() {
                None => return false,
                Some(popped) => self.fire_one(popped, wakers),
            }
        }
        true
    }

    /// Whether there is nothing to wait for.
    pub fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }

    /// When to look next; none if there are no timers. A time that has passed means at once.
    pub fn next_ns(&self) -> Option<u64> {
        self.wheel.next_ns()
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        // After a proper end there are none. A sleeper that is left must not find the wheel gone.
        while self.fire_all(&mut WakeList::new()) {}
    }
}

fn node_of(entry: NonNull<TimerEntry>) -> NonNull<TimerNode> {
    // The node is the entry's first field.
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
