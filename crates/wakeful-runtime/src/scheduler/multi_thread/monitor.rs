//! The monitor: sees who stands still, and whether something waits behind him.
//!
//! A look compares how far every sitter in user code is with the look before. One that got no further
//! **stands**. Then, and only then, it is asked what waits:
//!
//! | what | who is to see to it |
//! |---|---|
//! | tasks that lie on the seat out of others' reach | they are put in reach (`inspect`) |
//! | tasks in any queue | a sleeper; without one, who takes the seat |
//! | timers of the seat, due now or by the next look; foreign wakers put off | who takes the seat |
//! | events, common timers, with nobody in the driver | a sleeper; without one, and with nobody who goes on, who takes the seat |
//! | the end of the runtime | who takes the seat |
//! | timers of a seat that was given away, and for which there is no thread yet; events, if its sitter was the last awake | a sleeper |
//!
//! ```text
//!   look ─▶ sample: the same as last time? ──no──▶ remember it ───────────────────────────┐
//!              │ yes: it stands                                                            │
//!              ▼                                                                           │
//!           inspect: what waits? ──nothing, or others have it now──▶ keep what was found ──┤
//!              │ something that nobody else will see to                                    │
//!              ▼                                                                           │
//!           too many compute already? ──yes──▶ it waits ───────────────────────────────────┤
//!              │ no                                                                        │
//!              ▼                                                                           ▼
//!           call_spare ──no thread──▶ it waits, and is tried again ────────▶ see_to_vacant, tell, wait
//! ```
//!
//! A sitter that gets on, but slowly, may have thought so far that it will be through with its queue in no time: its
//! seat is told how long polls take, so that it calls for help after the next.
//!
//! A poll that has queued tasks since the last look is no thread that blocks. With another worker that goes
//! on, that one may have what it leaves; the seat is not taken for it. (Otherwise a task that spawns 100k
//! others in one go paid 120 ns for each instead of 90.)
//!
//! The time between two looks is the monitor's **patience**: `stall_after` while all is well. Several tasks
//! that block may lie one behind the other, and what is behind them must not wait for the sum. So with
//! each seat that is taken it gets shorter, down to an eighth; and longer again when nothing stands for a
//! while, or when a thread that lost its seat comes back so soon that it should have kept it.
//!
//! Threads that block are many and cost little; threads that compute share the CPUs. When four for each CPU
//! of those that lost their seats still compute, no further seat is taken but to end the runtime: tasks that
//! all take long would otherwise get a thread each.
//!
//! When a look finds that all workers sleep the monitor rests, until one of them has been awake for longer than the patience.

use super::MultiThread;
use super::handoff::{Called, Found, Stuck};
use super::seat::{Seat, SeatCore};
use super::stay::Stay;
use crate::scheduler::cpus::cpus;
use crate::stall::{BoundMonitor, Stall, StallOutcome, Stalled};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::asymmetric_fence::heavy_fence;
use wakeful_base::diagnostics;
use wakeful_base::sync::atomic::Ordering::*;

/// After so many looks without a stall it has more patience.
const CALM_LOOKS: u32 = 16;

/// No look comes sooner than that after the last.
const PATIENCE_MIN: Duration = Duration::from_micros(50);

/// Behind what stands for long with nothing waiting, looks are as rare as this, or as a tenth of it.
const LONG_TICK_MAX: Duration = Duration::from_millis(10);

/// How many threads without a seat may compute, for each CPU.
const COMPUTING_MAX_PER_CPU: usize = 4;

/// Starts the monitor.
pub(super) fn start(shared: &Arc<MultiThread>) -> std::io::Result<()> {
    let mut monitor = Monitor::new(shared.clone());
    let ends = MonitorEnds(shared.clone());
    shared.stalls.start(Box::new(move || {
        let _ends = ends;
        monitor.run();
    }))
}

/// The monitor ends when this is dropped. By a panic, the runtime goes on without.
struct MonitorEnds(Arc<MultiThread>);

impl Drop for MonitorEnds {
    fn drop(&mut self) {
        if thread::panicking() {
            // Without a monitor no task may be kept behind a poll that blocks.
            self.0.keep_no_tasks();
            self.0.standing.store(0, Relaxed);
            diagnostics::print(format_args!(
                "a panic in the monitor, reported above, is a defect of Wakeful itself. Tasks go on, \
                 but from now on a task that blocks its worker holds up those behind it. Please report \
                 it, with the panic's text."
            ));
        }
        self.0.stalls.end_telling();
    }
}

