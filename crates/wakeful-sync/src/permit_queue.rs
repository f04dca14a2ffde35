//! A queue of tasks that wait for permits, first in, first out.
//!
//! Used by `batch_semaphore.rs` and by bounded channels (`mpsc/capacity.rs`); the waiting future is
//! in `acquire.rs`. A [`Waiter`] lies inside the waiting future and is linked into the
//! [`PermitQueue`], so that waiting does not allocate. The queue is protected by a lock of the
//! semaphore or channel. The lock's holder assigns permits to the first waiter until it has all it
//! asked for, then to the next one.
//!
//! The life of a waiter that asks for 3 permits:
//!
//! ```text
//!             push                    assign: the last missing permit
//!   (unlinked) ───▶ needed = 3 ──▶ 2 ──────────────────▶ needed = 0, unlinked: granted
//!                      │                                        │ the owner sees the 0 without
//!                      │ remove, remove_all                     ▼ the lock, and may drop it
//!                      ▼                                     (unlinked)
//!                  unlinked, needed > 0: `remove` takes back the permits assigned so far;
//!                  after `remove_all` the waiter has them until its owner calls `remove`
//! ```
//!
//! Access to a waiter's fields:
//!
//! | field | accessed by |
//! |---|---|
//! | `needed` | written by the lock's holder; read by the owner at any time |
//! | `waker` | the lock's holder while the waiter is linked, otherwise the owner |
//! | `links` | the lock's holder |
//!
//! The owner is the future that the waiter is a part of.
//!
//! On 64-bit platforms the upper half of `needed` names the task that waits for all permits of a
//! lock (see `holder.rs`). The grant passes the name to the lock:
//!
//! ```text
//!   63       62                30 29                0
//!   ┌───────┬────────────────────┬───────────────────┐
//!   │ NAMED │ claimant (33 bits) │ permits missing   │   or, without NAMED, 63 bits of permits
//!   └───────┴────────────────────┴───────────────────┘
//! ```

use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::task::Waker;

use wakeful_base::list::{Link, Links, List};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::AtomicUsize;

use wakeful_base::WakeList;

use crate::holder::Claimant;

/// How many permits a waiter needs, and its task.
#[derive(Clone, Copy)]
struct Needed(usize);

impl Needed {
    const NAMED: usize = 1 << (usize::BITS - 1);
    const SHIFT: u32 = usize::BITS - 1 - Claimant::BITS_IN_WAITER;
    const MISSING: usize = (1 << Needed::SHIFT) - 1;

    fn new(missing: usize, claimant: Option<Claimant>) -> Needed {
        match claimant {
            Some(claimant) if Claimant::BITS_IN_WAITER != 0 && missing <= Needed::MISSING => {
                let bits = claimant.bits() as usize;
                Needed(Needed::NAMED | bits << Needed::SHIFT | missing)
            }
            _ => Needed(missing),
        }
    }

    #[inline]
    fn missing(self) -> usize {
        if self.0 & Needed::NAMED == 0 { self.0 } else { self.0 & Needed::MISSING }
    }

    #[inline]
    fn claimant(self) -> Option<Claimant> {
        let named = self.0 & Needed::NAMED != 0;
        named.then(|| Claimant::from_bits((self.0 >> Needed::SHIFT) as u64))
    }

    /// Returns the word after some of the missing permits, but not all, were assigned.
    fn after(self, assigned: usize) -> Needed {
        debug_assert!(assigned < self.missing(), "a waiter that needs nothing is granted");
        Needed(self.0 - assigned)
    }
}

/// A future's entry in a [`PermitQueue`].
pub(crate) struct Waiter {
    /// How many permits are missing, as a [`Needed`]. After the store of 0 only the owner touches
    /// the waiter.
    needed: AtomicUsize,
    waker: UnsafeCell<Option<Waker>>,
    links: Links<Waiter>,
    _pinned: PhantomPinned,
}

