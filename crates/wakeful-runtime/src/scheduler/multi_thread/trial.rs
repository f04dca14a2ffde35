//! Whether it pays to share, found out by trying.
//!
//! A worker that takes tasks from another does some of its work, and makes all of it dearer: the tasks
//! move from cache to cache, and so does whatever they have in common with those that stay. Eight tasks
//! that send to a ninth are up to six times as slow on two workers as on one; unrelated tasks of some
//! microseconds are nearly twice as fast. Neither the queue nor the length of polls tells the one from the other, and on
//! the next machine it is different. So a worker from which others take again and again keeps its tasks
//! to itself for a moment, and compares how long polls took, here and there, before and now:
//!
//! ```text
//!               others took often, polls are short
//!    Sharing ─────────────────────────────────────▶ Trying ──┐ polls took as long: it pays
//!     ▲  ▲                                             │     │
//!     │  └─────────────────────────────────────────────┼─────┘ (the next trial is further off each time)
//!     │   after a while, longer each time              ▼ polls took half as long: it does not
//!     └───────────────────────────────────────────── Keeping
//! ```
//!
//! What a wrong decision costs is small: a trial takes some hundred microseconds, polls are short, or else
//! it ends, and for a poll that does not return the monitor opens the queue whatever was decided
//! ([`Load::open`]); so where no monitor does that, nothing is tried. Tasks that go on for long where they
//! were taken to are no reason to try: they were worth moving.
//!
//! [`Load::open`]: super::share::Load::open

use crate::scheduler::doubling::Doubling;
use std::time::{Duration, Instant};

/// So often must others have taken tasks and be through with them, before there is something to compare.
const HAULS: u64 = 8;

/// Where at least one poll of so many is made elsewhere, it matters whether that pays.
const TAKEN_PART: u64 = 16;

/// Next to a poll of this length its move costs nothing.
pub(super) const LONG_POLL_NS: u64 = 20_000;

/// How long others may still be at what they took when a trial begins.
const AFTERMATH: Duration = Duration::from_micros(30);

/// What a trial has to see.
const TRIAL_POLLS: u64 = 32;
const TRIAL_NS: u64 = 50_000;

/// So many turns at a time, since others may be idle meanwhile.
pub(super) const TRIAL_TURNS: u32 = 32;

/// How long it is until the next trial, at first and at last, when sharing pays.
const SHARE_FOR: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(256));

/// How long tasks are kept, at first and at last, when it does not.
const KEEP_FOR: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(64));

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

    fn and(self, more: Polls) -> Polls {
        Polls { count: self.count + more.count, ns: self.ns.saturating_add(more.ns) }
    }
}

pub(super) struct Trial {
    /// Of the runtime, this one among them.
    workers: u64,
    stage: Stage,
    /// Own polls of this stage.
    own: Polls,
    share_for: Doubling<Duration>,
    keep_for: Doubling<Duration>,
}

#[derive(Clone, Copy)]
enum Stage {
    Sharing { try_from: Option<Instant> },
    Trying { since: Instant, pays_above_ns: u64 },
    Keeping { until: Instant },
}

impl Trial {
    pub(super) fn new(workers: usize) -> Trial {
        Trial {
            workers: workers as u64,
            stage: Stage::Sharing { try_from: None },
            own: Polls::default(),
            share_for: Doubling::new(SHARE_FOR),
            keep_for: Doubling::new(KEEP_FOR),
        }
    }

    /// Whether tasks are kept.
    pub(super) fn keeps(&self) -> bool {
        !matches!(self.stage, Stage::Sharing { .. })
    }

    /// Whether it is being found out if that should be.
    pub(super) fn tries(&self) -> bool {
        matches!(self.stage, Stage::Trying { .. })
    }

    /// Others may take again, for a reason that is not ours.
    pub(super) fn end(&mut self) {
        self.enter(Stage::Sharing { try_from: None });
    }

