//! One future's place in a line.

use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::task::Waker;

use wakeful_base::list::{Link, Links};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicU8, Ordering::*};

use super::Round;

/// Where a waiter stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Stage {
    /// In no line.
    Idle,
    /// In line.
    Queued,
    /// Released alone, as the first in line.
    First,
    /// Released alone, as the last in line.
    Last,
    /// Released with all others of its round.
    All,
}

impl Stage {
    #[inline]
    fn from_u8(stage: u8) -> Self {
        match stage {
            0 => Stage::Idle,
            1 => Stage::Queued,
            2 => Stage::First,
            3 => Stage::Last,
            4 => Stage::All,
            _ => unreachable!("a stage is only ever stored from a `Stage`"),
        }
    }
}

/// One future's place in a line; lies inside that future.
pub(crate) struct Waiter {
    links: Links<Waiter>,
    parked: UnsafeCell<Parked>,
    stage: AtomicU8,
    _pinned: PhantomPinned,
}

struct Parked {
    waker: Option<Waker>,
    /// The round the waiter came in.
    round: Round,
}

// SAFETY: `parked` and `links` are touched under the queue's lock or, outside a line, by the owner.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    #[inline]
    pub(crate) fn new() -> Self {
        Waiter {
            links: Links::new(),
            parked: UnsafeCell::new(Parked { waker: None, round: Round::FIRST }),
            stage: AtomicU8::new(Stage::Idle as u8),
            _pinned: PhantomPinned,
        }
    }

    /// Where the waiter stands. If it was released, what its releaser did before is visible.
    #[inline]
    pub(crate) fn stage(&self) -> Stage {
        Stage::from_u8(self.stage.load(Acquire))
    }

    /// Makes a released waiter ready to enter again.
    ///
    /// Only its owner calls this.
    #[inline]
    pub(crate) fn reset(&self) {
        debug_assert_ne!(self.stage(), Stage::Queued, "a waiter in line belongs to the line");
        self.stage.store(Stage::Idle as u8, Relaxed);
    }

    /// Goes from idle to queued.
    ///
    /// # Safety
    /// Only its owner, under the lock of the line it is about to enter.
    #[inline]
    pub(super) unsafe fn park(&self, round: Round, waker: Option<Waker>) {
        // SAFETY: an idle waiter belongs to its owner, the caller.
        let before = self
            .parked
            .with_mut(|parked| unsafe { std::mem::replace(&mut *parked, Parked { waker, round }) });
        debug_assert!(before.waker.is_none(), "an idle waiter has no waker");
        // Not a drop, which would have to look whether there is a waker.
        std::mem::forget(before);
        self.stage.store(Stage::Queued as u8, Relaxed);
    }

    /// Goes from queued to `stage`. Its owner may drop it from here on.
    ///
    /// # Safety
    /// Only the holder of its line's lock, while it is queued.
    #[inline]
    pub(super) unsafe fn release(&self, stage: Stage) -> Option<Waker> {
        // SAFETY: a queued waiter belongs to the lock's holder, the caller.
        let waker = self.parked.with_mut(|parked| unsafe { (*parked).waker.take() });
        self.stage.store(stage as u8, Release);
        waker
    }

    /// The round it came in.
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    #[inline]
    pub(super) unsafe fn round(&self) -> Round {
        // SAFETY: as in `release`.
        self.parked.with(|parked| unsafe { (*parked).round })
    }

    /// See [`LockedLine::set_waker`](super::LockedLine::set_waker).
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    pub(super) unsafe fn set_waker(
        &self,
        waker: &Waker,
        fresh: &mut Option<Waker>,
    ) -> Option<Option<Waker>> {
        self.parked.with_mut(|parked| {
            // SAFETY: as in `release`.
            let current = unsafe { &mut (*parked).waker };
            match current {
                Some(old) if old.will_wake(waker) => Some(None),
                _ => fresh.take().map(|fresh| current.replace(fresh)),
            }
        })
    }
}

/// Finds a waiter's links.
pub(super) struct ByLinks;

// SAFETY: `links` is a field of the waiter; the list alone writes to it.
unsafe impl Link for ByLinks {
    type Node = Waiter;

    unsafe fn links(node: NonNull<Waiter>) -> NonNull<Links<Waiter>> {
        // SAFETY: the caller gives a live waiter, so its field is in bounds.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}
