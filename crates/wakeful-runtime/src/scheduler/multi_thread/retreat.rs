//! A worker without which the others do as much: it leaves its tasks to them.
//!
//! Tasks that wait for one another wander: each is woken where the one it waited for has run. On two workers that
//! means that they, and all that they have in common, go from cache to cache, and sixteen tasks that share a few permits
//! are served faster by one worker than by two. No queue tells that, and nobody takes tasks from anybody, so that there is
//! nothing to keep ([`trial`](super::trial)): both are busy all of the time. So a worker that is, beside others, with
//! few tasks and short polls, **retreats** to see how they get on:
//!
//! ```text
//!              busy for a while, as others are
//!   Watching ───────────────────────────────────▶ Trying ──┐ they made fewer polls: takes its share again
//!    ▲  ▲                                            │     │
//!    │  └────────────────────────────────────────────┼─────┘ (the next trial is further off each time)
//!    │   after a while, longer each time             ▼ they made as many
//!    └──────────────────────────────────────────── Away
//! ```
//!
//! It puts its tasks in reach, another takes them over in its next upkeep, and only then does it go; if nobody comes it goes
//! on. It sleeps as one that [steps back](super::step_back) does, with the same provisions. Tasks that yield are no reason to
//! call it meanwhile ([`Load::favour`](super::share::Load::favour)); all others are that call workers, and so is a poll that does
//! not return. So nothing is tried where no monitor sees that.

use super::seat::{Seat, SeatCore};
use super::sitter::Sitter;
use super::trial::Polls;
// Not the models': whose tasks are to be taken is a hint, and the queues see to who gets which.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use wakeful_base::sync::hint;

/// Longer polls than this pay for what it costs that tasks wander.
const SHORT_POLL_NS: u64 = 1_000;

/// More tasks than this that wait for their turn are no few that wait for each other.
const TASKS_MAX: usize = 32;

/// For so long is it seen how many polls all workers make.
const WATCH_FOR: Duration = Duration::from_millis(1);

/// For so long the others have to show what they do alone.
const TRIAL: Duration = Duration::from_micros(500);

/// So soon must somebody have taken the tasks over.
const LEAVE_WITHIN: Duration = Duration::from_micros(100);

/// Where one poll of so many is made elsewhere, there are others at work.
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
    away: AtomicUsize,
}

impl Retreats {
    pub(super) fn new() -> Retreats {
        Retreats { leaving: AtomicUsize::new(0), away: AtomicUsize::new(0) }
    }

    /// Whether somebody is away.
    pub(super) fn is_anybody_away(&self) -> bool {
        self.away.load(Relaxed) > 0
    }

