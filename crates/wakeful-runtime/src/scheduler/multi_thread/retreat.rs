//! A worker without which the others do as much: it leaves its tasks to them.
//!
//! Tasks that wait for one another wander: each is woken where the one it waited for has run. On two workers that
//! means that they, and all that they have in common, go from cache to cache, and sixteen tasks that share a few permits
//! are served faster by one worker than by two. No queue tells that, and nobody takes tasks from anybody, so that there is
//! nothing to keep ([`trial`](super::trial)): both are busy all of the time. So a worker that is, beside others, with
//! few tasks that take short, **retreats** to see how they get on:
//!
//! ```text
//!              busy for a while, as others are
//!   Watching ───────────────────────────────────▶ Trying ──┐ they did less: it takes its share again
//!    ▲  ▲                                            │     │
//!    │  └────────────────────────────────────────────┼─────┘ (the next trial is further off each time)
//!    │   after a while, longer each time             ▼ they did as much
//!    └──────────────────────────────────────────── Away
//! ```
//!
//! It puts its tasks in reach, another takes them over in its next upkeep or its search, and only then does it go; if nobody
//! comes it goes on. It sleeps as one that [steps back](super::step_back) does, with the same provisions. Tasks that yield are no reason to
//! call it meanwhile ([`Load::favour`](super::share::Load::favour)); all others are that call workers, and so is a poll that does
//! not return. So nothing is tried where no monitor sees that.

use super::trial::{LONG_POLL_NS, Polls};
use super::worker::{Worker, WorkerCore};
use super::worker_thread::WorkerThread;
use crate::scheduler::doubling::Doubling;
// Not the models': whose tasks are to be taken is a hint, and the queues see to who gets which.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use wakeful_base::sync::hint;

/// What takes longer pays for what it costs that tasks wander.
const SHORT_WORK_NS: u128 = 1_000;

/// More tasks than this that wait for their turn are no few that wait for each other.
const TASKS_MAX: usize = 32;

/// For so long is it seen what all workers do.
const WATCH_FOR: Duration = Duration::from_millis(1);

/// For so long the others have to show what they do alone.
const TRIAL: Duration = Duration::from_micros(500);

/// So soon must somebody have taken the tasks over.
const LEAVE_WITHIN: Duration = Duration::from_micros(100);

/// Where one part of so many is done elsewhere, there are others at work.
const OTHERS_PART: u64 = 8;

/// How long it is until the next trial, at first and at last, where the others did not do as much.
const STAY_FOR: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(256));

/// How long a worker stays away, at first and at last, where they did.
const AWAY_FOR: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(64));

/// Who retreats, as all can see.
pub(super) struct Retreats {
    /// One more than the index of the worker whose tasks are to be taken over, or 0.
    leaving: AtomicUsize,
    /// How many are away, or try.
    detached: AtomicUsize,
}

impl Retreats {
    pub(super) fn new() -> Retreats {
        Retreats { leaving: AtomicUsize::new(0), detached: AtomicUsize::new(0) }
    }

    /// Whether somebody is away.
    pub(super) fn is_anybody_away(&self) -> bool {
        self.detached.load(Relaxed) > 0
    }

    /// The worker whose tasks are to be taken over.
    pub(super) fn leaving(&self) -> Option<usize> {
        self.leaving.load(Relaxed).checked_sub(1)
    }

    /// False if another is about to leave.
    fn begin_leaving(&self, index: usize) -> bool {
        self.leaving.compare_exchange(0, index + 1, Relaxed, Relaxed).is_ok()
    }

    fn end_leaving(&self) {
        self.leaving.store(0, Relaxed);
    }
}

/// What all workers had done at a time: polls, and how often what they polled made progress. Tasks that wait for each other
/// are polled the more often the more workers there are, for the same work.
#[derive(Clone, Copy)]
struct Mark {
    at: Instant,
    work: u64,
}

