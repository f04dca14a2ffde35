//! Models in which the owner arms while other threads take.
//!
//! At most one thread accesses the slot at a time, and no wake-up is lost.

use super::WakerSlot;
use crate::scheduler::inject::InjectionQueue;
use crate::testing::{CloneHook, Entries, model};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Wake, Waker};
use wakeful_base::sync::thread;

// An atomic of std, so that the model sees only the ordering of the slot.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Count {
    fn get(&self) -> usize {
        self.0.load(SeqCst)
    }
}

fn arm(slot: &WakerSlot, count: &Arc<Count>) {
    // SAFETY: in each model only the first thread calls this.
    unsafe { slot.arm(&Waker::from(count.clone())) };
}

#[test]
fn two_takers_and_the_owner_never_share_the_slot() {
    model(|| {
        let slot = Arc::new(WakerSlot::new());
        let [first, second] = [Arc::<Count>::default(), Arc::<Count>::default()];
        arm(&slot, &first);
        let takers = [(); 2].map(|()| {
            let slot = slot.clone();
            thread::spawn(move || usize::from(slot.take().map(Waker::wake).is_some()))
        });
        arm(&slot, &second);
        let taken: usize = takers.map(|taker| taker.join().unwrap()).into_iter().sum();
        let is_left = slot.take().is_some();
        // If the owner meets a taker, it wakes the second waker itself and leaves the slot empty.
        let wakes = first.get() + second.get();
        assert!((taken..=taken + 1).contains(&wakes), "{wakes} wake-ups by {taken} takers");
        assert!(is_left || second.get() > 0, "the second waker is neither left nor woken");
    });
}

#[test]
fn a_push_is_seen_or_wakes_the_owner() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        let (slot, count) = (Arc::new(WakerSlot::new()), Arc::<Count>::default());
        let pushers = [(); 2].map(|()| {
            let (queue, slot, entry) = (queue.clone(), slot.clone(), made.make());
            thread::spawn(move || {
                queue.push(entry).unwrap();
                if let Some(waker) = slot.take() {
                    waker.wake();
                }
            })
        });
        arm(&slot, &count);
        let mut got = Vec::new();
        if !queue.is_empty() {
            queue.pop_many(|len| len, |entry| got.push(entry));
        }
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert!(
            got.len() == 2 || count.get() > 0,
            "a push was neither seen nor followed by a wake-up"
        );
        got.extend(std::iter::from_fn(|| queue.pop()));
        made.assert_all(got);
    });
}

/// A waker whose calls synchronize with the next poll, as those of an executor do.
#[derive(Default)]
struct Executor {
    is_woken: wakeful_base::sync::atomic::AtomicBool,
}

impl Wake for Executor {
    fn wake(self: Arc<Self>) {
        self.is_woken.swap(true, AcqRel);
    }
}

#[test]
fn arming_the_same_waker_again_loses_no_push() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        let (slot, executor) = (Arc::new(WakerSlot::new()), Arc::<Executor>::default());
        let pushers = [(); 2].map(|()| {
            let (queue, slot, entry) = (queue.clone(), slot.clone(), made.make());
            thread::spawn(move || {
                queue.push(entry).unwrap();
                if let Some(waker) = slot.take() {
                    waker.wake();
                }
            })
        });
        let (waker, mut got) = (Waker::from(executor.clone()), Vec::new());
        for _poll in 0..2 {
            executor.is_woken.swap(false, AcqRel);
            // SAFETY: only this thread calls `arm`.
            unsafe { slot.arm(&waker) };
            if !queue.is_empty() {
                queue.pop_many(|len| len, |entry| got.push(entry));
            }
        }
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert!(
            got.len() == 2 || executor.is_woken.swap(false, AcqRel),
            "a push was neither seen nor followed by a wake-up"
        );
        got.extend(std::iter::from_fn(|| queue.pop()));
        made.assert_all(got);
    });
}

#[test]
fn a_clone_that_arms_the_slot_never_shares_it_with_a_taker() {
    model(|| {
        let slot = Arc::new(WakerSlot::new());
        let [first, inner] = [Arc::<Count>::default(), Arc::<Count>::default()];
        arm(&slot, &first);
        let taker = {
            let slot = slot.clone();
            thread::spawn(move || usize::from(slot.take().map(Waker::wake).is_some()))
        };
        let for_clone = (slot.clone(), inner.clone());
        let outer = CloneHook::new(move || arm(&for_clone.0, &for_clone.1));
        // SAFETY: only this thread calls `arm`.
        unsafe { slot.arm(&outer.waker()) };
        let taken = taker.join().unwrap();
        let is_left = slot.take().is_some();
        let wakes = first.get() + inner.get() + outer.wakes();
        // Each of the two calls of `arm` may meet the taker, and then wakes its own waker.
        assert!((taken..=taken + 2).contains(&wakes), "{wakes} wake-ups by {taken} takers");
        assert!(is_left || outer.wakes() > 0, "the outer waker is neither left nor woken");
        // The clone's own, and the model's: each waker has been dropped.
        let counts = [Arc::strong_count(&first), Arc::strong_count(&inner)];
        assert_eq!((counts, Arc::strong_count(&outer)), ([1, 2], 1));
    });
}

#[test]
fn a_clone_that_panics_loses_no_wake_up() {
    model(|| {
        let (slot, first) = (Arc::new(WakerSlot::new()), Arc::<Count>::default());
        arm(&slot, &first);
        let taker = {
            let slot = slot.clone();
            thread::spawn(move || slot.take().map(Waker::wake).is_some())
        };
        let panics = CloneHook::new(|| std::panic::resume_unwind(Box::new("the clone panics")));
        // SAFETY: only this thread calls `arm`.
        let armed = catch_unwind(AssertUnwindSafe(|| unsafe { slot.arm(&panics.waker()) }));
        let is_taken = taker.join().unwrap();
        assert!(armed.is_err() && is_taken, "the clone panics; `take` finds the previous waker");
        assert_eq!((first.get(), panics.wakes()), (1, 0));
    });
}