struct Monitor {
    shared: Arc<MultiThread>,
    /// Of each seat: the poll that was under way at the last look.
    seats: Vec<Option<SeenPoll>>,
    /// Polls that go on without their seats.
    lost: Vec<SeenPoll>,
    /// Threads that run a `LocalSet`.
    bound: BoundMonitor,
    patience: Duration,
    calm_looks: u32,
    false_alarms: u64,
    computing_max: usize,
}

struct SeenPoll {
    index: usize,
    stay: Arc<Stay>,
    poll: Stuck,
    /// What the last look found on the seat, if it got at it.
    found: Option<Found>,
    /// What the last look that got at it found: the next may come while somebody else is at the seat.
    found_before: Option<Found>,
    /// What the seat's count of tasks put into its queue was then.
    schedules: u64,
    /// How often the seat's sitters had slept.
    parks: u64,
    /// The poll spawns or wakes tasks: it does not block, and leaves work for others as it goes.
    is_active: bool,
    outcome: StallOutcome,
    is_told: bool,
}

impl SeenPoll {
    fn new(index: usize, stay: Arc<Stay>, progress: u64, seat: &Seat, since: Instant) -> SeenPoll {
        let poll = Stuck { progress, since };
        let outcome = StallOutcome::NothingWaits;
        SeenPoll {
            index,
            stay,
            poll,
            found: None,
            found_before: None,
            schedules: seat.metrics.local_schedules.get(),
            parks: seat.metrics.parks.get(),
            is_active: false,
            outcome,
            is_told: false,
        }
    }

    fn is(&self, stay: &Arc<Stay>, progress: u64) -> bool {
        self.poll.progress == progress && Arc::ptr_eq(&self.stay, stay)
    }

    fn age(&self, now: Instant) -> Duration {
        now - self.poll.since
    }

    /// How long polls took on average from here to `next`, if the same sitter made them without a sleep.
    fn mean_until(&self, next: &SeenPoll) -> Option<Duration> {
        let is_busy = Arc::ptr_eq(&self.stay, &next.stay) && self.parks == next.parks;
        let polls = next.poll.progress.wrapping_sub(self.poll.progress);
        is_busy.then(|| {
            (next.poll.since - self.poll.since) / u32::try_from(polls).unwrap_or(u32::MAX).max(1)
        })
    }

    /// Whether a look before has seen it too.
    fn stands(&self, now: Instant) -> bool {
        self.poll.since < now
    }

    /// Whether it is still under way, on a thread from which its seat was taken.
    fn goes_on_elsewhere(&self) -> bool {
        self.stay.stuck_since().is_some() && self.stay.user_code().is_some()
    }

    fn to_stall(&self, found: Found, now: Instant) -> Stall {
        Stall {
            what: found.task.map_or(Stalled::Callback, |(id, at)| Stalled::Task(id, at)),
            worker: Some(self.index),
            duration: self.age(now),
            outcome: self.outcome,
            thread: self.stay.describe_thread(),
        }
    }
}

/// When to look again.
enum Next {
    Soon,
    /// All that is under way has stood for long, and need not be looked at so often.
    Later(Duration),
    /// Everybody sleeps.
    Quiet,
}

impl Next {
    /// All polls under way are at least that old.
    fn behind(age: Duration, patience: Duration) -> Next {
        let length = time_to_next(age, patience);
        // Less than twice as long spares no look. Halved, since the patience may be without end.
        if length / 2 >= patience { Next::Later(length) } else { Next::Soon }
    }
}

/// How long to wait with the next look behind a poll that is at least that old.
fn time_to_next(age: Duration, patience: Duration) -> Duration {
    patience.max(LONG_TICK_MAX.min(age / 10))
}

impl Monitor {
    fn new(shared: Arc<MultiThread>) -> Monitor {
        let seats = shared.seats.iter().map(|_| None).collect();
        let patience = shared.stalls.config.after.max(PATIENCE_MIN);
        Monitor {
            shared,
            seats,
            lost: Vec::new(),
            bound: BoundMonitor::default(),
            patience,
            calm_looks: 0,
            false_alarms: 0,
            computing_max: COMPUTING_MAX_PER_CPU * cpus(),
        }
    }

    fn run(&mut self) {
        // The first one takes long.
        if !heavy_fence() {
            return self.shared.keep_no_tasks();
        }
        let mut quiet_looks = 0;
        loop {
            let next = self.look(Instant::now());
            quiet_looks = if matches!(next, Next::Quiet) { quiet_looks + 1 } else { 0 };
            let stalls = &self.shared.stalls;
            let goes_on = match next {
                Next::Quiet => {
                    let all_sleep = || self.shared.are_all_asleep();
                    stalls.rest_after(quiet_looks, self.patience, all_sleep)
                }
                Next::Later(length) => {
                    let others_sleep = || self.do_others_sleep();
                    stalls.monitor.long_tick(self.patience, length, others_sleep)
                }
                Next::Soon => stalls.monitor.tick(self.patience),
            };
            if !goes_on {
                return;
            }
        }
    }

