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

use std::mem::take;
use std::time::{Duration, Instant};

/// Next to a poll of this length its move costs nothing.
pub(super) const LONG_POLL_NS: u64 = 20_000;

/// Polls, and how long they took in all.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Polls {
    pub(super) count: u64,
    pub(super) ns: u64,
}

impl Polls {
    pub(super) fn mean_ns(self) -> u64 {
        self.ns / self.count.max(1)
    }
}

/// How long a task in the injection queue may wait for a busy worker.
const INJECT_TARGET: Duration = Duration::from_micros(200);

/// How long the run queue may wait for a LIFO streak.
const LIFO_STREAK_TARGET: Duration = Duration::from_micros(10);

/// How many polls a LIFO streak may have after the first one: at least and at most, whatever was
/// measured.
pub(super) const LIFO_STREAK_MIN: u32 = 3;
const LIFO_STREAK_MAX: u32 = 16;

/// Bounds of the interval between two looks at the injection queue, in polls, whatever was
/// measured.
const INJECT_INTERVAL_MIN: u32 = 2;
const INJECT_INTERVAL_MAX: u32 = 127;

/// The interval before anything was measured.
const INJECT_INTERVAL_DEFAULT: u32 = 61;

/// How many polls make a measurement, at least.
const MEASURED_POLLS: u64 = 8;

/// How long a worker's polls take, and the intervals that follow from it.
pub(super) struct PollStats {
    inject_interval: u32,
    /// Whether the user has configured the interval.
    is_fixed: bool,
    lifo_streak_max: u32,
    mean_poll_ns: u64,
    /// Polls since the last measurement, too few for another one.
    polls: Polls,
    /// When, and after how many polls, the worker was last seen busy.
    measured_at: Instant,
    measured_polls: u64,
}

impl PollStats {
    pub(super) fn new(fixed: Option<u32>) -> PollStats {
        let inject_interval = fixed.unwrap_or(INJECT_INTERVAL_DEFAULT);
        PollStats {
            inject_interval,
            is_fixed: fixed.is_some(),
            lifo_streak_max: LIFO_STREAK_MIN,
            mean_poll_ns: polls_in(INJECT_TARGET, u64::from(inject_interval)),
            polls: Polls::default(),
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
        self.mean_poll_ns < LONG_POLL_NS
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
    /// far. Returns the polls of a measurement, if there are enough for one.
    pub(super) fn measure(&mut self, polls: u64, now: Instant) -> Option<Polls> {
        if polls == self.measured_polls {
            return None;
        }
        self.polls.ns += now.duration_since(self.measured_at).as_nanos() as u64;
        self.polls.count += polls - self.measured_polls;
        (self.measured_at, self.measured_polls) = (now, polls);
        if self.polls.count < MEASURED_POLLS {
            return None;
        }
        let polls = take(&mut self.polls);
        // The new measurement counts half. So a burst of other tasks shows soon, and the effect of
        // a single long poll does not last long.
        self.mean_poll_ns = self.mean_poll_ns.midpoint(polls.mean_ns()).max(1);
        let fit_in = |target| polls_in(target, self.mean_poll_ns) as u32;
        self.lifo_streak_max = fit_in(LIFO_STREAK_TARGET).clamp(LIFO_STREAK_MIN, LIFO_STREAK_MAX);
        if !self.is_fixed {
            self.inject_interval =
                fit_in(INJECT_TARGET).clamp(INJECT_INTERVAL_MIN, INJECT_INTERVAL_MAX);
        }
        Some(polls)
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
            (INJECT_INTERVAL_DEFAULT, LIFO_STREAK_MIN)
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
        let mut measured = 0;
        for polls in 1..=2 * MEASURED_POLLS {
            poll_stats.restart(polls - 1, Instant::now());
            measured += u64::from(poll_stats.measure(polls, Instant::now()).is_some());
        }
        assert_eq!(measured, 2);
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