    /// The worker made these polls. `taken` tells of those that others made of tasks they took, since it
    /// told so last, if they took some so many times.
    pub(super) fn measured(
        &mut self,
        polls: Polls,
        taken: impl FnOnce(u64) -> Option<Polls>,
        now: Instant,
    ) {
        if self.keeps() && polls.mean_ns() >= LONG_POLL_NS {
            return self.end();
        }
        if let Stage::Trying { since, .. } = self.stage {
            if now.duration_since(since) < AFTERMATH + Duration::from_nanos(polls.ns) {
                return;
            }
        }
        self.own = self.own.and(polls);
        match self.stage {
            Stage::Sharing { try_from } => {
                let Some(taken) = taken(HAULS) else { return };
                let own = std::mem::take(&mut self.own);
                let matters = taken.count >= own.count / TAKEN_PART;
                let is_time = try_from.is_none_or(|from| now >= from);
                if matters && is_time && own.and(taken).mean_ns() < LONG_POLL_NS {
                    self.enter(Stage::Trying {
                        since: now,
                        pays_above_ns: self.pays_above_ns(own, taken),
                    });
                }
            }
            Stage::Trying { pays_above_ns, .. } => {
                if self.own.count >= TRIAL_POLLS && self.own.ns >= TRIAL_NS {
                    self.decide(self.own.mean_ns() > pays_above_ns, now);
                }
            }
            Stage::Keeping { .. } => self.end_if_over(now),
        }
    }

    /// Keeps no longer than that was to be.
    pub(super) fn end_if_over(&mut self, now: Instant) {
        if matches!(self.stage, Stage::Keeping { until } if now >= until) {
            self.end();
        }
    }

