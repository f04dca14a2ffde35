use super::WakerSlot;
use crate::testing::CloneHook;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

#[test]
fn a_clone_that_panics_leaves_the_previous_waker_armed() {
    let (slot, count) = (WakerSlot::new(), Arc::<Count>::default());
    arm(&slot, &count);
    let panics = CloneHook::new(|| panic!("the clone of a waker panics"));
    // SAFETY: this test arms on this thread only.
    catch_unwind(AssertUnwindSafe(|| unsafe { slot.arm(&panics.waker()) })).unwrap_err();
    slot.take().expect("the previous waker is still armed").wake();
    assert_eq!((count.0.load(SeqCst), Arc::strong_count(&panics)), (1, 1));
}

#[test]
fn a_clone_may_arm_and_take() {
    let (slot, inner) = (Arc::new(WakerSlot::new()), Arc::<Count>::default());
    let for_clone = (slot.clone(), inner.clone());
    let outer = CloneHook::new(move || {
        let (slot, inner) = &for_clone;
        arm(slot, inner);
        slot.take().expect("the inner waker is armed").wake();
        arm(slot, inner);
    });
    // SAFETY: this test arms on this thread only.
    unsafe { slot.arm(&outer.waker()) };
    assert_eq!((inner.0.load(SeqCst), outer.wakes()), (1, 0));
    slot.take().expect("the outer waker is armed last").wake();
    assert_eq!((inner.0.load(SeqCst), outer.wakes()), (1, 1));
    assert!(slot.take().is_none());
    // The clone's own, and this test's: the slot keeps neither of the wakers.
    assert_eq!((Arc::strong_count(&inner), Arc::strong_count(&outer)), (2, 1));
}

#[test]
fn a_waker_whose_drop_panics_does_not_affect_the_next_poller() {
    struct PanicsOnDrop;
    impl Wake for PanicsOnDrop {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("the drop of a waker panics");
        }
    }
    let (slot, count) = (WakerSlot::new(), Arc::<Count>::default());
    let panics = Waker::from(Arc::new(PanicsOnDrop));
    // SAFETY: this test arms on this thread only.
    unsafe { slot.arm(&panics) };
    drop(panics);
    arm(&slot, &count);
    slot.take().expect("armed").wake();
    assert_eq!(count.0.load(SeqCst), 1);
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
