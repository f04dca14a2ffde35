//! A clock that is cheap to read, for times that are recorded with every poll.
//!
//! Where the kernel itself keeps time by the processor's counter, [`now`] reads that counter, which
//! takes a third of the time of an [`Instant`]. The kernel does so only if the counters of all
//! cores agree and run at a constant rate. Elsewhere a tick is a nanosecond of [`Instant`].

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// For how long [`prepare`] measures the counter. The rate is then off by some millionths.
const MEASURE_FOR: Duration = Duration::from_millis(10);

/// The nanoseconds of a tick, with 32 fractional bits, if the counter is used; otherwise zero.
/// Written once, before the first tick is taken.
static TICK_NS: AtomicU64 = AtomicU64::new(0);

/// The start of the ticks that are nanoseconds.
static START: OnceLock<Instant> = OnceLock::new();

/// Decides what a tick is. Takes some milliseconds when it is called first.
///
/// Ticks that were taken before the first call returns mean nothing.
pub fn prepare() {
    START.get_or_init(|| {
        if counter::is_usable() {
            let (begun, first) = (Instant::now(), counter::read());
            std::thread::sleep(MEASURE_FOR);
            let (took, ticks) = (begun.elapsed(), counter::read().wrapping_sub(first));
            let tick_ns = (took.as_nanos() << 32) / u128::from(ticks.max(1));
            TICK_NS.store(tick_ns as u64, Relaxed);
        }
        Instant::now()
    });
}

/// Returns the time in ticks. Only differences mean something, and zero is never returned.
#[inline]
pub fn now() -> u64 {
    // In a model, the clock is paused: each of its runs has to take the same path.
    if cfg!(wakeful_loom) {
        return 1;
    }
    if TICK_NS.load(Relaxed) != 0 { counter::read() } else { now_by_instant() }
}

#[cold]
fn now_by_instant() -> u64 {
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

/// Returns the length of a time in ticks, in nanoseconds.
#[inline]
pub fn to_ns(ticks: u64) -> u64 {
    match TICK_NS.load(Relaxed) {
        0 => ticks,
        tick_ns => ((u128::from(ticks) * u128::from(tick_ns)) >> 32) as u64,
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(miri, wakeful_loom))))]
mod counter {
    /// Returns whether the kernel keeps time by the counter.
    pub(super) fn is_usable() -> bool {
        let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        std::fs::read_to_string(clock).is_ok_and(|name| name.trim() == "tsc")
    }

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction. The kernel lets programs use it,
        // since it uses it for them in the vDSO.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(any(miri, wakeful_loom)))))]
mod counter {
    pub(super) fn is_usable() -> bool {
        false
    }

    pub(super) fn read() -> u64 {
        0
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn ticks_measure_what_an_instant_measures() {
        prepare();
        // A pause between the two readings of the clocks makes one measurement useless, not all.
        let is_right = (0..10).any(|_| {
            let (begun, first) = (Instant::now(), now());
            std::thread::sleep(Duration::from_millis(20));
            let (took, ticks) = (begun.elapsed(), now() - first);
            let ns = Duration::from_nanos(to_ns(ticks));
            ns.abs_diff(took) < took / 500
        });
        assert!(is_right);
        assert_ne!(now(), 0);
    }
}
