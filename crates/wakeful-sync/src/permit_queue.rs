//! Those who wait for permits, first come first served.
//!
//! A [`Waiter`] lies inside the waiting future and is linked into the [`PermitQueue`] of what it waits
//! for, so that waiting allocates nothing. The queue lives under a lock; its holder deals permits to
//! the first waiter until that one has all it asked for, then to the next.
//!
//! ```text
//!             push                    deal: the last permit it needed
//!   (unlinked) ───▶ needed = 3 ──▶ 2 ──────────────────▶ needed = 0, unlinked: granted
//!                      │                                        │ the owner sees the 0 without
//!                      │ remove, remove_all                     ▼ the lock, and may be gone at once
//!                      ▼                                     (unlinked)
//!                  unlinked, needed > 0: remove takes back what it was dealt so far,
//!                  after remove_all that stays with it until it leaves
//! ```
//!
//! Who may touch a waiter's fields, and when:
//!
//! | field | touched by |
//! |---|---|
//! | `needed` | written under the lock; read by the owner at any time |
//! | `waker` | the lock's holder, while the waiter is linked; its owner otherwise |
//! | `links` | the lock's holder |

use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::task::Waker;

use wakeful_base::list::{Link, Links, List};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::AtomicUsize;

use wakeful_base::WakeList;

/// One who waits.
pub(crate) struct Waiter {
    /// How many permits are still to come. The store of 0 is the last touch by anybody but the owner.
    needed: AtomicUsize,
    waker: UnsafeCell<Option<Waker>>,
    links: Links<Waiter>,
    _pinned: PhantomPinned,
}

// SAFETY: the links and the waker are only touched under the queue's lock, or by the owner while the
// waiter is in no queue; see the table above.
unsafe impl Send for Waiter {}
// SAFETY: as above; a shared borrow alone gives access to `needed` only, which is atomic.
unsafe impl Sync for Waiter {}

struct WaiterLink;

// SAFETY: the links are a field of the node, which only the list writes to.
unsafe impl Link for WaiterLink {
    type Node = Waiter;

    unsafe fn links(node: NonNull<Waiter>) -> NonNull<Links<Waiter>> {
        // SAFETY: the node is live by contract; no reference to the whole of it is made.
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

    /// Whether all that was asked for has been dealt. Once it is, that stays so until it leaves.
    #[inline]
    pub(crate) fn is_granted(&self) -> bool {
        self.needed.load(Acquire) == 0
    }
}

/// The queue, first comer in front.
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

    /// Puts `waiter` last, for `needed` permits.
    ///
    /// # Safety
    /// `waiter` must be live, in no queue, and stay in place until it is granted or was taken out.
    pub(crate) unsafe fn push(&mut self, waiter: NonNull<Waiter>, needed: usize, waker: Waker) {
        debug_assert_ne!(needed, 0, "who needs nothing does not wait");
        // SAFETY: the waiter is live and in no queue, so nobody else touches it.
        unsafe {
            let waiter = waiter.as_ref();
            waiter.needed.store(needed, Relaxed);
            waiter.waker.with_mut(|place| *place = Some(waker));
        }
        // SAFETY: passed on to the caller.
        unsafe { self.waiters.push_back(waiter) };
    }

    /// Makes `waker` the one to call; returns the old one.
    ///
    /// # Safety
    /// `waiter` must be in this queue.
    pub(crate) unsafe fn set_waker(
        &mut self,
        waiter: NonNull<Waiter>,
        waker: Waker,
    ) -> Option<Waker> {
        // SAFETY: being in this queue it is live, and its waker belongs to whoever borrows the queue.
        unsafe { waiter.as_ref().waker.with_mut(|place| (*place).replace(waker)) }
    }

    /// Whether calling `waiter`'s waker is as good as calling `waker`.
    ///
    /// # Safety
    /// As for [`set_waker`](Self::set_waker).
    pub(crate) unsafe fn will_wake(&self, waiter: NonNull<Waiter>, waker: &Waker) -> bool {
        // SAFETY: as in `set_waker`.
        unsafe {
            let place =
                |place: *const Option<Waker>| matches!(&*place, Some(w) if w.will_wake(waker));
            waiter.as_ref().waker.with(place)
        }
    }

    /// Removes `waiter`, if it is in the queue, and takes back what it was dealt of `n` permits; returns how many.
    ///
    /// The waiter needs all of them again then, so a second call returns 0.
    ///
    /// # Safety
    /// `waiter` must be live, and in this queue or in none.
    #[must_use = "the permits must be given to others"]
    pub(crate) unsafe fn remove(&mut self, waiter: NonNull<Waiter>, n: usize) -> usize {
        // SAFETY: passed on to the caller.
        let waiter = unsafe {
            self.waiters.remove(waiter);
            waiter.as_ref()
        };
        let dealt = n - waiter.needed.load(Relaxed);
        waiter.needed.store(n, Relaxed);
        dealt
    }

    /// Deals all `permits` to the first waiter, if it needs as many, and returns its waker.
    #[inline]
    pub(crate) fn deal_to_one(&mut self, permits: usize) -> Option<Waker> {
        let first = self.waiters.front()?;
        // SAFETY: what is in the queue is live.
        if unsafe { first.as_ref() }.needed.load(Relaxed) != permits {
            return None;
        }
        self.grant_first(first)
    }

    /// Deals permits to waiters in their order, until the permits, the waiters or the room in `wakers`
    /// run out. Returns how many permits are left.
    #[inline]
    pub(crate) fn deal(&mut self, mut permits: usize, wakers: &mut WakeList) -> usize {
        while permits > 0 && wakers.can_push() {
            let Some(first) = self.waiters.front() else { break };
            // SAFETY: what is in the queue is live.
            let needed = unsafe { first.as_ref() }.needed.load(Relaxed);
            if needed > permits {
                // SAFETY: still linked, so still live.
                unsafe { first.as_ref() }.needed.store(needed - permits, Relaxed);
                return 0;
            }
            permits -= needed;
            if let Some(waker) = self.grant_first(first) {
                wakers.push(waker);
            }
        }
        permits
    }

    /// Unlinks `first`, which is, as one that has all it asked for.
    #[inline]
    fn grant_first(&mut self, first: NonNull<Waiter>) -> Option<Waker> {
        self.waiters.pop_front();
        // SAFETY: nobody but us knows yet that it is unlinked; it stays live until the store.
        unsafe {
            let waker = first.as_ref().waker.with_mut(|place| (*place).take());
            first.as_ref().needed.store(0, Release);
            waker
        }
    }

    /// Takes waiters out without granting them anything, while there is room in `wakers`.
    pub(crate) fn remove_all(&mut self, wakers: &mut WakeList) {
        while wakers.can_push() {
            let Some(first) = self.waiters.pop_front() else { break };
            // SAFETY: its owner needs the lock to find out that it is unlinked, so it is live.
            let waker = unsafe { first.as_ref().waker.with_mut(|place| (*place).take()) };
            if let Some(waker) = waker {
                wakers.push(waker);
            }
        }
    }
}
