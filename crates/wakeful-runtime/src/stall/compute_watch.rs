//! Tells which of the threads whose leases were revoked still compute.
//!
//! Threads that compute share the CPUs, so their number has to be bounded. A thread's CPU clock
//! tells most of it, at the price of one system call and without a file:
//!
//! | CPU time since the last check | the thread |
//! |---|---|
//! | an eighth of the wall time or more | computes |
//! | none, and it was runnable | still is runnable: it computes, but others have the CPUs |
//! | else | is looked up in `/proc`, and blocks unless it is runnable |
//!
//! Where `/proc` cannot be read, a thread counts as computing until its clock has stood still for
//! some time.

use super::OsThread;
use std::time::{Duration, Instant};

/// A thread that has used this share of the wall time computes. Below it, a thread may still
/// compute, if many share a CPU.
const COMPUTING_SHARE: u32 = 8;

/// A thread of unknown state counts as computing until its clock has stood still for this long.
/// Above the time that a thread waits if 30 threads share a CPU in slices of 3 ms.
const SILENCE_MAX: Duration = Duration::from_millis(100);

/// Watches whether one thread computes.
#[derive(Debug)]
pub(crate) struct ComputeWatch {
    computes: bool,
    /// The thread's CPU time at the last check, and when that was. `None` before the first check.
    last: Option<(Duration, Instant)>,
    /// When the CPU time was last seen to grow.
    grew_at: Instant,
    /// The thread's CPU time when its state was looked up.
    looked_up_at: Option<Duration>,
}

impl ComputeWatch {
    /// Begins to watch a thread that stalls. It counts as computing until a check says otherwise.
    pub(crate) fn begin(now: Instant) -> ComputeWatch {
        ComputeWatch { computes: true, last: None, grew_at: now, looked_up_at: None }
    }

    /// Returns what the last check has found.
    pub(crate) fn computes(&self) -> bool {
        self.computes
    }

    /// Checks whether the thread computes.
    pub(crate) fn check(&mut self, thread: Option<&OsThread>, now: Instant) {
        let used = thread.and_then(OsThread::cpu_time);
        self.check_with(used, now, || thread.and_then(OsThread::is_runnable));
    }

    fn check_with(
        &mut self,
        used: Option<Duration>,
        now: Instant,
        is_runnable: impl FnOnce() -> Option<bool>,
    ) {
        let Some(used) = used else {
            // The platform does not say, or the thread has ended.
            self.computes = false;
            return;
        };
        let last = self.last.replace((used, now));
        let grown = last.map(|(before, at)| (used.saturating_sub(before), now - at));
        if grown.is_none_or(|(cpu_time, _)| cpu_time > Duration::ZERO) {
            self.grew_at = now;
        }
        if grown.is_some_and(|(cpu_time, time)| cpu_time > time / COMPUTING_SHARE) {
            self.computes = true;
        } else if self.looked_up_at != Some(used) {
            // The clock is read before the state: if it does not advance from now on, the thread
            // has not run after the lookup, and is runnable if it was so then.
            self.computes = match is_runnable() {
                Some(is_runnable) => {
                    self.looked_up_at = Some(used);
                    is_runnable
                }
                None => now - self.grew_at < SILENCE_MAX,
            };
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    /// Begins a watch, and returns a function that checks at a time with the CPU time used by then,
    /// and the state in `/proc` if it may be looked up.
    fn watch() -> impl FnMut(u64, u64, Option<Option<bool>>) -> bool {
        let begun = Instant::now();
        let mut watch = ComputeWatch::begin(begun);
        assert!(watch.computes());
        move |at_ms, used_us, is_runnable| {
            let now = begun + Duration::from_millis(at_ms);
            let used = Some(Duration::from_micros(used_us));
            let lookup = || is_runnable.expect("no lookup is needed");
            watch.check_with(used, now, lookup);
            watch.computes()
        }
    }

    #[test]
    fn a_thread_that_uses_cpu_time_computes_without_a_lookup() {
        let mut computes = watch();
        assert!(computes(0, 5000, Some(Some(true))), "the first check knows no CPU time");
        assert!(computes(8, 7000, None));
        assert!(computes(16, 9000, None));
    }

    #[test]
    fn a_preempted_thread_computes_with_a_single_lookup() {
        let mut computes = watch();
        assert!(computes(0, 5000, Some(Some(true))));
        for at_ms in 1..1000 {
            assert!(computes(at_ms, 5000, None));
        }
        assert!(computes(1000, 5001, Some(Some(true))), "it has run, and might block by now");
    }

    #[test]
    fn a_thread_that_blocks_is_looked_up_once_until_it_runs() {
        let mut computes = watch();
        assert!(!computes(0, 5000, Some(Some(false))));
        assert!(!computes(100, 5000, None));
        assert!(!computes(102, 5010, Some(Some(false))), "it blocks again");
        assert!(computes(104, 6010, None), "it computes now");
        assert!(!computes(106, 6010, Some(Some(false))));
    }

    #[test]
    fn a_thread_of_unknown_state_computes_until_it_is_silent() {
        let mut computes = watch();
        assert!(computes(0, 5000, Some(None)));
        assert!(computes(99, 5000, Some(None)));
        assert!(!computes(100, 5000, Some(None)));
        assert!(computes(102, 5001, Some(None)), "it has run");
    }

    #[test]
    fn a_thread_without_a_clock_does_not_compute() {
        let now = Instant::now();
        let mut watch = ComputeWatch::begin(now);
        watch.check(None, now);
        assert!(!watch.computes(), "the platform does not say");
    }
}
