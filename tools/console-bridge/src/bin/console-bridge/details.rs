//! How long the polls of one task take, and how long it waits for them, as histograms.
//!
//! The program tells sums. So one task is looked at often: if it was polled once since the last
//! look, its times are exact. If it was polled more often, the last poll is exact, and the others
//! count with their mean.

use console_api::tasks::task_details::PollTimesHistogram;
use console_api::tasks::{DurationHistogram, TaskDetails};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde_json::Value;
use tonic::Status;

use crate::wire::{Clock, id};

/// Longer times count as this one, in nanoseconds. console-subscriber has the same limit.
const MAX_NS: u64 = 1_000_000_000;

/// The number of exact decimal digits.
const DIGITS: u8 = 2;

/// What is known of a task whose details a client watches.
pub struct Details {
    task: u64,
    polls: Durations,
    scheduled: Durations,
    before: Sums,
}

/// The sums that the program tells of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sums {
    polls: u64,
    busy_us: u64,
    last_poll_us: u64,
    scheduled_us: u64,
}

impl Sums {
    fn of(row: &Value) -> Sums {
        let number = |name: &str| row[name].as_u64().unwrap_or_default();
        // A poll that still runs has no times yet.
        let unfinished = u64::from(row["state"] == "running" && number("polls") > 0);
        Sums {
            polls: number("polls") - unfinished,
            busy_us: number("busy_us"),
            last_poll_us: number("last_poll_us"),
            scheduled_us: number("scheduled_us"),
        }
    }
}

/// A histogram of times.
struct Durations {
    histogram: Histogram<u64>,
    outliers: u64,
    longest_outlier_ns: Option<u64>,
}

impl Durations {
    fn new() -> Result<Durations, Status> {
        let histogram = Histogram::new_with_max(MAX_NS, DIGITS)
            .map_err(|error| Status::internal(format!("could not create a histogram: {error}")))?;
        Ok(Durations { histogram, outliers: 0, longest_outlier_ns: None })
    }

    /// Counts `count` times whose sum is `sum_us`.
    fn add(&mut self, count: u64, sum_us: u64) {
        if count == 0 {
            return;
        }
        let mean_ns = sum_us.saturating_mul(1_000) / count;
        if mean_ns > MAX_NS {
            self.outliers += count;
            self.longest_outlier_ns = self.longest_outlier_ns.max(Some(mean_ns));
        }
        self.histogram.saturating_record_n(mean_ns.min(MAX_NS), count);
    }

    fn to_wire(&self) -> Result<DurationHistogram, Status> {
        let mut raw_histogram = Vec::new();
        let written = V2Serializer::new().serialize(&self.histogram, &mut raw_histogram);
        written
            .map_err(|error| Status::internal(format!("could not write a histogram: {error}")))?;
        Ok(DurationHistogram {
            raw_histogram,
            max_value: MAX_NS,
            high_outliers: self.outliers,
            highest_outlier: self.longest_outlier_ns,
        })
    }
}

impl Details {
    /// Begins to watch a task, which is now as in `row`.
    pub fn new(task: u64, row: &Value) -> Result<Details, Status> {
        let (polls, scheduled) = (Durations::new()?, Durations::new()?);
        Ok(Details { task, polls, scheduled, before: Sums::of(row) })
    }

    /// Adds what has happened since the last look.
    pub fn add(&mut self, row: &Value) {
        let now = Sums::of(row);
        let before = std::mem::replace(&mut self.before, now);
        let polls = now.polls.saturating_sub(before.polls);
        if polls == 0 {
            return;
        }
        let busy_us = now.busy_us.saturating_sub(before.busy_us);
        let last_us = now.last_poll_us.min(busy_us);
        self.polls.add(1, if polls == 1 { busy_us } else { last_us });
        self.polls.add(polls - 1, busy_us - last_us);
        self.scheduled.add(polls, now.scheduled_us.saturating_sub(before.scheduled_us));
    }

    /// Returns the histograms for a client.
    pub fn to_wire(&self, clock: Clock, time_us: u64) -> Result<TaskDetails, Status> {
        Ok(TaskDetails {
            task_id: Some(id(self.task)),
            now: Some(clock.at(time_us)),
            poll_times_histogram: Some(PollTimesHistogram::Histogram(self.polls.to_wire()?)),
            scheduled_times_histogram: Some(self.scheduled.to_wire()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use serde_json::json;

    fn row(state: &str, polls: u64, busy_us: u64, last_poll_us: u64, scheduled_us: u64) -> Value {
        json!({ "state": state, "polls": polls, "busy_us": busy_us, "last_poll_us": last_poll_us,
            "scheduled_us": scheduled_us })
    }

    fn counts(durations: &Durations) -> Vec<(u64, u64)> {
        let bytes = durations.to_wire().unwrap().raw_histogram;
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        let near_us = |ns: u64| (ns + 5_000) / 10_000 * 10;
        read.iter_recorded()
            .map(|it| (near_us(it.value_iterated_to()), it.count_since_last_iteration()))
            .collect()
    }

    #[test]
    fn single_polls_are_exact() {
        let mut details = Details::new(7, &row("waiting", 10, 5_000, 500, 900)).unwrap();
        details.add(&row("waiting", 10, 5_000, 500, 900));
        details.add(&row("waiting", 11, 5_200, 200, 1_000));
        details.add(&row("waiting", 12, 6_000, 800, 1_050));
        assert_eq!(counts(&details.polls), [(200, 1), (800, 1)]);
        assert_eq!(counts(&details.scheduled), [(50, 1), (100, 1)]);
    }

    #[test]
    fn of_several_polls_the_last_is_exact() {
        let mut details = Details::new(7, &row("waiting", 0, 0, 0, 0)).unwrap();
        details.add(&row("waiting", 4, 900, 600, 400));
        assert_eq!(counts(&details.polls), [(100, 3), (600, 1)]);
        assert_eq!(counts(&details.scheduled), [(100, 4)]);
    }

    #[test]
    fn a_poll_counts_when_it_ends() {
        let mut details = Details::new(7, &row("waiting", 1, 100, 100, 0)).unwrap();
        details.add(&row("running", 2, 100, 100, 50));
        assert_eq!(counts(&details.polls), []);
        details.add(&row("waiting", 2, 400, 300, 50));
        assert_eq!(counts(&details.polls), [(300, 1)]);
    }

    #[test]
    fn what_exceeds_the_limit_is_an_outlier() {
        let mut details = Details::new(7, &row("waiting", 0, 0, 0, 0)).unwrap();
        details.add(&row("waiting", 1, 3_000_000, 3_000_000, 0));
        let wire = details.polls.to_wire().unwrap();
        assert_eq!((wire.high_outliers, wire.highest_outlier), (1, Some(3_000_000_000)));
    }
}
