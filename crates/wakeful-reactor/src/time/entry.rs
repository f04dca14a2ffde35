//! A timer entry, which a sleeper and a wheel share.
//!
//! Each entry is an allocation of its own, so that the sleeper (a `Sleep`) can be dropped on any
//! thread, at any time, without waiting for the wheel's owner. Access to the fields:
//!
//! - `node`: the owner of the wheel, from `arm` until the entry is `FIRED` or freed
//! - `state`: see `state.rs`
//! - `waker`: as the state says
//! - `owner`: written by the thread that arms the entry, then only read
//! - `next`: the thread that pushes the entry to an inbox, then the owner of the inbox

use super::state::{EntryState, Fire, Leave};
use super::wheel::TimerNode;
use std::ptr::{self, NonNull};
use std::task::{Poll, Waker};
use wakeful_base::on_unwind::drop_all;
use wakeful_base::slab_alloc;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::AtomicPtr;

/// The id of a wheel within its runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerId(pub u32);

// The node is the first field, so that a pointer to it can be cast to a pointer to the entry.
#[repr(C)]
#[derive(Debug)]
pub(super) struct TimerEntry {
    pub(super) node: TimerNode,
    pub(super) state: EntryState,
    pub(super) owner: OwnerId,
    pub(super) waker: UnsafeCell<Option<Waker>>,
    pub(super) next: AtomicPtr<TimerEntry>,
}

/// The sleeper's reference to an armed entry.
#[derive(Debug)]
#[must_use = "a timer that is neither left nor disarmed is never freed"]
pub struct ArmedTimer(NonNull<TimerEntry>);

// SAFETY: the sleeper may be on any thread. The state word says which side may access what.
unsafe impl Send for ArmedTimer {}
// SAFETY: a shared reference gives access only to the state word and to `owner`, which is only
// read.
unsafe impl Sync for ArmedTimer {}

/// An entry on its way to its owner's inbox.
#[derive(Debug)]
#[must_use = "it must be pushed to its owner's inbox"]
pub struct LeftEntry(pub(super) NonNull<TimerEntry>);

/// What remains to be done after the sleeper has left its timer.
#[derive(Debug)]
#[must_use = "the entry may have to be pushed to its owner's inbox"]
pub enum LeftTimer {
    /// The entry must be pushed to its owner's inbox. The waker may be dropped or reused.
    ToInbox(LeftEntry, Option<Waker>),
    /// Nothing: the entry is freed, or its owner frees it.
    Gone,
}

impl ArmedTimer {
    /// # Safety
    /// The caller must be the only sleeper of a live entry.
    pub(super) unsafe fn from_raw(entry: NonNull<TimerEntry>) -> ArmedTimer {
        ArmedTimer(entry)
    }

    pub(super) fn as_ptr(&self) -> NonNull<TimerEntry> {
        self.0
    }

    pub(super) fn entry(&self) -> &TimerEntry {
        // SAFETY: an entry lives at least until its sleeper leaves.
        unsafe { self.0.as_ref() }
    }

    /// Returns the id of the wheel that the timer is in.
    pub fn owner(&self) -> OwnerId {
        self.entry().owner
    }

    /// Returns whether the deadline has passed.
    pub fn is_due(&self) -> bool {
        self.entry().state.is_due()
    }

    /// Makes the timer wake `waker` when it is due. Returns `Ready` if it is due already.
    ///
    /// Callable from any thread. On the owner's thread, [`Timers`](super::Timers) has cheaper
    /// methods. Clones and drops wakers, which is user code.
    pub fn poll(&mut self, waker: &Waker) -> Poll<()> {
        let entry = self.entry();
        if !entry.state.begin_change() {
            return Poll::Ready(());
        }
        // Cloned only after `end_change`: a clone runs external code, which may block or panic, and
        // must not hold the entry up.
        // SAFETY: `begin_change` gave us access to the waker.
        let is_same = entry
            .waker
            .with(|slot| unsafe { (*slot).as_ref().is_some_and(|set| set.will_wake(waker)) });
        if is_same {
            return if entry.state.end_change() {
                Poll::Pending
            } else {
                self.due_while_changing(None)
            };
        }
        if !entry.state.end_change() {
            return self.due_while_changing(None);
        }
        let new = waker.clone();
        if !entry.state.begin_change() {
            return Poll::Ready(());
        }
        // SAFETY: as above.
        let old = entry.waker.with_mut(|slot| unsafe { (*slot).replace(new) });
        if entry.state.end_change() {
            drop(old);
            return Poll::Pending;
        }
        self.due_while_changing(old)
    }

