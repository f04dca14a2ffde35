//! How often a busy worker looks at the inject queue before its own.
//!
//! A look costs more than a pop from the own queue, but what waits there should not wait long. So the
//! number of polls between two looks follows how long polls take of late: about `TARGET` in all.

use std::time::{Duration, Instant};

/// What a task in the inject queue may have to wait for a busy worker.
const TARGET: Duration = Duration::from_micros(200);

/// Bounds of the interval, whatever was measured.
const POLLS_MIN: u32 = 2;
const POLLS_MAX: u32 = 127;

/// Where it begins, before anything was measured.
const POLLS_AT_START: u32 = 61;

pub(super) struct InjectPace {
    polls_between: u32,
    /// The user has set it.
    is_fixed: bool,
    mean_poll_ns: u64,
    /// When, and after how many polls, it was last measured.
    since: Instant,
    polls: u64,
}

impl InjectPace {
    pub(super) fn new(fixed: Option<u32>) -> InjectPace {
        let polls_between = fixed.unwrap_or(POLLS_AT_START);
        InjectPace {
            polls_between,
            is_fixed: fixed.is_some(),
            mean_poll_ns: TARGET.as_nanos() as u64 / u64::from(polls_between),
            since: Instant::now(),
            polls: 0,
        }
    }

    /// Polls between two looks.
    pub(super) fn polls_between(&self) -> u32 {
        self.polls_between
    }

    /// Begins to measure, at the worker's `polls`th poll: it has slept.
    pub(super) fn restart(&mut self, polls: u64) {
        if !self.is_fixed {
            (self.since, self.polls) = (Instant::now(), polls);
        }
    }

    /// The worker, busy all the while, is at its `polls`th poll.
    pub(super) fn measure(&mut self, polls: u64, now: Instant) {
        let count = polls - self.polls;
        if self.is_fixed || count == 0 {
            return;
        }
        let mean_ns = now.duration_since(self.since).as_nanos() as u64 / count;
        (self.since, self.polls) = (now, polls);
        // Half of the new: a burst of other tasks shows soon, a single long poll does not for long.
        self.mean_poll_ns = self.mean_poll_ns.midpoint(mean_ns).max(1);
        let polls_between = TARGET.as_nanos() as u64 / self.mean_poll_ns;
        self.polls_between = (polls_between as u32).clamp(POLLS_MIN, POLLS_MAX);
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
            std::thread::sleep(Duration::from_millis(1));
            pace.measure(round * 10, Instant::now());
        }
        assert!(pace.polls_between() <= 3, "{}", pace.polls_between());
        pace.restart(200);
        for round in 1..=20 {
            pace.measure(200 + round * 1_000_000, Instant::now());
        }
        assert_eq!(pace.polls_between(), POLLS_MAX);
    }

    #[test]
    fn what_the_user_set_stays() {
        let mut pace = InjectPace::new(Some(5));
        pace.measure(1_000_000, Instant::now());
        assert_eq!(pace.polls_between(), 5);
    }
}
