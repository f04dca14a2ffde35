//! Models in which the owner arms while other threads take.
//!
//! At most one thread accesses the slot at a time, and no wake-up is lost.

use super::WakerSlot;
use crate::scheduler::inject::InjectionQueue;
use crate::testing::{Entries, model};
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
