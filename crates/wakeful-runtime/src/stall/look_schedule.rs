//! When a monitor's look comes late.
//!
//! Then the process was probably stopped or throttled (`SIGSTOP`, a debugger, a CPU quota, a
//! hypervisor), and all threads stood still. What they have not done meanwhile says nothing about
//! them, so a late look finds no stall.

use std::time::{Duration, Instant};

/// How much later than planned any look may come. Above what a busy machine often takes to wake a
/// thread, below the shortest stop by a CPU quota.
const LATENESS_MAX: Duration = Duration::from_millis(1);

/// When a monitor's next look is due.
#[derive(Debug, Default)]
pub(crate) struct LookSchedule {
    /// The next look is late after this time.
    late_after: Option<Instant>,
}

impl LookSchedule {
    /// Returns whether a look that begins at `now` is late.
    ///
    /// The look after a late one never is: on a machine on which all looks are late, stalls would
    /// go unnoticed otherwise.
    pub(crate) fn begin_look(&mut self, now: Instant) -> bool {
        self.late_after.take().is_some_and(|late_after| now > late_after)
    }

    /// Plans the look after one that began at `now` and was `late` or not. `wait` is the time
    /// between the two, if it is bounded.
    pub(crate) fn plan(&mut self, now: Instant, was_late: bool, wait: Option<Duration>) {
        let wait = wait.filter(|_| !was_late);
        let with_lateness = |wait: Duration| wait.checked_mul(2)?.checked_add(LATENESS_MAX);
        self.late_after = wait.and_then(with_lateness).and_then(|wait| now.checked_add(wait));
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(2);

    #[test]
    fn a_look_is_late_after_twice_the_planned_wait_but_never_two_in_a_row() {
        let (now, mut schedule) = (Instant::now(), LookSchedule::default());
        assert!(!schedule.begin_look(now), "the first look is not late");
        schedule.plan(now, false, Some(WAIT));
        assert!(!schedule.begin_look(now + 2 * WAIT + LATENESS_MAX));
        schedule.plan(now, false, Some(WAIT));
        assert!(schedule.begin_look(now + 3 * WAIT));
        schedule.plan(now, true, Some(WAIT));
        assert!(!schedule.begin_look(now + 100 * WAIT), "the look before was late");
        for unbounded in [None, Some(Duration::MAX)] {
            schedule.plan(now, false, unbounded);
            assert!(!schedule.begin_look(now + 100 * WAIT));
        }
    }
}
