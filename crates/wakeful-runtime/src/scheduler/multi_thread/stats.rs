//! How long a worker's polls take, and the intervals that follow from it.
//!
//! - A look at the injection queue costs more than a pop from the worker's own queue, but a task
//!   there should not wait long. So a busy worker looks after about [`INJECT_TARGET`].
//! - The task woken last finds its data in the cache, and so does the task that it wakes in turn.
//!   But the tasks in the run queue should not wait long either. So a LIFO streak ends after about
//!   [`LIFO_STREAK_TARGET`]. If polls are long the LIFO slot is not used at all, because no other
//!   worker could take the task in it before the poll that woke it returns.
//!
//! See bench/NOTES.md: LIFO streaks.

use std::time::{Duration, Instant};

/// How long a task in the injection queue may wait for a busy worker.
const INJECT_TARGET: Duration = Duration::from_micros(200);

/// From this length of a poll on, the LIFO slot is not used. Bounds how long the task in the slot
/// waits beside workers that could have run it. See bench/NOTES.md: long polls.
const LONG_POLL: Duration = Duration::from_micros(20);

/// How long the run queue may wait for a LIFO streak.
const LIFO_STREAK_TARGET: Duration = Duration::from_micros(10);

/// How many polls a LIFO streak may have after the first one: at least and at most, whatever was
/// measured.
pub(super) const LIFO_STREAK_MIN: u32 = 3;
const LIFO_STREAK_MAX: u32 = 16;

/// Bounds the interval between two looks at the injection queue, in polls. Also the interval before
/// anything was measured. As in maintenance, a look is then cheap compared with the polls.
const INJECT_INTERVAL_MAX: u32 = 61;

/// A worker that polled the injection queue first each time would never run its own tasks.
const INJECT_INTERVAL_MIN: u32 = 2;

/// How many polls make a measurement, at least.
const MEASURED_POLLS: u64 = 8;

/// How long a worker's polls take, and the intervals that follow from it.
pub(super) struct PollStats {
    inject_interval: u32,
    /// Whether the user has configured the interval.
    is_fixed: bool,
    lifo_streak_max: u32,
    mean_poll_ns: u64,
    /// The number of polls since the last measurement, too few for another one, and their time.
    new_polls: u64,
    new_ns: u64,
    /// When, and after how many polls, the worker was last seen busy.
    measured_at: Instant,
    measured_polls: u64,
}

impl PollStats {
    pub(super) fn new(fixed: Option<u32>) -> PollStats {
        let inject_interval = fixed.unwrap_or(INJECT_INTERVAL_MAX);
        PollStats {
            inject_interval,
            is_fixed: fixed.is_some(),
            lifo_streak_max: LIFO_STREAK_MIN,
            mean_poll_ns: polls_in(INJECT_TARGET, u64::from(inject_interval)),
            new_polls: 0,
            new_ns: 0,
            measured_at: Instant::now(),
            measured_polls: 0,
        }
    }

    /// Returns how many polls lie between two looks at the injection queue.
    pub(super) fn inject_interval(&self) -> u32 {
        self.inject_interval
    }

    /// Returns whether the task woken last should run next.
    #[inline]
    pub(super) fn allows_lifo_slot(&self) -> bool {
        self.mean_poll_ns < LONG_POLL.as_nanos() as u64
    }

    /// Returns how many polls a LIFO streak may have after the first one.
    #[inline]
    pub(super) fn lifo_streak_max(&self) -> u32 {
        self.lifo_streak_max
    }

    /// Leaves out the time up to `now`, because the worker was parked. It has made `polls` polls so
    /// far.
    pub(super) fn restart(&mut self, polls: u64, now: Instant) {
        (self.measured_at, self.measured_polls) = (now, polls);
    }

    /// Adds the time up to `now`, during which the worker was busy. It has made `polls` polls so
    /// far. Returns the mean time of the new polls, once there are enough.
    pub(super) fn measure(&mut self, polls: u64, now: Instant) -> Option<u64> {
        if polls == self.measured_polls {
            return None;
        }
        self.new_ns += now.duration_since(self.measured_at).as_nanos() as u64;
        self.new_polls += polls - self.measured_polls;
        (self.measured_at, self.measured_polls) = (now, polls);
        if self.new_polls < MEASURED_POLLS {
            return None;
        }
        let mean_ns = self.new_ns / self.new_polls;
        (self.new_polls, self.new_ns) = (0, 0);
        // The new measurement counts half. So a burst of other tasks shows soon, and the effect of
        // a single long poll does not last long.
        self.mean_poll_ns = self.mean_poll_ns.midpoint(mean_ns).max(1);
        let fit_in = |target| polls_in(target, self.mean_poll_ns) as u32;
        self.lifo_streak_max = fit_in(LIFO_STREAK_TARGET).clamp(LIFO_STREAK_MIN, LIFO_STREAK_MAX);
        if !self.is_fixed {
            self.inject_interval =
                fit_in(INJECT_TARGET).clamp(INJECT_INTERVAL_MIN, INJECT_INTERVAL_MAX);
        }
        Some(mean_ns)
    }
}

/// Returns how many polls of `each_ns` fit in `target`.
fn polls_in(target: Duration, each_ns: u64) -> u64 {
    target.as_nanos() as u64 / each_ns
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn long_polls_shorten_the_interval_and_short_ones_lengthen_it() {
        let mut poll_stats = PollStats::new(None);
        assert_eq!(
            (poll_stats.inject_interval(), poll_stats.lifo_streak_max()),
            (INJECT_INTERVAL_MAX, LIFO_STREAK_MIN)
        );
        for round in 1..=20 {
            std::thread::sleep(Duration::from_millis(3));
            poll_stats.measure(round * MEASURED_POLLS, Instant::now());
        }
        assert!(poll_stats.inject_interval() <= 3, "{}", poll_stats.inject_interval());
        assert_eq!(poll_stats.lifo_streak_max(), LIFO_STREAK_MIN);
        poll_stats.restart(20 * MEASURED_POLLS, Instant::now());
        for round in 1..=20 {
            poll_stats.measure(20 * MEASURED_POLLS + round * 1_000_000, Instant::now());
        }
        assert_eq!(
            (poll_stats.inject_interval(), poll_stats.lifo_streak_max()),
            (INJECT_INTERVAL_MAX, LIFO_STREAK_MAX)
        );
    }

    #[test]
    fn polls_between_two_parks_are_measured_together() {
        let mut poll_stats = PollStats::new(None);
        let before_ns = poll_stats.mean_poll_ns;
        for polls in 1..=MEASURED_POLLS {
            assert_eq!(poll_stats.mean_poll_ns, before_ns);
            poll_stats.restart(polls - 1, Instant::now());
            poll_stats.measure(polls, Instant::now());
        }
        assert!(poll_stats.mean_poll_ns < before_ns, "{}", poll_stats.mean_poll_ns);
    }

    #[test]
    fn a_configured_interval_stays() {
        let mut poll_stats = PollStats::new(Some(5));
        for round in 1..=20 {
            poll_stats.measure(round * 1_000_000, Instant::now());
        }
        assert_eq!(
            (poll_stats.inject_interval(), poll_stats.lifo_streak_max()),
            (5, LIFO_STREAK_MAX)
        );
    }
}