    /// Takes the wakers of an entry that became due while the sleeper was changing its waker: the
    /// owner has left the entry, with the waker, to the sleeper.
    ///
    /// `old` is the waker that was in the entry before, if the sleeper has replaced it. The drop of
    /// either waker may panic. Both are taken out of the entry first, so that it can be freed.
    fn due_while_changing(&mut self, old: Option<Waker>) -> Poll<()> {
        // SAFETY: the state is `FIRED`, so only the sleeper accesses the entry.
        let set = self.entry().waker.with_mut(|slot| unsafe { (*slot).take() });
        let mut wakers = [old, set];
        drop_all(|| wakers.iter_mut().find_map(Option::take));
        Poll::Ready(())
    }

    /// Leaves the timer, due or not. Callable from any thread. On the owner's thread,
    /// [`Timers::disarm`](super::Timers::disarm) is cheaper.
    pub fn leave(self) -> LeftTimer {
        let entry = self.entry();
        match entry.state.leave() {
            Leave::Free => {
                // SAFETY: `FIRED`: only the sleeper has the entry, and its waker has been taken.
                unsafe { TimerEntry::free(self.0) };
                LeftTimer::Gone
            }
            Leave::OwnerFrees => LeftTimer::Gone,
            Leave::ToInbox => {
                // SAFETY: `LEFT`: the owner does not access the waker until the entry is in its
                // inbox.
                let waker = entry.waker.with_mut(|slot| unsafe { (*slot).take() });
                LeftTimer::ToInbox(LeftEntry(self.0), waker)
            }
        }
    }
}

impl TimerEntry {
    /// Creates an armed entry for a sleeper and for `owner`, which adds it to its wheel.
    #[inline]
    pub(super) fn armed(owner: OwnerId, waker: Option<Waker>) -> NonNull<TimerEntry> {
        #[cfg(test)]
        live::add(1);
        let entry = slab_alloc::allocate();
        let state = EntryState::new();
        state.arm();
        // SAFETY: just allocated for this type and not shared yet.
        unsafe {
            entry.write(TimerEntry {
                node: TimerNode::new(),
                state,
                owner,
                waker: UnsafeCell::new(waker),
                next: AtomicPtr::new(ptr::null_mut()),
            });
        }
        entry
    }

    /// # Safety
    /// No other thread may have access to the entry, which must be in no wheel and without a waker.
    #[inline]
    pub(super) unsafe fn free(entry: NonNull<TimerEntry>) {
        #[cfg(test)]
        live::add(-1);
        // SAFETY: `armed` allocated it for this type, and nothing else refers to it.
        unsafe {
            entry.drop_in_place();
            slab_alloc::free(entry);
        }
    }

    /// Fires an entry that is due and has left its wheel: takes the waker, and frees the entry if
    /// the sleeper has left.
    ///
    /// # Safety
    /// The caller must be the owner, and call this once for each time the entry was armed.
    pub(super) unsafe fn fire(entry: NonNull<TimerEntry>) -> Option<Waker> {
        // SAFETY: an armed entry is freed by its owner only, so it is alive. It is not accessed
        // after `begin_fire` has passed it to the sleeper. After `finish_fire` it is accessed only
        // if the sleeper has left it to the owner.
        let this = unsafe { entry.as_ref() };
        match this.state.begin_fire() {
            Fire::Nothing => None,
            Fire::TakeWaker => {
                // SAFETY: `FIRING`: the waker is the owner's.
                let waker = this.waker.with_mut(|slot| unsafe { (*slot).take() });
                if this.state.finish_fire() {
                    // SAFETY: `FIRING_LEFT`: the sleeper has left the entry to the owner.
                    unsafe { TimerEntry::free(entry) };
                }
                waker
            }
        }
    }
}

/// The number of entries that this thread's tests have created and not freed. Loom runs a whole
/// model on one thread.
#[cfg(test)]
pub(super) mod live {
    use std::cell::Cell;

    thread_local! {
        static LIVE: Cell<isize> = const { Cell::new(0) };
    }

    pub(crate) fn add(change: isize) {
        LIVE.set(LIVE.get() + change);
    }

    #[allow(dead_code)]
    pub(crate) fn count() -> isize {
        LIVE.get()
    }
}
