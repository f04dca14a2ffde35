use super::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// Both sides write one word and read the other's, over and over: at least one must see the other's
/// write.
#[test]
fn at_least_one_side_sees_the_other() {
    const ROUNDS: usize = 50_000;
    let (a, b) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (saw_a, missed, refused) = (false.into(), AtomicBool::new(false), AtomicBool::new(false));
    let met = AtomicUsize::new(0);
    let meet = |times: usize| {
        met.fetch_add(1, AcqRel);
        let mut spins = 0;
        while met.load(Acquire) < 2 * times {
            spins += 1;
            if spins % 100 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    };
    let saw_a: &AtomicBool = &saw_a;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                meet(2 * round - 1);
                b.store(round, Relaxed);
                refused.fetch_or(!heavy_fence(), Relaxed);
                saw_a.store(a.load(Relaxed) == round, Relaxed);
                meet(2 * round);
            }
        });
        let light = LightFence::new();
        for round in 1..=ROUNDS {
            meet(2 * round - 1);
            a.store(round, Relaxed);
            light.fence();
            let saw_b = b.load(Relaxed) == round;
            meet(2 * round);
            missed.fetch_or(!saw_b && !saw_a.load(Relaxed), Relaxed);
        }
    });
    assert!(!refused.into_inner(), "the kernel refused a fence that it said it has");
    assert!(!missed.into_inner(), "each side read the old value");
}