impl Mark {
    /// Work per nanosecond since `earlier`.
    fn rate_since(self, earlier: Mark) -> f64 {
        let ns = self.at.duration_since(earlier.at).as_nanos().max(1);
        (self.work - earlier.work) as f64 / ns as f64
    }
}

/// One worker's part.
pub(super) struct Retreat {
    stage: Stage,
    stay_for: Doubling<Duration>,
    away_for: Doubling<Duration>,
}

#[derive(Clone, Copy)]
enum Stage {
    Watching { since: Option<LazyMonitor>, try_from: Option<Instant> },
    Trying { since: Mark, enough: f64 },
    Away { until: Instant },
}

#[derive(Clone, Copy)]
struct LazyMonitor {
    all: Mark,
    own_work: u64,
}

/// What becomes of a worker that has retreated and nothing to do.
#[derive(Debug, PartialEq)]
enum Still {
    /// It sleeps for so long.
    Away(Duration),
    /// The others need it.
    Needed,
    /// It is back, and what it did before is long ago.
    Back,
    /// It was not away.
    Here,
}

impl Retreat {
    pub(super) fn new() -> Retreat {
        Retreat {
            stage: Stage::Watching { since: None, try_from: None },
            stay_for: Doubling::new(STAY_FOR),
            away_for: Doubling::new(AWAY_FOR),
        }
    }

    /// The worker has slept, or has other things to do: what was seen before does not count.
    pub(super) fn watch_anew(&mut self) {
        if let Stage::Watching { since, .. } = &mut self.stage {
            *since = None;
        }
    }

    fn is_away(&self) -> bool {
        !matches!(self.stage, Stage::Watching { .. })
    }

    /// The worker, with few tasks, goes on. Some of what the others must do without it if it
    /// should try that now, with so many `hands` in all. `all_work` looks at everybody's counters, so not each time.
    fn should_continue(
        &mut self,
        at: Instant,
        own_work: u64,
        hands: usize,
        all_work: impl FnOnce() -> u64,
    ) -> Option<f64> {
        let Stage::Watching { since, try_from } = &mut self.stage else { return None };
        let Some(watch) = *since else {
            *since = Some(LazyMonitor { all: Mark { at, work: all_work() }, own_work });
            return None;
        };
        if at.duration_since(watch.all.at) < WATCH_FOR {
            return None;
        }
        *since = None;
        let now = Mark { at, work: all_work() };
        let (all, own) = (now.work - watch.all.work, own_work - watch.own_work);
        let are_others = all.saturating_sub(own) >= all / OTHERS_PART;
        let is_short =
            at.duration_since(watch.all.at).as_nanos() <= u128::from(own) * SHORT_WORK_NS;
        let is_time = try_from.is_none_or(|from| at >= from);
        // Without one of them they could do less by a part of so many; a quarter of that is not worth its CPU.
        let least = 1.0 - 0.25 / hands.max(2) as f64;
        (is_time && are_others && is_short).then(|| now.rate_since(watch.all) * least)
    }

    /// It has left its tasks to others, which have to do `enough`.
    fn leave(&mut self, now: Mark, enough: f64) {
        self.stage = Stage::Trying { since: now, enough };
    }

    /// It looks whether to come back. `all_work` looks at everybody's counters, so not each time.
    fn look(&mut self, at: Instant, all_work: impl FnOnce() -> u64) -> Still {
        match self.stage {
            Stage::Watching { .. } => Still::Here,
            Stage::Trying { since, enough } => {
                let tried = at.duration_since(since.at);
                if tried < TRIAL {
                    Still::Away(TRIAL - tried)
                } else if (Mark { at, work: all_work() }).rate_since(since) >= enough {
                    let away_for = self.away_for.take();
                    self.stage = Stage::Away { until: at + away_for };
                    self.stay_for.begin_anew();
                    Still::Away(away_for)
                } else {
                    self.lease(at);
                    self.away_for.begin_anew();
                    Still::Needed
                }
            }
            Stage::Away { until } if at < until => Still::Away(until - at),
            Stage::Away { .. } => {
                self.stage = Stage::Watching { since: None, try_from: None };
                Still::Back
            }
        }
    }