    fn look(&mut self, now: Instant) -> Next {
        for index in 0..self.seats.len() {
            self.sample(index, now);
        }
        let standing = self.seats.iter().flatten().filter(|seen| seen.stands(now)).count();
        self.shared.standing.store(standing, Relaxed);
        let has_called = standing > 0 && self.see_to_standing(now);
        self.adapt(has_called);
        let has_vacant = self.see_to_vacant();
        self.tell(now);
        let is_bound_busy = self.bound.look(&self.shared.stalls, now);
        if has_vacant || is_bound_busy || self.lost.iter().any(|seen| !seen.is_told) {
            return Next::Soon;
        }
        let mut seen = self.seats.iter().flatten();
        let Some(youngest) = seen.by_ref().map(|seen| seen.age(now)).min() else {
            return Next::Quiet;
        };
        Next::behind(youngest, self.patience)
    }

    fn sample(&mut self, index: usize, now: Instant) {
        let seat = &self.shared.seats[index];
        let stay = seat.sitting.sitter().filter(|stay| stay.user_code().is_some());
        let progress = seat.progress();
        let before = self.seats[index].take();
        self.seats[index] = match (before, stay) {
            (Some(seen), Some(stay)) if seen.is(&stay, progress) => Some(seen),
            (before, stay) => {
                let since = seat.woken.first_since(progress);
                let since =
                    since.filter(|&since| now.saturating_duration_since(since) >= self.patience);
                let since = since.unwrap_or(now);
                let next = stay.map(|stay| SeenPoll::new(index, stay, progress, seat, since));
                let mean = before.as_ref().zip(next.as_ref());
                if let Some(mean) = mean.and_then(|(before, next)| before.mean_until(next)) {
                    seat.load.seen(u64::try_from(mean.as_nanos()).unwrap_or(u64::MAX));
                }
                self.lost.extend(before.filter(SeenPoll::goes_on_elsewhere));
                next
            }
        };
    }

    /// Gets somebody to see to what waits behind those who stand. True if a seat is to be taken.
    fn see_to_standing(&mut self, now: Instant) -> bool {
        let hands_off = self.shared.stalls.config.hands_off;
        for index in 0..self.seats.len() {
            let Some(seen) = self.seats[index].as_ref().filter(|seen| seen.stands(now)) else {
                continue;
            };
            let within = time_to_next(seen.age(now), self.patience);
            let found = self.shared.inspect(index, seen.poll.progress, within, hands_off);
            let schedules = self.shared.seats[index].metrics.local_schedules.get();
            let seen = self.seats[index].as_mut().expect("looked at above");
            seen.is_active = seen.schedules != schedules;
            seen.found_before = found.or(seen.found_before);
            (seen.found, seen.schedules) = (found, schedules);
        }
        let (all_stand, is_saturated) = (self.do_all_stand(now), self.is_saturated());
        let shared = &self.shared;
        let mut wants_hands = if hands_off {
            shared.wants_hands(all_stand)
        } else {
            shared.has_visible_work() && !shared.idle.is_anybody_idle()
        };
        let (is_stopping, mut has_called) = (shared.is_stopping(), false);
        for seen in self.seats.iter_mut().flatten() {
            // It was seen for the first time, has gone on, or is at its seat just now.
            let Some(found) = seen.found else { continue };
            let is_wanted = wants_hands && (all_stand || !seen.is_active);
            if !(found.wants_sitter || is_stopping || is_wanted) {
                if found.is_relieved {
                    seen.outcome = StallOutcome::HandedOff;
                }
                continue;
            }
            if !hands_off || (is_saturated && !is_stopping) {
                seen.outcome = StallOutcome::Waits;
                continue;
            }
            wants_hands &= !is_wanted;
            let has_thread = shared.pool.has_thread();
            seen.outcome = match (shared.call_spare(seen.index, seen.poll), seen.outcome) {
                (Ok(Called::Before), StallOutcome::HandedOff | StallOutcome::NoThread) => continue,
                (Ok(called), _) if has_thread => {
                    has_called |= called == Called::Now;
                    StallOutcome::HandedOff
                }
                _ => StallOutcome::NoThread,
            };
        }
        has_called
    }

    /// Whether nobody is awake but those whose polls are known. (One that is between two polls need not wake up to get stuck.)
    fn do_others_sleep(&self) -> bool {
        let known = self.seats.iter().flatten().count();
        self.shared.idle.awake() <= known && self.shared.stalls.are_bound_asleep()
    }

