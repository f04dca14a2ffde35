//! How often a busy worker looks at the inject queue before its own.
//!
//! A look costs more than a pop from the own queue, but what waits there should not wait long. So the
//! number of polls between two looks follows how long polls take of late: about `TARGET` in all.

use super::trial::Polls;
use std::mem::take;
use std::time::{Duration, Instant};

/// What a task in the inject queue may have to wait for a busy worker.
const TARGET: Duration = Duration::from_micros(200);

/// Bounds of the interval, whatever was measured.
const POLLS_MIN: u32 = 2;
const POLLS_MAX: u32 = 127;

/// Where it begins, before anything was measured.
const POLLS_AT_START: u32 = 61;

/// How many polls make a measurement.
const MEASURED_POLLS: u64 = 32;

pub(super) struct InjectPace {
    polls_between: u32,
    /// The user has set it.
    is_fixed: bool,
    mean_poll_ns: u64,
    /// What is known since then and does not make a measurement yet.
    polls: Polls,
    /// When, and after how many polls, the worker was last seen busy.
    seen: Instant,
    seen_polls: u64,
}

impl InjectPace {
    pub(super) fn new(fixed: Option<u32>) -> InjectPace {
        let polls_between = fixed.unwrap_or(POLLS_AT_START);
        InjectPace {
            polls_between,
            is_fixed: fixed.is_some(),
            mean_poll_ns: TARGET.as_nanos() as u64 / u64::from(polls_between),
            polls: Polls::default(),
            seen: Instant::now(),
            seen_polls: 0,
        }
    }

    /// Polls between two looks.
    pub(super) fn polls_between(&self) -> u32 {
        self.polls_between
    }

    /// Goes on measuring, at the worker's `polls`th poll: it has slept.
    pub(super) fn restart(&mut self, polls: u64, now: Instant) {
        (self.seen, self.seen_polls) = (now, polls);
    }

    /// The worker, busy since the last time, is at its `polls`th poll. Returns the polls since then if
    /// they are enough to go by.
    pub(super) fn measure(&mut self, polls: u64, now: Instant) -> Option<Polls> {
        self.polls.ns += now.duration_since(self.seen).as_nanos() as u64;
        self.polls.count += polls - self.seen_polls;
        (self.seen, self.seen_polls) = (now, polls);
        if self.polls.count < MEASURED_POLLS {
            return None;
        }
        let polls = take(&mut self.polls);
        if !self.is_fixed {
            // Half of the new: a burst of other tasks shows soon, a single long poll does not for long.
            self.mean_poll_ns = self.mean_poll_ns.midpoint(polls.mean_ns()).max(1);
            let polls_between = TARGET.as_nanos() as u64 / self.mean_poll_ns;
            self.polls_between = (polls_between as u32).clamp(POLLS_MIN, POLLS_MAX);
        }
        Some(polls)
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn long_polls_shorten_the_interval_and_short_ones_lengthen_it() {
        let mut pace = InjectPace::new(None);
        assert_eq!(pace.polls_between(), POLLS_AT_START);
        for round in 1..=20 {
            std::thread::sleep(Duration::from_millis(3));
            pace.measure(round * MEASURED_POLLS, Instant::now());
        }
        assert!(pace.polls_between() <= 3, "{}", pace.polls_between());
        pace.restart(20 * MEASURED_POLLS, Instant::now());
        for round in 1..=20 {
            pace.measure(20 * MEASURED_POLLS + round * 1_000_000, Instant::now());
        }
        assert_eq!(pace.polls_between(), POLLS_MAX);
    }

    #[test]
    fn a_few_polls_between_two_sleeps_are_measured_together() {
        let mut pace = InjectPace::new(None);
        let mut measured = 0;
        for polls in 1..=2 * MEASURED_POLLS {
            pace.restart(polls - 1, Instant::now());
            measured += u64::from(pace.measure(polls, Instant::now()).is_some());
        }
        assert_eq!(measured, 2);
    }

    #[test]
    fn what_the_user_set_stays() {
        let mut pace = InjectPace::new(Some(5));
        pace.measure(1_000_000, Instant::now());
        assert_eq!(pace.polls_between(), 5);
    }
}
