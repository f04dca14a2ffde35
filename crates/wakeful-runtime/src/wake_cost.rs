//! How long it takes to wake a parked thread on this machine, now.
//!
//! The thread that wakes another one stamps the time; the woken thread subtracts the stamp from the
//! time at which it runs. The mean depends on the machine and on its load: some microseconds where
//! idle CPUs sleep lightly, tens of them on a virtual machine, up to milliseconds where all CPUs
//! are busy. The scheduler compares queued work with it, and bounds spins by it. One value serves
//! all runtimes of a process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The mean before anything was measured: between a bare machine and a virtual one.
const DEFAULT_NS: u64 = 10_000;

/// Bounds of a measurement. A shorter one is of a thread that was not asleep yet. A longer one is
/// of a thread that waited for a CPU, and says little about the next wake-up.
const MIN_NS: u64 = 2_000;
pub(crate) const MAX_NS: u64 = 1_000_000;

/// The weight of a new measurement is 1/8, so that a few late wake-ups change little.
const WEIGHT_SHIFT: u32 = 3;

static MEAN_NS: AtomicU64 = AtomicU64::new(DEFAULT_NS);

/// Returns the mean time from a wake-up to the woken thread's first step.
pub(crate) fn get() -> Duration {
    Duration::from_nanos(get_ns())
}

/// Returns the same in nanoseconds.
pub(crate) fn get_ns() -> u64 {
    MEAN_NS.load(Relaxed)
}

/// When a thread was last woken. Std's type even under loom, since no memory is published through
/// it: a lost or mixed-up stamp only makes one measurement wrong.
pub(crate) struct WakeStamp(AtomicU64);

impl WakeStamp {
    pub(crate) const fn new() -> WakeStamp {
        WakeStamp(AtomicU64::new(0))
    }

    /// Stamps the time, on the thread that wakes another one.
    pub(crate) fn set(&self) {
        // Loom models have no time, and need the same decisions in each run.
        if cfg!(wakeful_loom) {
            return;
        }
        self.0.store(ns_since_start(Instant::now()), Relaxed);
    }

    /// Forgets the stamp, on the thread that may be woken.
    pub(crate) fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// Measures the time from the stamp to `now`, on the woken thread. Does nothing without a
    /// stamp.
    pub(crate) fn measure(&self, now: Instant) {
        let stamp = self.0.load(Relaxed);
        if stamp > 0 {
            self.0.store(0, Relaxed);
            add(ns_since_start(now).saturating_sub(stamp));
        }
    }
}

fn add(took_ns: u64) {
    let took_ns = took_ns.clamp(MIN_NS, MAX_NS);
    let before_ns = get_ns();
    let mean_ns = before_ns - (before_ns >> WEIGHT_SHIFT) + (took_ns >> WEIGHT_SHIFT);
    MEAN_NS.store(mean_ns, Relaxed);
}

/// Returns the time since the first call. Never zero, which stands for no stamp.
fn ns_since_start(now: Instant) -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    now.saturating_duration_since(*start).as_nanos() as u64 + 1
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_the_measurements_within_bounds() {
        for _ in 0..200 {
            add(u64::MAX);
        }
        assert!(get_ns() > MAX_NS / 2 && get_ns() <= MAX_NS, "{}", get_ns());
        for _ in 0..200 {
            add(0);
        }
        assert!(get_ns() >= MIN_NS && get_ns() < 2 * MIN_NS, "{}", get_ns());
    }

    #[test]
    fn a_stamp_is_measured_once() {
        let stamp = WakeStamp::new();
        stamp.set();
        assert!(stamp.0.load(Relaxed) > 0);
        stamp.measure(Instant::now());
        assert_eq!(stamp.0.load(Relaxed), 0);
    }
}