// SAFETY: the links and the waker are only accessed under the queue's lock, or by the owner while
// the waiter is not linked; see the table above. A `Waker` may move between threads.
unsafe impl Send for Waiter {}
// SAFETY: as above. A shared borrow alone gives access to `needed` only, which is atomic.
unsafe impl Sync for Waiter {}

struct WaiterLink;

// SAFETY: `links` always returns the same field of the node, and only the list writes to it.
unsafe impl Link for WaiterLink {
    type Node = Waiter;

    unsafe fn links(node: NonNull<Waiter>) -> NonNull<Links<Waiter>> {
        // SAFETY: the node is live (the trait's contract). `&raw mut` creates no reference to the
        // node, whose owner may be using other fields.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

impl Waiter {
    pub(crate) fn new() -> Self {
        Waiter {
            needed: AtomicUsize::new(0),
            waker: UnsafeCell::new(None),
            links: Links::new(),
            _pinned: PhantomPinned,
        }
    }

    /// Returns whether the waiter has all its permits. Stays true until the waiter is removed.
    #[inline]
    pub(crate) fn is_granted(&self) -> bool {
        self.needed.load(Acquire) == 0
    }

    /// Returns what is missing. Only under the queue's lock.
    #[inline]
    fn needed(&self) -> Needed {
        Needed(self.needed.load(Relaxed))
    }

    /// Takes the waker that a waiter keeps when it is removed without a grant.
    ///
    /// # Safety
    /// Only its owner may call this, and the waiter must be in no queue.
    pub(crate) unsafe fn take_waker(&self) -> Option<Waker> {
        // SAFETY: the waker of a waiter that is not linked belongs to the owner, the caller.
        self.waker.with_mut(|place| unsafe { (*place).take() })
    }
}

/// The waiters in the order in which they came.
pub(crate) struct PermitQueue {
    waiters: List<WaiterLink>,
}

impl PermitQueue {
    pub(crate) const fn new() -> Self {
        PermitQueue { waiters: List::new() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Returns the number of waiters, or `max` if there are more.
    pub(crate) fn len_up_to(&self, max: usize) -> usize {
        self.waiters.len_up_to(max)
    }

    /// Appends `waiter`, which needs `needed` permits, for `claimant` if that is to be named.
    ///
    /// # Safety
    /// `waiter` must be live and in no queue, and must not move until it has been granted or
    /// removed.
    pub(crate) unsafe fn push(
        &mut self,
        waiter: NonNull<Waiter>,
        needed: usize,
        claimant: Option<Claimant>,
        waker: Waker,
    ) {
        debug_assert_ne!(needed, 0, "a waiter needs at least one permit");
        let Needed(needed) = Needed::new(needed, claimant);
        // SAFETY: the waiter is live and in no queue, so only its owner, the caller, accesses it.
        unsafe {
            let waiter = waiter.as_ref();
            waiter.needed.store(needed, Relaxed);
            waiter.waker.with_mut(|place| *place = Some(waker));
        }
        // SAFETY: by contract the waiter is live, in no queue, and not moved while it is linked.
        unsafe { self.waiters.push_back(waiter) };
    }

    /// Stores `waker` as the one to call and returns the previous one. The permits that are still
    /// missing are for `claimant`: the future may have been moved to another task.
    ///
    /// # Safety
    /// `waiter` must be in this queue.
    pub(crate) unsafe fn set_waker(
        &mut self,
        waiter: NonNull<Waiter>,
        waker: Waker,
        claimant: Option<Claimant>,
    ) -> Option<Waker> {
        // SAFETY: a waiter in this queue is live.
        let waiter = unsafe { waiter.as_ref() };
        let needed = Needed::new(waiter.needed().missing(), claimant);
        waiter.needed.store(needed.0, Relaxed);
        // SAFETY: the waker of a waiter in this queue belongs to the holder of the queue's lock,
        // and that is the caller, since it has the `&mut` to the queue.
        unsafe { waiter.waker.with_mut(|place| (*place).replace(waker)) }
    }

    /// Returns whether `waiter`'s waker wakes the same task as `waker`.
    ///
    /// # Safety
    /// As for [`set_waker`](Self::set_waker).
    pub(crate) unsafe fn will_wake(&self, waiter: NonNull<Waiter>, waker: &Waker) -> bool {
        // SAFETY: as in `set_waker`; `&self` comes from the lock's holder as well.
        unsafe {
            let place =
                |place: *const Option<Waker>| matches!(&*place, Some(w) if w.will_wake(waker));
            waiter.as_ref().waker.with(place)
        }
    }

    /// Unlinks `waiter` if it is in the queue. Returns how many of its `n` permits had been
    /// assigned to it, which now belong to the caller.
    ///
    /// The waiter is then recorded as missing all `n`, so that a second call returns 0.
    ///
    /// # Safety
    /// `waiter` must be live, and in this queue or in none.
    #[must_use = "the permits must be given to others"]
    pub(crate) unsafe fn remove(&mut self, waiter: NonNull<Waiter>, n: usize) -> usize {
        // SAFETY: by contract the waiter is live, and in this list or in none.
        let waiter = unsafe {
            self.waiters.remove(waiter);
            waiter.as_ref()
        };
        let assigned = n - waiter.needed().missing();
        waiter.needed.store(n, Relaxed);
        assigned
    }

    /// Grants the first waiter and returns its waker, if it needs exactly `permits`. Before that,
    /// calls `granted` if the waiter is named.
    #[inline]
    pub(crate) fn assign_to_one(
        &mut self,
        permits: usize,
        granted: impl FnOnce(Claimant),
    ) -> Option<Waker> {
        let first = self.waiters.front()?;
        // SAFETY: a waiter in the queue is live, since its owner must remove it before dropping it.
        let needed = unsafe { first.as_ref() }.needed();
        if needed.missing() != permits {
            return None;
        }
        if let Some(claimant) = needed.claimant() {
            granted(claimant);
        }
        self.grant_first(first)
    }

    /// Assigns permits to waiters in their order, until there are no more permits or waiters or
    /// `wakers` is full. Returns how many permits are left. Calls `granted` before it grants a
    /// named waiter.
    #[inline]
    pub(crate) fn assign(
        &mut self,
        mut permits: usize,
        wakers: &mut WakeList,
        mut granted: impl FnMut(Claimant),
    ) -> usize {
        while permits > 0 && wakers.can_push() {
            let Some(first) = self.waiters.front() else { break };
            // SAFETY: as in `assign_to_one`.
            let needed = unsafe { first.as_ref() }.needed();
            let missing = needed.missing();
            if missing > permits {
                // SAFETY: it is still linked, so still live.
                unsafe { first.as_ref() }.needed.store(needed.after(permits).0, Relaxed);
                return 0;
            }
            permits -= missing;
            if let Some(claimant) = needed.claimant() {
                granted(claimant);
            }
            if let Some(waker) = self.grant_first(first) {
                wakers.push(waker);
            }
        }
        permits
    }

    /// Unlinks `first`, which must be the first waiter, as granted. Returns its waker.
    #[inline]
    fn grant_first(&mut self, first: NonNull<Waiter>) -> Option<Waker> {
        self.waiters.pop_front();
        // SAFETY: the waiter is live until the store of 0: its owner drops it only after it has
        // seen the 0, or after `remove`, for which it needs the lock, which the caller holds. Until
        // the store the waker belongs to the caller as well.
        unsafe {
            let waker = first.as_ref().waker.with_mut(|place| (*place).take());
            first.as_ref().needed.store(0, Release);
            waker
        }
    }

    /// Unlinks waiters without granting them anything, until the queue is empty or `wakers` is
    /// full.
    pub(crate) fn remove_all(&mut self, wakers: &mut WakeList) {
        while wakers.can_push() {
            let Some(first) = self.waiters.pop_front() else { break };
            // SAFETY: the waiter is live, and its waker the caller's: without a grant its owner
            // needs the lock, which the caller holds, before it can drop the waiter.
            let waker = unsafe { first.as_ref().waker.with_mut(|place| (*place).take()) };
            if let Some(waker) = waker {
                wakers.push(waker);
            }
        }
    }
}
