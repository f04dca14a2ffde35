use super::WakerSlot;
use loom::sync::Arc;
use loom::thread;
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Wake, Waker};

// Loom's own types would add to the states to explore and are not what is checked here.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Loom takes `SeqCst` accesses for weaker ones than they are, so that "armed before the push was seen"
/// cannot be modelled; that the slot is never touched by two at a time can.
#[test]
fn two_takers_and_the_owner_never_share_the_slot() {
    loom::model(|| {
        let slot = Arc::new(WakerSlot::new());
        let [first, second] = [StdArc::<Count>::default(), StdArc::<Count>::default()];
        // SAFETY: only this thread arms.
        unsafe { slot.arm(&Waker::from(first.clone())) };
        let takers = [(); 2].map(|()| {
            let slot = slot.clone();
            thread::spawn(move || slot.take().map(Waker::wake).is_some())
        });
        // SAFETY: as above.
        unsafe { slot.arm(&Waker::from(second.clone())) };
        let taken = takers.map(|taker| taker.join().unwrap());
        let left = slot.take().is_some();
        let wakes = first.0.load(SeqCst) + second.0.load(SeqCst);
        // An owner that met a taker woke the second waker itself, and left nothing behind.
        let taken = taken.into_iter().filter(|&taken| taken).count();
        assert!(taken <= 2 && wakes >= taken && wakes <= taken + 1);
        assert!(left || second.0.load(SeqCst) > 0, "the second waker is neither left nor woken");
    });
}
