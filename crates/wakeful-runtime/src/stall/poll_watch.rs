//! Tells user code that computes or blocks from user code that only waits for a CPU.
//!
//! A poll that has not returned for a while need not stall: its thread may have been preempted, or
//! the whole process stopped or throttled. To hand its worker to another thread would not help, as
//! that thread would need a CPU, too. So the wall clock does not suffice:
//!
//! | CPU time that the thread has used during the watch | the thread is | the user code |
//! |---|---|---|
//! | half of `stall_after` or more | | stalls: it computes |
//! | less | blocked in the kernel | stalls: it blocks |
//! | less | runnable | does not stall: it waits for a CPU |
//!
//! Whether a thread is runnable has to be read from a file. The file is read only for user code
//! that has lasted long by the wall clock, and again only if the thread has run since: a thread
//! that was runnable, and has used no CPU time since, is still runnable.
//!
//! Where the kernel does not report these things, the wall clock alone decides.

use super::OsThread;
use std::time::{Duration, Instant};

/// How long user code may wait for a CPU before it counts as stalled. A CPU may be occupied
/// without end, by a real-time thread for example, and the other tasks of the worker could run on
/// another CPU. A thread waits for less than that if 300 threads share a CPU in slices of 3 ms.
const CPU_WAIT_MAX: Duration = Duration::from_secs(1);

/// Watches one poll, or other user code, on one thread.
#[derive(Debug)]
pub(crate) struct PollWatch {
    since: Instant,
    /// The thread's CPU time at `since`, if known.
    used_before: Option<Duration>,
    /// The thread's CPU time when it was found runnable.
    runnable_at: Option<Duration>,
    is_stalled: bool,
}

impl PollWatch {
    /// Begins to watch what `thread` is running now.
    pub(crate) fn begin(thread: Option<&OsThread>, now: Instant) -> PollWatch {
        PollWatch::begin_at(now, thread.and_then(OsThread::cpu_time))
    }

    fn begin_at(now: Instant, used_before: Option<Duration>) -> PollWatch {
        PollWatch { since: now, used_before, runnable_at: None, is_stalled: false }
    }

    /// Begins again, unless the user code is known to stall.
    pub(crate) fn restart(&mut self, thread: Option<&OsThread>, now: Instant) {
        if !self.is_stalled {
            *self = PollWatch::begin(thread, now);
        }
    }

    pub(crate) fn began_at(&self, now: Instant) -> bool {
        self.since == now
    }

    /// Returns whether a check has found that the user code stalls.
    pub(crate) fn is_stalled(&self) -> bool {
        self.is_stalled
    }

    /// Checks user code that has lasted long by the wall clock.
    pub(crate) fn check(&mut self, thread: Option<&OsThread>, now: Instant, stall_after: Duration) {
        if !self.is_stalled {
            let used = thread.and_then(OsThread::cpu_time);
            let is_runnable = || thread.and_then(OsThread::is_runnable);
            self.is_stalled = !self.waits_for_cpu(now, stall_after, used, is_runnable);
        }
    }

    fn waits_for_cpu(
        &mut self,
        now: Instant,
        stall_after: Duration,
        used: Option<Duration>,
        is_runnable: impl FnOnce() -> Option<bool>,
    ) -> bool {
        let (Some(used_before), Some(used)) = (self.used_before, used) else { return false };
        let computes = used.saturating_sub(used_before) >= stall_after / 2;
        if computes || now.saturating_duration_since(self.since) >= CPU_WAIT_MAX {
            return false;
        }
        // The time is read before the file: if it is still the same at the next check, the thread
        // has not run after the file was read.
        let has_run = self.runnable_at != Some(used);
        if has_run && is_runnable() != Some(true) {
            return false;
        }
        self.runnable_at = Some(used);
        true
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_millis(2);

    /// Begins a watch, and returns a function that checks it at a time, with the CPU time used by
    /// then, and the state that the file has if it may be read.
    fn watch() -> impl FnMut(u64, u64, Option<Option<bool>>) -> bool {
        let (begun, used_before) = (Instant::now(), Duration::from_secs(7));
        let mut watch = PollWatch::begin_at(begun, Some(used_before));
        move |at_us, used_us, is_runnable| {
            let now = begun + Duration::from_micros(at_us);
            let used = used_before + Duration::from_micros(used_us);
            let read = || is_runnable.expect("the file is read once");
            watch.waits_for_cpu(now, AFTER, Some(used), read)
        }
    }

    #[test]
    fn a_poll_that_computes_stalls() {
        let mut waits_for_cpu = watch();
        assert!(!waits_for_cpu(2000, 1000, None));
    }

    #[test]
    fn a_poll_that_blocks_stalls() {
        let mut waits_for_cpu = watch();
        assert!(!waits_for_cpu(2000, 10, Some(Some(false))));
    }

    #[test]
    fn a_preempted_poll_stalls_once_it_computes_or_blocks() {
        let mut waits_for_cpu = watch();
        assert!(waits_for_cpu(2000, 100, Some(Some(true))));
        assert!(waits_for_cpu(4000, 100, None), "the thread has not run");
        assert!(waits_for_cpu(9000, 999, Some(Some(true))));
        assert!(!waits_for_cpu(11_000, 1001, None));
        let mut waits_for_cpu = watch();
        assert!(waits_for_cpu(2000, 0, Some(Some(true))));
        assert!(!waits_for_cpu(4000, 1, Some(Some(false))));
    }

    #[test]
    fn a_poll_stalls_if_its_thread_gets_no_cpu_for_long() {
        let mut waits_for_cpu = watch();
        assert!(waits_for_cpu(2000, 0, Some(Some(true))));
        assert!(waits_for_cpu(999_999, 0, None));
        assert!(!waits_for_cpu(1_000_000, 0, None));
    }

    #[test]
    fn without_the_kernels_help_the_wall_clock_decides() {
        let mut waits_for_cpu = watch();
        assert!(!waits_for_cpu(2000, 0, Some(None)));
        let now = Instant::now();
        let mut watch = PollWatch::begin_at(now, None);
        assert!(!watch.waits_for_cpu(now, AFTER, None, || unreachable!("there is no clock")));
        watch.check(None, now, AFTER);
        assert!(watch.is_stalled());
    }

    #[test]
    fn a_watch_restarts_unless_the_poll_stalls() {
        let now = Instant::now();
        let mut watch = PollWatch::begin_at(now, None);
        watch.restart(None, now + AFTER);
        assert!(watch.began_at(now + AFTER));
        watch.check(None, now + 2 * AFTER, AFTER);
        watch.restart(None, now + 3 * AFTER);
        assert!(watch.began_at(now + AFTER) && watch.is_stalled());
    }
}