    fn decide(&mut self, pays: bool, now: Instant) {
        if pays {
            let try_from = Some(now + self.share_for.take());
            self.enter(Stage::Sharing { try_from });
            self.keep_for.begin_anew();
        } else {
            let until = now + self.keep_for.take();
            self.enter(Stage::Keeping { until });
            self.share_for.begin_anew();
        }
    }

    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.own = Polls::default();
    }

    /// How long polls have to take when nobody takes any, so that it pays to share as it was shared.
    fn pays_above_ns(&self, own: Polls, taken: Polls) -> u64 {
        let all = own.and(taken);
        // Twice as long, and two workers do no more than one; a little less is not worth a second CPU. Where
        // more than one took part, it pays with longer polls.
        let hands = (all.count / own.count.max(1)).clamp(2, self.workers.max(2));
        all.mean_ns().saturating_mul(8) / 7 / hands
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    /// A worker that makes `count` polls of `ns` each in its turns, and a clock.
    struct Worker {
        trial: Trial,
        now: Instant,
        others: u64,
    }

    impl Worker {
        fn new() -> Worker {
            Worker::with_others(1)
        }

        fn with_others(others: u64) -> Worker {
            let trial = Trial::new(1 + others as usize);
            Worker { trial, now: Instant::now(), others }
        }

        /// 100 polls here, and as many by each of the others if they may take.
        fn turn(&mut self, alone_ns: u64, shared_ns: u64) {
            let ns = if self.trial.keeps() { alone_ns } else { shared_ns };
            let polls = Polls { count: 100, ns: 100 * ns };
            self.now += Duration::from_nanos(polls.ns);
            let taken = Polls { count: self.others * polls.count, ns: self.others * polls.ns };
            let taken = (!self.trial.keeps()).then_some(taken);
            self.trial.measured(polls, |_| taken, self.now);
        }

        /// What part of `total` it keeps its tasks for.
        fn kept_part(&mut self, total: Duration, alone_ns: u64, shared_ns: u64) -> f64 {
            let (begin, mut kept) = (self.now, Duration::ZERO);
            while self.now - begin < total {
                let (before, keeps) = (self.now, self.trial.keeps());
                self.turn(alone_ns, shared_ns);
                kept += if keeps { self.now - before } else { Duration::ZERO };
            }
            kept.as_secs_f64() / total.as_secs_f64()
        }
    }

    #[test]
    fn tasks_that_are_slower_together_are_kept() {
        let part = Worker::new().kept_part(Duration::from_secs(1), 1_000, 3_000);
        assert!(part > 0.95, "{part}");
    }

    #[test]
    fn tasks_that_are_as_fast_together_are_shared() {
        let part = Worker::new().kept_part(Duration::from_secs(1), 1_000, 1_200);
        assert!(part < 0.01, "{part}");
    }

    #[test]
    fn a_change_is_found_out_either_way() {
        let mut worker = Worker::new();
        worker.kept_part(Duration::from_secs(1), 1_000, 3_000);
        worker.kept_part(KEEP_FOR.1, 1_000, 1_000);
        let part = worker.kept_part(Duration::from_secs(1), 1_000, 1_000);
        assert!(part < 0.05, "{part}");
        worker.kept_part(SHARE_FOR.1, 1_000, 3_000);
        let part = worker.kept_part(Duration::from_secs(1), 1_000, 3_000);
        assert!(part > 0.9, "{part}");
    }

    #[test]
    fn many_workers_may_be_slower_each_and_do_more_all_the_same() {
        let kept_part = |shared_ns| {
            let mut worker = Worker::with_others(7);
            worker.kept_part(Duration::from_secs(1), 1_000, shared_ns)
        };
        assert!(kept_part(1_800) < 0.02 && kept_part(5_000) < 0.05);
        assert!(kept_part(10_000) > 0.9);
    }

    #[test]
    fn polls_that_become_long_are_shared_at_once() {
        let mut worker = Worker::new();
        worker.kept_part(Duration::from_secs(1), 1_000, 3_000);
        while !worker.trial.keeps() {
            worker.turn(1_000, 3_000);
        }
        worker.turn(LONG_POLL_NS, LONG_POLL_NS);
        assert!(!worker.trial.keeps());
    }

    #[test]
    fn long_polls_are_shared_without_a_trial() {
        let part = Worker::new().kept_part(Duration::from_secs(1), 1_000, LONG_POLL_NS);
        assert_eq!(part, 0.0);
    }

    #[test]
    fn nothing_is_tried_while_nobody_takes_or_hardly_anybody() {
        let mut worker = Worker::new();
        let polls = Polls { count: 100, ns: 100_000 };
        for _ in 0..1_000 {
            worker.now += Duration::from_micros(100);
            worker.trial.measured(polls, |_| None, worker.now);
        }
        worker.trial.measured(polls, |_| Some(Polls { count: 10, ns: 100_000 }), worker.now);
        assert!(!worker.trial.keeps());
    }

    #[test]
    fn what_others_still_do_when_a_trial_begins_does_not_count() {
        let mut worker = Worker::new();
        worker.turn(1_000, 3_000);
        assert!(worker.trial.keeps(), "it tries");
        // Under way when the trial began.
        worker.now += Duration::from_micros(300);
        let slow = Polls { count: 100, ns: 300_000 };
        worker.trial.measured(slow, |_| None, worker.now);
        worker.turn(1_000, 3_000);
        assert!(worker.trial.keeps(), "it decided by the second");
        assert!(matches!(worker.trial.stage, Stage::Keeping { .. }));
    }

    #[test]
    fn what_was_kept_before_a_long_sleep_is_shared_after() {
        let mut worker = Worker::new();
        worker.kept_part(Duration::from_secs(1), 1_000, 3_000);
        while !matches!(worker.trial.stage, Stage::Keeping { .. }) {
            worker.turn(1_000, 3_000);
        }
        worker.trial.end_if_over(worker.now);
        assert!(worker.trial.keeps());
        worker.trial.end_if_over(worker.now + KEEP_FOR.1);
        assert!(!worker.trial.keeps());
    }

    #[test]
    fn who_is_opened_from_outside_shares() {
        let mut worker = Worker::new();
        worker.turn(1_000, 3_000);
        assert!(worker.trial.keeps());
        worker.trial.end();
        assert!(!worker.trial.keeps());
    }
}