    /// The others need it, or did not come for its tasks.
    fn lease(&mut self, now: Instant) {
        self.stage = Stage::Watching { since: None, try_from: Some(now + self.stay_for.take()) };
    }
}

impl WorkerThread {
    /// After some polls: takes over what another worker leaves, or leaves its own tasks to others.
    pub(super) fn heed_retreats(&self, polls: Polls, now: Instant) {
        match self.scheduler.retreats.leaving() {
            Some(index) if index != self.index => self.take_over(index),
            Some(_) => {}
            // Called, and busy: that it was away is over in time all the same.
            None if self.stays_away().is_some() => {}
            None => {
                if let Some(enough) = self.should_leave(polls, now) {
                    self.leave(enough);
                }
            }
        }
    }

    /// What others must do without this worker, if it should see whether they do.
    fn should_leave(&self, polls: Polls, now: Instant) -> Option<f64> {
        let mut core = self.enter()?;
        let worker = self.worker();
        let hands = self.scheduler.idle.awake();
        let are_few = waiting_at(worker, &core) <= TASKS_MAX;
        if hands < 2 || !are_few || polls.mean_ns() >= LONG_POLL_NS {
            core.retreat.watch_anew();
            return None;
        }
        core.retreat.should_continue(now, worker.metrics.work(), hands, || self.all_work())
    }

    /// Leaves all tasks to others, if somebody comes for them.
    #[cold]
    fn leave(&self, enough: f64) {
        let (worker, retreats) = (self.worker(), &self.scheduler.retreats);
        let Some(mut core) = self.enter() else { return };
        if !retreats.begin_leaving(self.index) {
            return;
        }
        core.publish_all(&worker.queue);
        drop(core);
        let begun = Instant::now();
        while !worker.queue.is_empty() && begun.elapsed() < LEAVE_WITHIN {
            hint::spin_loop();
        }
        retreats.end_leaving();
        let Some(mut core) = self.enter() else { return };
        let now = Instant::now();
        if worker.queue.is_empty() {
            core.retreat.leave(Mark { at: now, work: self.all_work() }, enough);
            retreats.detached.fetch_add(1, Relaxed);
        } else {
            core.retreat.lease(now);
        }
    }

    /// Takes all that waits at another worker's.
    #[cold]
    fn take_over(&self, index: usize) {
        let Some(mut core) = self.enter() else { return };
        let (own, left) = (self.worker(), &self.scheduler.workers[index]);
        let mut count = 0;
        while let Some((runnable, more)) = left.queue.steal_into(&own.queue, &mut core.queue) {
            core.queue.push(&own.queue, runnable);
            count += more as u64;
        }
        own.metrics.steal_operations.add(1);
        own.metrics.steals.add(count);
        own.load.trust(core.poll_stats.mean_poll_ns());
        core.retreat.watch_anew();
    }

    /// How long to stay away, if this worker has retreated.
    pub(super) fn stays_away(&self) -> Option<Duration> {
        let mut core = self.enter()?;
        if !core.retreat.is_away() {
            return None;
        }
        let still = core.retreat.look(Instant::now(), || self.all_work());
        drop(core);
        match still {
            Still::Away(left) => return Some(left),
            Still::Here => {}
            Still::Back => self.note_back(),
            Still::Needed => {
                self.note_back();
                for worker in
                    self.scheduler.workers.iter().filter(|worker| !worker.queue.is_empty())
                {
                    worker.load.favour();
                }
            }
        }
        None
    }

    fn note_back(&self) {
        self.scheduler.retreats.detached.fetch_sub(1, Relaxed);
    }

    fn all_work(&self) -> u64 {
        self.scheduler.workers.iter().map(|worker| worker.metrics.work()).sum()
    }
}