    /// Whether no worker is between two polls, or was since the last look.
    fn do_all_stand(&self, now: Instant) -> bool {
        self.seats.iter().zip(&self.shared.seats).all(|(seen, seat)| match seen {
            Some(seen) => seen.stands(now),
            None => seat.with_vacant_core(|_| ()).is_some(),
        })
    }

    /// Whether one more thread would only take CPU time from those that lost their seats.
    fn is_saturated(&self) -> bool {
        if self.lost.len() < self.computing_max {
            return false;
        }
        // The latest will do: if they block, so do most of the others.
        let latest = self.lost.iter().rev().take(2 * self.computing_max);
        latest.filter(|seen| seen.stay.is_computing()).count() >= self.computing_max
    }

    /// Gets somebody to see to seats without a sitter, whose timers would stand still, and to the driver, which
    /// others may have left to that sitter. True if there are any.
    fn see_to_vacant(&self) -> bool {
        let shared = &self.shared;
        let has_vacant = shared.vacant.load(Relaxed) > 0;
        let is_due = |seat: &Seat| {
            let time = &shared.info.time;
            let is_due = |core: &mut SeatCore| time.is_soon_due(&core.timers, self.patience);
            seat.with_vacant_core(is_due).unwrap_or(false)
        };
        if has_vacant && (shared.seats.iter().any(is_due) || shared.wants_driver()) {
            shared.call_a_sleeper();
        }
        has_vacant
    }

    /// Adjusts the patience to what the last ones led to.
    fn adapt(&mut self, has_called: bool) {
        let (after, mut patience) = (self.shared.stalls.config.after, self.patience);
        let false_alarms = self.shared.stalls.metrics.false_alarms();
        self.calm_looks += 1;
        if false_alarms != self.false_alarms || self.calm_looks >= CALM_LOOKS {
            (self.false_alarms, self.calm_looks) = (false_alarms, 0);
            patience = patience.saturating_mul(2);
        } else if has_called {
            self.calm_looks = 0;
            patience = (patience / 2).max(after / 8);
        }
        self.patience = patience.min(after).max(PATIENCE_MIN);
    }

    /// Counts what has lasted for long enough, and tells of it.
    fn tell(&mut self, now: Instant) {
        let shared = &self.shared;
        let config = &shared.stalls.config;
        self.lost.retain(SeenPoll::goes_on_elsewhere);
        for seen in self.lost.iter_mut().chain(self.seats.iter_mut().flatten()) {
            let Some(found) = seen.found_before.filter(|_| seen.age(now) >= config.after) else {
                continue;
            };
            shared.stalls.metrics.note_duration(seen.age(now));
            if !seen.is_told {
                seen.is_told = true;
                shared.stalls.metrics.note_stall();
                if config.reports() {
                    shared.stalls.tell(seen.to_stall(found, now));
                }
            }
        }
    }
}

impl MultiThread {
    /// Whether somebody is to be got, besides those who go on, for what all can see. Calls sleepers itself.
    fn wants_hands(&self, all_stand: bool) -> bool {
        let mut wants = false;
        if self.has_visible_work() {
            self.wake_worker();
            wants = !self.idle.is_anybody_idle();
        }
        if self.wants_driver() {
            wants |= !self.call_a_sleeper() && all_stand;
        }
        wants
    }

    /// Whether events or common timers wait, with nobody in the driver.
    fn wants_driver(&self) -> bool {
        !self.seats.iter().any(|seat| seat.sleep.is_in_driver())
            && (self.info.io.has_events() || self.info.time.is_common_due())
    }

    /// For a worker that is awake: whether it is the only one, and no other thread is under watch.
    pub(super) fn is_one_awake(&self) -> bool {
        self.idle.awake() == 1 && self.stalls.are_bound_asleep()
    }

    pub(super) fn are_all_asleep(&self) -> bool {
        self.idle.are_all_asleep() && self.stalls.are_bound_asleep()
    }

    /// Wakes a worker that sleeps, whatever for. False if none does.
    fn call_a_sleeper(&self) -> bool {
        let sleeper = self.seats.iter().find(|seat| seat.sleep.is_asleep());
        if let Some(seat) = sleeper {
            seat.sleep.call(&self.driver);
        }
        sleeper.is_some()
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(2);

    #[test]
    fn looks_are_rare_behind_what_stands_for_long() {
        let is_later = |age, patience| matches!(Next::behind(age, patience), Next::Later(_));
        assert!(!is_later(19 * TICK, TICK), "less than two ticks");
        assert!(is_later(20 * TICK, TICK));
        assert!(!is_later(Duration::from_secs(1), Duration::MAX), "it looks no sooner than that");
    }
}
