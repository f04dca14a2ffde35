//! One future's place in a line.

use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::task::Waker;

use wakeful_base::list::{Link, Links};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};

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
    /// In no line, and not to enter one again: its owner has seen that the wait is over.
    Over,
}

/// One future's place in a line; lies inside that future, so every byte of it is paid for by each task
/// that waits.
pub(crate) struct Waiter {
    links: Links<Waiter>,
    waker: UnsafeCell<Option<Waker>>,
    /// A [`Place`]. Written by the lock's holder while it says queued, otherwise by the owner.
    place: AtomicU64,
    _pinned: PhantomPinned,
}

/// A waiter's round and stage in one word, the stage in the low bits that a round has no use for.
#[derive(Clone, Copy)]
struct Place(u64);

const _: () = assert!(Place::STAGE_BITS + Round::BITS <= u64::BITS, "a round keeps all its bits");

impl Place {
    const STAGE_BITS: u32 = 3;
    const STAGE_MASK: u64 = (1 << Self::STAGE_BITS) - 1;

    #[inline]
    fn new(round: Round, stage: Stage) -> Self {
        Place((round.to_bits() << Self::STAGE_BITS) | stage as u64)
    }

    /// Of a waiter whose round nobody will ask for.
    #[inline]
    fn without_round(stage: Stage) -> Self {
        Place::new(Round::FIRST, stage)
    }

    #[inline]
    fn round(self) -> Round {
        Round::from_bits(self.0 >> Self::STAGE_BITS)
    }

    #[inline]
    fn stage(self) -> Stage {
        match self.0 & Self::STAGE_MASK {
            0 => Stage::Idle,
            1 => Stage::Queued,
            2 => Stage::First,
            3 => Stage::Last,
            4 => Stage::All,
            5 => Stage::Over,
            _ => unreachable!("a stage is only ever stored from a `Stage`"),
        }
    }
}

// SAFETY: `waker` and `links` are touched under the queue's lock or, outside a line, by the owner.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    /// An idle waiter, of no round in particular.
    #[inline]
    pub(crate) fn new() -> Self {
        Waiter::since(Round::FIRST)
    }

    /// An idle waiter that was made in `round`.
    #[inline]
    pub(crate) fn since(round: Round) -> Self {
        Waiter {
            links: Links::new(),
            waker: UnsafeCell::new(None),
            place: AtomicU64::new(Place::new(round, Stage::Idle).0),
            _pinned: PhantomPinned,
        }
    }

    /// Where the waiter stands. If it was released, what its releaser did before is visible.
    #[inline]
    pub(crate) fn stage(&self) -> Stage {
        Place(self.place.load(Acquire)).stage()
    }

    /// Whether its owner has seen that the wait is over.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        // Relaxed: only the owner writes this stage.
        self.place.load(Relaxed) & Place::STAGE_MASK == Stage::Over as u64
    }

    /// The round in which a queued waiter came, or one that has not yet been in a line was made.
    ///
    /// Only for its owner and, while it is queued, for the holder of its line's lock.
    #[inline]
    pub(crate) fn round(&self) -> Round {
        // Relaxed: the owner wrote it, under the lock if it has been in a line.
        Place(self.place.load(Relaxed)).round()
    }

    /// Makes a released waiter ready to enter again.
    ///
    /// Only its owner calls this.
    #[inline]
    pub(crate) fn reset(&self) {
        self.step_outside(Stage::Idle);
    }

    /// Makes a waiter that is in no line say for good that its wait is over.
    ///
    /// Only its owner calls this.
    #[inline]
    pub(crate) fn finish(&self) {
        self.step_outside(Stage::Over);
    }

    #[inline]
    fn step_outside(&self, stage: Stage) {
        debug_assert_ne!(self.stage(), Stage::Queued, "a waiter in line belongs to the line");
        self.place.store(Place::without_round(stage).0, Relaxed);
    }

    /// Goes from idle to queued.
    ///
    /// # Safety
    /// Only its owner, under the lock of the line it is about to enter.
    #[inline]
    pub(super) unsafe fn park(&self, round: Round, waker: Option<Waker>) {
        // SAFETY: an idle waiter belongs to its owner, the caller.
        let before =
            self.waker.with_mut(|current| unsafe { std::mem::replace(&mut *current, waker) });
        debug_assert!(before.is_none(), "an idle waiter has no waker");
        // Not a drop, which would have to look whether there is a waker.
        std::mem::forget(before);
        self.place.store(Place::new(round, Stage::Queued).0, Relaxed);
    }

    /// Goes from queued to `stage`. Its owner may drop it from here on.
    ///
    /// # Safety
    /// Only the holder of its line's lock, while it is queued.
    #[inline]
    pub(super) unsafe fn release(&self, stage: Stage) -> Option<Waker> {
        // SAFETY: a queued waiter belongs to the lock's holder, the caller.
        let waker = self.waker.with_mut(|waker| unsafe { (*waker).take() });
        self.place.store(Place::without_round(stage).0, Release);
        waker
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
        self.waker.with_mut(|current| {
            // SAFETY: as in `release`.
            let current = unsafe { &mut *current };
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