/// How many tasks wait for their turn.
fn waiting_at(worker: &Worker, core: &WorkerCore) -> usize {
    worker.queue.len() + core.queue.held_back() + core.yielded.len()
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    /// A worker beside another, and a clock. In 10 µs they do `both` together, or the other one `alone`.
    struct Worker {
        retreat: Retreat,
        now: Mark,
        own: u64,
    }

    impl Worker {
        fn new() -> Worker {
            let now = Mark { at: Instant::now(), work: 0 };
            Worker { retreat: Retreat::new(), now, own: 0 }
        }

        fn turn(&mut self, both: u64, alone: u64) {
            let is_away = self.retreat.is_away();
            self.now.at += Duration::from_micros(10);
            self.now.work += if is_away { alone } else { both };
            if is_away {
                self.retreat.look(self.now.at, || self.now.work);
                return;
            }
            self.own += both / 2;
            if let Some(enough) = self.should_continue(2) {
                self.retreat.leave(self.now, enough);
            }
        }

        fn should_continue(&mut self, hands: usize) -> Option<f64> {
            let Mark { at, work } = self.now;
            self.retreat.should_continue(at, self.own, hands, || work)
        }

        /// What part of `total` it is away.
        fn away_part(&mut self, total: Duration, both: u64, alone: u64) -> f64 {
            let turns = total.as_micros() / 10;
            let detached = (0..turns).filter(|_| {
                self.turn(both, alone);
                self.retreat.is_away()
            });
            detached.count() as f64 / turns as f64
        }
    }

    #[test]
    fn who_is_in_the_way_stays_away() {
        let part = Worker::new().away_part(Duration::from_secs(2), 100, 110);
        assert!(part > 0.95, "{part}");
    }

    #[test]
    fn who_does_its_part_stays() {
        let part = Worker::new().away_part(Duration::from_secs(2), 100, 60);
        assert!(part < 0.01, "{part}");
    }

    #[test]
    fn a_change_is_found_out_either_way() {
        let mut worker = Worker::new();
        worker.away_part(Duration::from_secs(1), 100, 110);
        worker.away_part(AWAY_FOR.1, 100, 50);
        let part = worker.away_part(Duration::from_secs(1), 100, 50);
        assert!(part < 0.05, "{part}");
        worker.away_part(STAY_FOR.1, 100, 110);
        let part = worker.away_part(Duration::from_secs(1), 100, 110);
        assert!(part > 0.85, "{part}");
    }

    #[test]
    fn of_many_each_is_worth_a_smaller_part() {
        let mut worker = Worker::new();
        assert_eq!(worker.should_continue(8), None, "it begins to watch");
        (worker.now.at, worker.now.work, worker.own) =
            (worker.now.at + WATCH_FOR, 1_000_000, 125_000);
        let enough = worker.should_continue(8).unwrap() * 1e6;
        assert!(enough > 875_000.0 && enough < 1_000_000.0, "{enough}");
    }

    #[test]
    fn who_is_alone_or_has_slept_or_has_much_to_do_for_each_does_not_try() {
        let mut worker = Worker::new();
        let mut busy = |own, others, sleeps: bool| {
            if sleeps {
                worker.retreat.watch_anew();
            }
            worker.now.at += WATCH_FOR;
            worker.now.work += own + others;
            worker.own += own;
            worker.should_continue(2).is_some()
        };
        assert!(!busy(5_000, 5_000, false), "it begins to watch");
        assert!(!busy(10_000, 0, false), "nobody else did anything");
        assert!(!busy(5_000, 5_000, false), "it begins to watch");
        assert!(!busy(500, 500, false), "each took two microseconds");
        assert!(!busy(5_000, 5_000, false), "it begins to watch");
        assert!(!busy(5_000, 5_000, true), "it begins to watch");
        assert!(busy(5_000, 5_000, false));
    }

    #[test]
    fn only_one_leaves_at_a_time() {
        let retreats = Retreats::new();
        assert!(retreats.begin_leaving(1) && !retreats.begin_leaving(0));
        assert_eq!(retreats.leaving(), Some(1));
        retreats.end_leaving();
        assert_eq!(retreats.leaving(), None);
    }
}
