use super::WakerSlot;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Wake, Waker};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn arm(slot: &WakerSlot, count: &Arc<Count>) {
    // SAFETY: every test calls this on one thread only.
    unsafe { slot.arm(&Waker::from(count.clone())) };
}

#[test]
fn a_waker_is_taken_once() {
    let (slot, count) = (WakerSlot::new(), Arc::<Count>::default());
    assert!(slot.take().is_none());
    arm(&slot, &count);
    slot.take().expect("armed").wake();
    assert!(slot.take().is_none());
    assert_eq!(count.0.load(SeqCst), 1);
}

#[test]
fn the_last_waker_counts_and_earlier_ones_are_dropped() {
    let (slot, counts) = (WakerSlot::new(), [(); 3].map(|()| Arc::<Count>::default()));
    for count in &counts {
        arm(&slot, count);
    }
    assert_eq!(counts.each_ref().map(Arc::strong_count), [1, 1, 2]);
    slot.take().expect("armed").wake();
    assert_eq!(counts.each_ref().map(|count| count.0.load(SeqCst)), [0, 0, 1]);
}

#[test]
fn the_same_waker_again_is_not_cloned() {
    let (slot, count) = (WakerSlot::new(), Arc::<Count>::default());
    let waker = Waker::from(count.clone());
    for _ in 0..3 {
        // SAFETY: this test arms on this thread only.
        unsafe { slot.arm(&waker) };
        assert_eq!(Arc::strong_count(&count), 3);
    }
    assert!(slot.take().is_some());
}

/// The protocol that a set relies on.
///
/// The owner arms and then checks; another thread pushes and then takes. Either the check sees the
/// push, or `take` finds the waker.
#[test]
fn either_the_push_is_seen_or_the_waker_found() {
    let rounds = 20_000;
    let (slot, count) = (WakerSlot::new(), Arc::<Count>::default());
    let (pushed, round) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for now in 1..=rounds {
                while round.load(SeqCst) != now {
                    std::hint::spin_loop();
                }
                pushed.store(now, SeqCst);
                if let Some(waker) = slot.take() {
                    waker.wake();
                }
            }
        });
        for now in 1..=rounds {
            let woken_before = count.0.load(SeqCst);
            round.store(now, SeqCst);
            arm(&slot, &count);
            if pushed.load(SeqCst) != now {
                while count.0.load(SeqCst) == woken_before {
                    std::thread::yield_now();
                }
            }
            while pushed.load(SeqCst) != now {
                std::thread::yield_now();
            }
        }
    });
}
