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
//!           call_standby ──no thread──▶ it waits, and is tried again ────────▶ serve_vacant, tell, wait
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
use super::handoff::{Found, StandbyCall, Stuck};
use super::lease::Lease;
use super::worker::{Worker, WorkerCore};
use crate::scheduler::cpus::cpus;
use crate::stall::{PinnedMonitor, Stall, StallOutcome, Stalled};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::asymmetric_fence::heavy_fence;
use wakeful_base::diagnostics;
use wakeful_base::sync::atomic::Ordering::*;

/// After so many looks without a stall it has more patience.
const CALM_LOOKS: u32 = 16;

/// No look comes sooner than that after the last.
const INTERVAL_MIN: Duration = Duration::from_micros(50);

/// Behind what stands for long with nothing waiting, looks are as rare as this, or as a tenth of it.
const LONG_TICK_MAX: Duration = Duration::from_millis(10);

/// How many threads without a seat may compute, for each CPU.
const COMPUTING_MAX_PER_CPU: usize = 4;

/// Starts the monitor.
pub(super) fn start(scheduler: &Arc<MultiThread>) -> std::io::Result<()> {
    let mut monitor = Monitor::new(scheduler.clone());
    let ends = MonitorEnds(scheduler.clone());
    scheduler.stalls.start_monitor(Box::new(move || {
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
            self.0.stalled.store(0, Relaxed);
            diagnostics::print(format_args!(
                "a panic in the monitor, reported above, is a defect of Wakeful itself. Tasks go on, \
                 but from now on a task that blocks its worker holds up those behind it. Please report \
                 it, with the panic's text."
            ));
        }
        self.0.stalls.end_reports();
    }
}

struct Monitor {
    scheduler: Arc<MultiThread>,
    /// Of each seat: the poll that was under way at the last look.
    workers: Vec<Option<SeenPoll>>,
    /// Polls that go on without their seats.
    detached: Vec<SeenPoll>,
    /// Threads that run a `LocalSet`.
    pinned: PinnedMonitor,
    interval: Duration,
    calm_looks: u32,
    false_alarms: u64,
    computing_max: usize,
}

struct SeenPoll {
    index: usize,
    lease: Arc<Lease>,
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
    is_reported: bool,
}

impl SeenPoll {
    fn new(
        index: usize,
        lease: Arc<Lease>,
        progress: u64,
        worker: &Worker,
        since: Instant,
    ) -> SeenPoll {
        let poll = Stuck { progress, since };
        let outcome = StallOutcome::NothingWaits;
        SeenPoll {
            index,
            lease,
            poll,
            found: None,
            found_before: None,
            schedules: worker.metrics.local_schedules.get(),
            parks: worker.metrics.parks.get(),
            is_active: false,
            outcome,
            is_reported: false,
        }
    }

    fn is(&self, lease: &Arc<Lease>, progress: u64) -> bool {
        self.poll.progress == progress && Arc::ptr_eq(&self.lease, lease)
    }

    fn age(&self, now: Instant) -> Duration {
        now - self.poll.since
    }

    /// How long polls took on average from here to `next`, if the same sitter made them without a sleep.
    fn mean_until(&self, next: &SeenPoll) -> Option<Duration> {
        let is_busy = Arc::ptr_eq(&self.lease, &next.lease) && self.parks == next.parks;
        let polls = next.poll.progress.wrapping_sub(self.poll.progress);
        is_busy.then(|| {
            (next.poll.since - self.poll.since) / u32::try_from(polls).unwrap_or(u32::MAX).max(1)
        })
    }

    /// Whether a look before has seen it too.
    fn is_stalled(&self, now: Instant) -> bool {
        self.poll.since < now
    }

    /// Whether it is still under way, on a thread from which its seat was taken.
    fn continues_detached(&self) -> bool {
        self.lease.stuck_since().is_some() && self.lease.user_code().is_some()
    }

    fn to_stall(&self, found: Found, now: Instant) -> Stall {
        Stall {
            what: found.task.map_or(Stalled::Callback, |(id, at)| Stalled::Task(id, at)),
            worker: Some(self.index),
            duration: self.age(now),
            outcome: self.outcome,
            thread: self.lease.describe_thread(),
        }
    }
}

/// When to look again.
enum NextLook {
    Soon,
    /// All that is under way has stood for long, and need not be looked at so often.
    Later(Duration),
    /// Everybody sleeps.
    Quiet,
}

impl NextLook {
    /// All polls under way are at least that old.
    fn behind(age: Duration, interval: Duration) -> NextLook {
        let length = time_to_next(age, interval);
        // Less than twice as long spares no look. Halved, since the patience may be without end.
        if length / 2 >= interval { NextLook::Later(length) } else { NextLook::Soon }
    }
}

/// How long to wait with the next look behind a poll that is at least that old.
fn time_to_next(age: Duration, interval: Duration) -> Duration {
    interval.max(LONG_TICK_MAX.min(age / 10))
}

impl Monitor {
    fn new(scheduler: Arc<MultiThread>) -> Monitor {
        let workers = scheduler.workers.iter().map(|_| None).collect();
        let interval = scheduler.stalls.config.after.max(INTERVAL_MIN);
        Monitor {
            scheduler,
            workers,
            detached: Vec::new(),
            pinned: PinnedMonitor::default(),
            interval,
            calm_looks: 0,
            false_alarms: 0,
            computing_max: COMPUTING_MAX_PER_CPU * cpus(),
        }
    }

    fn run(&mut self) {
        // The first one takes long.
        if !heavy_fence() {
            return self.scheduler.keep_no_tasks();
        }
        let mut quiet_looks = 0;
        loop {
            let next = self.look(Instant::now());
            quiet_looks = if matches!(next, NextLook::Quiet) { quiet_looks + 1 } else { 0 };
            let stalls = &self.scheduler.stalls;
            let should_continue = match next {
                NextLook::Quiet => {
                    let are_all_parked = || self.scheduler.are_all_parked();
                    stalls.sleep_or_tick(quiet_looks, self.interval, are_all_parked)
                }
                NextLook::Later(length) => {
                    let others_sleep = || self.do_others_sleep();
                    stalls.monitor.long_tick(self.interval, length, others_sleep)
                }
                NextLook::Soon => stalls.monitor.tick(self.interval),
            };
            if !should_continue {
                return;
            }
        }
    }

    fn look(&mut self, now: Instant) -> NextLook {
        for index in 0..self.workers.len() {
            self.sample(index, now);
        }
        let stalled = self.workers.iter().flatten().filter(|seen| seen.is_stalled(now)).count();
        self.scheduler.stalled.store(stalled, Relaxed);
        let has_called = stalled > 0 && self.handle_stalled(now);
        self.adapt(has_called);
        let has_vacant = self.serve_vacant();
        self.report(now);
        let is_pinned_busy = self.pinned.look(&self.scheduler.stalls, now);
        if has_vacant || is_pinned_busy || self.detached.iter().any(|seen| !seen.is_reported) {
            return NextLook::Soon;
        }
        let mut seen = self.workers.iter().flatten();
        let Some(youngest) = seen.by_ref().map(|seen| seen.age(now)).min() else {
            return NextLook::Quiet;
        };
        NextLook::behind(youngest, self.interval)
    }

    fn sample(&mut self, index: usize, now: Instant) {
        let worker = &self.scheduler.workers[index];
        let lease = worker.lease_slot.thread().filter(|lease| lease.user_code().is_some());
        let progress = worker.progress();
        let before = self.workers[index].take();
        self.workers[index] = match (before, lease) {
            (Some(seen), Some(lease)) if seen.is(&lease, progress) => Some(seen),
            (before, lease) => {
                let since = worker.woken.first_since(progress);
                let since =
                    since.filter(|&since| now.saturating_duration_since(since) >= self.interval);
                let since = since.unwrap_or(now);
                let next = lease.map(|lease| SeenPoll::new(index, lease, progress, worker, since));
                let mean = before.as_ref().zip(next.as_ref());
                if let Some(mean) = mean.and_then(|(before, next)| before.mean_until(next)) {
                    worker.load.seen(u64::try_from(mean.as_nanos()).unwrap_or(u64::MAX));
                }
                self.detached.extend(before.filter(SeenPoll::continues_detached));
                next
            }
        };
    }

    /// Gets somebody to see to what waits behind those who stand. True if a seat is to be taken.
    fn handle_stalled(&mut self, now: Instant) -> bool {
        let hands_off = self.scheduler.stalls.config.hands_off;
        for index in 0..self.workers.len() {
            let Some(seen) = self.workers[index].as_ref().filter(|seen| seen.is_stalled(now))
            else {
                continue;
            };
            let within = time_to_next(seen.age(now), self.interval);
            let found = self.scheduler.inspect(index, seen.poll.progress, within, hands_off);
            let schedules = self.scheduler.workers[index].metrics.local_schedules.get();
            let seen = self.workers[index].as_mut().expect("looked at above");
            seen.is_active = seen.schedules != schedules;
            seen.found_before = found.or(seen.found_before);
            (seen.found, seen.schedules) = (found, schedules);
        }
        let (all_stand, is_saturated) = (self.are_all_stalled(now), self.is_saturated());
        let scheduler = &self.scheduler;
        let mut needs_help = if hands_off {
            scheduler.needs_help(all_stand)
        } else {
            scheduler.has_visible_work() && !scheduler.idle.has_idle()
        };
        let (is_stopping, mut has_called) = (scheduler.is_stopping(), false);
        for seen in self.workers.iter_mut().flatten() {
            // It was seen for the first time, has gone on, or is at its seat just now.
            let Some(found) = seen.found else { continue };
            let is_wanted = needs_help && (all_stand || !seen.is_active);
            if !(found.needs_thread || is_stopping || is_wanted) {
                if found.is_published {
                    seen.outcome = StallOutcome::HandedOff;
                }
                continue;
            }
            if !hands_off || (is_saturated && !is_stopping) {
                seen.outcome = StallOutcome::Waits;
                continue;
            }
            needs_help &= !is_wanted;
            let has_thread = scheduler.pool.has_thread();
            seen.outcome = match (scheduler.call_standby(seen.index, seen.poll), seen.outcome) {
                (Ok(StandbyCall::Earlier), StallOutcome::HandedOff | StallOutcome::NoThread) => {
                    continue;
                }
                (Ok(called), _) if has_thread => {
                    has_called |= called == StandbyCall::Now;
                    StallOutcome::HandedOff
                }
                _ => StallOutcome::NoThread,
            };
        }
        has_called
    }

    /// Whether nobody is awake but those whose polls are known. (One that is between two polls need not wake up to get stuck.)
    fn do_others_sleep(&self) -> bool {
        let known = self.workers.iter().flatten().count();
        self.scheduler.idle.awake() <= known && self.scheduler.stalls.are_pinned_idle()
    }

    /// Whether no worker is between two polls, or was since the last look.
    fn are_all_stalled(&self, now: Instant) -> bool {
        self.workers.iter().zip(&self.scheduler.workers).all(|(seen, worker)| match seen {
            Some(seen) => seen.is_stalled(now),
            None => worker.with_vacant_core(|_| ()).is_some(),
        })
    }

    /// Whether one more thread would only take CPU time from those that lost their seats.
    fn is_saturated(&self) -> bool {
        if self.detached.len() < self.computing_max {
            return false;
        }
        // The latest will do: if they block, so do most of the others.
        let latest = self.detached.iter().rev().take(2 * self.computing_max);
        latest.filter(|seen| seen.lease.is_computing()).count() >= self.computing_max
    }

    /// Gets somebody to see to seats without a sitter, whose timers would stand still, and to the driver, which
    /// others may have left to that sitter. True if there are any.
    fn serve_vacant(&self) -> bool {
        let scheduler = &self.scheduler;
        let has_vacant = scheduler.vacant.load(Relaxed) > 0;
        let is_due = |worker: &Worker| {
            let time = &scheduler.info.time;
            let is_due = |core: &mut WorkerCore| time.is_soon_due(&core.timers, self.interval);
            worker.with_vacant_core(is_due).unwrap_or(false)
        };
        if has_vacant && (scheduler.workers.iter().any(is_due) || scheduler.wants_driver()) {
            scheduler.wake_parked_worker();
        }
        has_vacant
    }

    /// Adjusts the patience to what the last ones led to.
    fn adapt(&mut self, has_called: bool) {
        let (after, mut interval) = (self.scheduler.stalls.config.after, self.interval);
        let false_alarms = self.scheduler.stalls.metrics.false_alarms();
        self.calm_looks += 1;
        if false_alarms != self.false_alarms || self.calm_looks >= CALM_LOOKS {
            (self.false_alarms, self.calm_looks) = (false_alarms, 0);
            interval = interval.saturating_mul(2);
        } else if has_called {
            self.calm_looks = 0;
            interval = (interval / 2).max(after / 8);
        }
        self.interval = interval.min(after).max(INTERVAL_MIN);
    }

    /// Counts what has lasted for long enough, and tells of it.
    fn report(&mut self, now: Instant) {
        let scheduler = &self.scheduler;
        let config = &scheduler.stalls.config;
        self.detached.retain(SeenPoll::continues_detached);
        for seen in self.detached.iter_mut().chain(self.workers.iter_mut().flatten()) {
            let Some(found) = seen.found_before.filter(|_| seen.age(now) >= config.after) else {
                continue;
            };
            scheduler.stalls.metrics.note_duration(seen.age(now));
            if !seen.is_reported {
                seen.is_reported = true;
                scheduler.stalls.metrics.note_stall();
                if config.reports() {
                    scheduler.stalls.report(seen.to_stall(found, now));
                }
            }
        }
    }
}

impl MultiThread {
    /// Whether somebody is to be got, besides those who go on, for what all can see. Calls sleepers itself.
    fn needs_help(&self, all_stand: bool) -> bool {
        let mut wants = false;
        if self.has_visible_work() {
            self.notify_parked();
            wants = !self.idle.has_idle();
        }
        if self.wants_driver() {
            wants |= !self.wake_parked_worker() && all_stand;
        }
        wants
    }

    /// Whether events or common timers wait, with nobody in the driver.
    fn wants_driver(&self) -> bool {
        !self.workers.iter().any(|worker| worker.park_state.is_in_driver())
            && (self.info.io.has_events() || self.info.time.is_external_due())
    }

    /// For a worker that is awake: whether it is the only one, and no other thread is under watch.
    pub(super) fn is_only_one_awake(&self) -> bool {
        self.idle.awake() == 1 && self.stalls.are_pinned_idle()
    }

    pub(super) fn are_all_parked(&self) -> bool {
        self.idle.are_all_parked() && self.stalls.are_pinned_idle()
    }

    /// Wakes a worker that sleeps, whatever for. False if none does.
    fn wake_parked_worker(&self) -> bool {
        let sleeper = self.workers.iter().find(|worker| worker.park_state.is_parked());
        if let Some(worker) = sleeper {
            worker.park_state.unpark(&self.driver);
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
        let is_later =
            |age, interval| matches!(NextLook::behind(age, interval), NextLook::Later(_));
        assert!(!is_later(19 * TICK, TICK), "less than two ticks");
        assert!(is_later(20 * TICK, TICK));
        assert!(!is_later(Duration::from_secs(1), Duration::MAX), "it looks no sooner than that");
    }
}