    fn leaving(&self) -> Option<usize> {
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

/// How many polls all workers had made at a time.
#[derive(Clone, Copy)]
struct Mark {
    at: Instant,
    polls: u64,
}

impl Mark {
    /// Polls per nanosecond since `earlier`.
    fn rate_since(self, earlier: Mark) -> f64 {
        let ns = self.at.duration_since(earlier.at).as_nanos().max(1);
        (self.polls - earlier.polls) as f64 / ns as f64
    }
}

/// One worker's part.
pub(super) struct Retreat {
    stage: Stage,
    stay_for: Duration,
    away_for: Duration,
}

#[derive(Clone, Copy)]
enum Stage {
    Watching { since: Option<Watch>, try_from: Option<Instant> },
    Trying { since: Mark, enough: f64 },
    Away { until: Instant },
}

#[derive(Clone, Copy)]
struct Watch {
    all: Mark,
    own_polls: u64,
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
            stay_for: STAY_FOR.0,
            away_for: AWAY_FOR.0,
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

    /// The worker, with few tasks and short polls, goes on. Some of what the others must do without it if it
    /// should try that now, with so many `hands` in all.
    fn goes_on(&mut self, now: Mark, own_polls: u64, hands: usize) -> Option<f64> {
        let Stage::Watching { since, try_from } = &mut self.stage else { return None };
        let watch = *since.get_or_insert(Watch { all: now, own_polls });
        if now.at.duration_since(watch.all.at) < WATCH_FOR {
            return None;
        }
        *since = None;
        let all = now.polls - watch.all.polls;
        let others = all.saturating_sub(own_polls - watch.own_polls);
        let is_time = try_from.is_none_or(|from| now.at >= from);
        // Without one of them they could do less by a part of so many; a quarter of that is not worth its CPU.
        let least = 1.0 - 0.25 / hands.max(2) as f64;
        (is_time && others >= all / OTHERS_PART).then(|| now.rate_since(watch.all) * least)
    }

    /// It has left its tasks to others, which have to make `enough` polls.
    fn leave(&mut self, now: Mark, enough: f64) {
        self.stage = Stage::Trying { since: now, enough };
    }

    /// It looks whether to come back.
    fn look(&mut self, now: Mark) -> Still {
        match self.stage {
            Stage::Watching { .. } => Still::Here,
            Stage::Trying { since, enough } => {
                let tried = now.at.duration_since(since.at);
                if tried < TRIAL {
                    Still::Away(TRIAL - tried)
                } else if now.rate_since(since) >= enough {
                    self.stage = Stage::Away { until: now.at + self.away_for };
                    let away_for = self.away_for;
                    self.away_for = (2 * away_for).min(AWAY_FOR.1);
                    self.stay_for = STAY_FOR.0;
                    Still::Away(away_for)
                } else {
                    self.come_back(Some(now.at + self.stay_for));
                    self.stay_for = (2 * self.stay_for).min(STAY_FOR.1);
                    self.away_for = AWAY_FOR.0;
                    Still::Needed
                }
            }
            Stage::Away { until } if now.at < until => Still::Away(until - now.at),
            Stage::Away { .. } => {
                self.come_back(None);
                Still::Back
            }
        }
    }

    fn come_back(&mut self, try_from: Option<Instant>) {
        self.stage = Stage::Watching { since: None, try_from };
    }
}

impl Sitter {
    /// After some polls: takes over what another worker leaves, or leaves its own tasks to others.
    pub(super) fn heed_retreats(&self, polls: Polls, now: Instant) {
        match self.shared.retreats.leaving() {
            Some(index) if index != self.index => self.take_over(index),
            Some(_) => {}
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
        let seat = self.seat();
        if polls.mean_ns() >= SHORT_POLL_NS || waiting_at(seat, &core) > TASKS_MAX {
            core.retreat.watch_anew();
            return None;
        }
        let hands = self.shared.idle.awake();
        if hands < 2 {
            return None;
        }
        core.retreat.goes_on(self.mark(now), seat.metrics.polls.get(), hands)
    }

    /// Leaves all tasks to others, if somebody comes for them.
    #[cold]
    fn leave(&self, enough: f64) {
        let (seat, retreats) = (self.seat(), &self.shared.retreats);
        let Some(mut core) = self.enter() else { return };
        if !retreats.begin_leaving(self.index) {
            return;
        }
        core.share_all(&seat.queue);
        drop(core);
        let begun = Instant::now();
        while !seat.queue.is_empty() && begun.elapsed() < LEAVE_WITHIN {
            hint::spin_loop();
        }
        retreats.end_leaving();
        if seat.queue.is_empty() {
            if let Some(mut core) = self.enter() {
                core.retreat.leave(self.mark(Instant::now()), enough);
                retreats.away.fetch_add(1, Relaxed);
            }
        }
    }

    /// Takes all that waits at another worker's.
    #[cold]
    fn take_over(&self, index: usize) {
        let Some(mut core) = self.enter() else { return };
        let (own, left) = (self.seat(), &self.shared.seats[index]);
        let mut count = 0;
        while let Some((runnable, more)) = left.queue.steal_into(&own.queue, &mut core.queue) {
            core.queue.push(&own.queue, runnable);
            count += more as u64;
        }
        own.metrics.steal_operations.add(1);
        own.metrics.steals.add(count);
        own.load.trust(core.pace.mean_poll_ns());
    }

    /// How long to stay away, if this worker, which has nothing to do, has retreated.
    pub(super) fn stays_away(&self) -> Option<Duration> {
        let mut core = self.enter()?;
        if !core.retreat.is_away() {
            return None;
        }
        let still = core.retreat.look(self.mark(Instant::now()));
        drop(core);
        match still {
            Still::Away(left) => return Some(left),
            Still::Here => {}
            Still::Back => self.note_back(),
            Still::Needed => {
                self.note_back();
                for seat in &self.shared.seats {
                    seat.load.favour();
                }
            }
        }
        None
    }

    fn note_back(&self) {
        self.shared.retreats.away.fetch_sub(1, Relaxed);
    }

    fn mark(&self, at: Instant) -> Mark {
        Mark { at, polls: self.shared.seats.iter().map(|seat| seat.metrics.polls.get()).sum() }
    }
}

/// How many tasks wait for their turn.
fn waiting_at(seat: &Seat, core: &SeatCore) -> usize {
    seat.queue.len() + core.queue.held_back() + core.yielded.len()
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    /// A worker beside another, and a clock. Together they make `both` polls in 10 µs, or the other `alone` many.
    struct Worker {
        retreat: Retreat,
        now: Mark,
        own: u64,
    }

    impl Worker {
        fn new() -> Worker {
            let now = Mark { at: Instant::now(), polls: 0 };
            Worker { retreat: Retreat::new(), now, own: 0 }
        }

        fn turn(&mut self, both: u64, alone: u64) {
            let is_away = self.retreat.is_away();
            self.now.at += Duration::from_micros(10);
            self.now.polls += if is_away { alone } else { both };
            if is_away {
                self.retreat.look(self.now);
                return;
            }
            self.own += both / 2;
            if let Some(enough) = self.retreat.goes_on(self.now, self.own, 2) {
                self.retreat.leave(self.now, enough);
            }
        }

        /// What part of `total` it is away.
        fn away_part(&mut self, total: Duration, both: u64, alone: u64) -> f64 {
            let turns = total.as_micros() / 10;
            let away = (0..turns).filter(|_| {
                self.turn(both, alone);
                self.retreat.is_away()
            });
            away.count() as f64 / turns as f64
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
        worker.retreat.goes_on(worker.now, 0, 8);
        let now = Mark { at: worker.now.at + WATCH_FOR, polls: 1_000_000 };
        let enough = worker.retreat.goes_on(now, 125_000, 8).unwrap() * 1e6;
        assert!(enough > 875_000.0 && enough < 1_000_000.0, "{enough}");
    }

    #[test]
    fn who_is_alone_or_has_slept_does_not_try() {
        let mut worker = Worker::new();
        let busy = |worker: &mut Worker, own| {
            worker.now.at += WATCH_FOR;
            worker.now.polls += 1_000;
            worker.own += own;
            worker.retreat.goes_on(worker.now, worker.own, 2).is_some()
        };
        assert!(!busy(&mut worker, 500), "it begins to watch");
        assert!(!busy(&mut worker, 1_000), "nobody else did anything");
        assert!(!busy(&mut worker, 500), "it begins to watch");
        worker.retreat.watch_anew();
        assert!(!busy(&mut worker, 500), "it begins to watch");
        assert!(busy(&mut worker, 500));
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
