//! A timer entry: what a sleeper and a wheel share.
//!
//! It is an allocation of its own, so that the sleeper (a `Sleep`) can be dropped anywhere, at any time,
//! without waiting for the wheel's owner. Who may touch which field:
//!
//! - `node`: the owner of the wheel, from `arm` until the entry is `FIRED` or freed
//! - `state`: see `state.rs`
//! - `waker`: as the state says
//! - `owner`: written by who arms the entry, then read only
//! - `next`: who has the entry in an inbox

use super::state::{EntryState, Fire, Leave};
use super::wheel::TimerNode;
use std::ptr::{self, NonNull};
use std::task::{Poll, Waker};
use wakeful_base::slab_alloc;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::AtomicPtr;

/// Which wheel of a runtime a timer is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerId(pub u32);

// The node first, so that a pointer to it is one to the entry.
#[repr(C)]
#[derive(Debug)]
pub(super) struct TimerEntry {
    pub(super) node: TimerNode,
    pub(super) state: EntryState,
    pub(super) owner: OwnerId,
    pub(super) waker: UnsafeCell<Option<Waker>>,
    pub(super) next: AtomicPtr<TimerEntry>,
}

/// The sleeper's hold on an armed entry.
#[derive(Debug)]
#[must_use = "an entry that nobody leaves is never freed"]
pub struct ArmedTimer(NonNull<TimerEntry>);

// SAFETY: the sleeper's side may be on any thread; the state settles who touches what.
unsafe impl Send for ArmedTimer {}
// SAFETY: through a shared borrow only the state and what is read only can be reached.
unsafe impl Sync for ArmedTimer {}

/// An entry on its way to its owner's inbox.
#[derive(Debug)]
#[must_use = "it has to be pushed to its owner's inbox"]
pub struct LeftEntry(pub(super) NonNull<TimerEntry>);

/// What is to be done with a timer that its sleeper has left.
#[derive(Debug)]
#[must_use = "the memory may have to go somewhere"]
pub enum LeftTimer {
    /// It has to be pushed to its owner's inbox. The waker is to be dropped or used again.
    ToInbox(LeftEntry, Option<Waker>),
    /// Nothing: it is freed, or its owner frees it.
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

    /// The wheel it was armed in.
    pub fn owner(&self) -> OwnerId {
        self.entry().owner
    }

    /// Whether its time has come.
    pub fn is_due(&self) -> bool {
        self.entry().state.is_due()
    }

    /// Sees to it that `waker` is called when the time comes, unless it has. From any thread; its own
    /// worker has a cheaper way. User code, that of wakers, runs in here.
    pub fn poll(&mut self, waker: &Waker) -> Poll<()> {
        let entry = self.entry();
        if !entry.state.change() {
            return Poll::Ready(());
        }
        // Not while the entry is held up: a clone is somebody else's code, which may panic.
        // SAFETY: `change` gave us the waker.
        let is_same = entry
            .waker
            .with(|slot| unsafe { (*slot).as_ref().is_some_and(|set| set.will_wake(waker)) });
        if is_same {
            return if entry.state.changed() { Poll::Pending } else { self.due_while_changing() };
        }
        if !entry.state.changed() {
            return self.due_while_changing();
        }
        let new = waker.clone();
        if !entry.state.change() {
            return Poll::Ready(());
        }
        // SAFETY: as above.
        let old = entry.waker.with_mut(|slot| unsafe { (*slot).replace(new) });
        let is_armed = entry.state.changed();
        drop(old);
        if is_armed { Poll::Pending } else { self.due_while_changing() }
    }

    /// The owner found the waker in our hands, and left the entry to us with it.
    fn due_while_changing(&mut self) -> Poll<()> {
        // SAFETY: `FIRED` now, so the entry is ours alone.
        drop(self.entry().waker.with_mut(|slot| unsafe { (*slot).take() }));
        Poll::Ready(())
    }

    /// Leaves the timer, due or not. From any thread; its own worker has a cheaper way.
    pub fn leave(self) -> LeftTimer {
        let entry = self.entry();
        match entry.state.leave() {
            Leave::Free => {
                // SAFETY: `FIRED`: the entry is ours, and its waker taken.
                unsafe { TimerEntry::free(self.0) };
                LeftTimer::Gone
            }
            Leave::ToOwner => LeftTimer::Gone,
            Leave::ToInbox => {
                // SAFETY: `LEFT`: the owner leaves the waker alone until the entry is in its inbox.
                let waker = entry.waker.with_mut(|slot| unsafe { (*slot).take() });
                LeftTimer::ToInbox(LeftEntry(self.0), waker)
            }
        }
    }
}

impl TimerEntry {
    /// A new entry, armed: for `owner`, which puts it into its wheel, and for a sleeper.
    #[inline]
    pub(super) fn armed(owner: OwnerId, waker: Option<Waker>) -> NonNull<TimerEntry> {
        #[cfg(test)]
        live::add(1);
        let entry = slab_alloc::allocate();
        let state = EntryState::new();
        state.arm();
        // SAFETY: just allocated for one.
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
    /// The entry must be nobody else's, in no wheel, and without a waker.
    #[inline]
    pub(super) unsafe fn free(entry: NonNull<TimerEntry>) {
        #[cfg(test)]
        live::add(-1);
        // SAFETY: made by `armed`, and nobody else's.
        unsafe {
            entry.drop_in_place();
            slab_alloc::free(entry);
        }
    }

    /// The owner has found the entry due, and out of its wheel: takes the waker, and frees the entry if the sleeper is
    /// gone.
    ///
    /// # Safety
    /// By the owner only, once for each time the entry was armed.
    pub(super) unsafe fn fire(entry: NonNull<TimerEntry>) -> Option<Waker> {
        // SAFETY: until `fired` below the owner keeps the entry.
        let this = unsafe { entry.as_ref() };
        match this.state.fire() {
            Fire::LetGo => None,
            Fire::TakeWaker => {
                // SAFETY: `FIRING`: the waker is the owner's.
                let waker = this.waker.with_mut(|slot| unsafe { (*slot).take() });
                if this.state.fired() {
                    // SAFETY: `FIRING_LEFT`: the entry is ours.
                    unsafe { TimerEntry::free(entry) };
                }
                waker
            }
        }
    }
}

/// Entries that this thread's tests made and did not free yet. Loom runs a whole model on one thread.
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
