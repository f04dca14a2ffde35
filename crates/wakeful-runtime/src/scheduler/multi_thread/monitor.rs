//! The monitor thread: finds stalled workers, and gets the work behind them served.
//!
//! Each look compares the progress of every worker in user code with the look before. A worker that
//! has made none is a **suspect**. It is **stalled** if its thread has computed or blocked
//! meanwhile, rather than waited for a CPU ([`PollWatch`]). Only then does the monitor check what
//! is left behind it:
//!
//! | left behind | served by |
//! |---|---|
//! | tasks that other workers cannot reach | other workers: `inspect_all` publishes them |
//! | tasks in any queue | a parked worker; if there is none, a standby thread |
//! | the worker's timers, due now or before the next look; external wakers | a standby thread |
//! | events or external timers, driver vacant | a parked worker; if all are stalled, a standby |
//! | the shutdown of the runtime | a standby thread |
//! | timers of a vacant worker; events, if its thread was the last awake | a parked worker |
//!
//! ```text
//!   look ─▶ sample: same user code as before? ──no, or a late look──▶ remember it ─┐
//!              │ yes: a suspect                                                    │
//!              ▼                                                                   │
//!           check: computes or blocks? ──no──▶ publish its tasks ──────────────────┤
//!              │ yes: stalled                                                      │
//!              ▼                                                                   │
//!           inspect: work left? ──no, or other workers can do it──▶ note that ─────┤
//!              │ yes, and no other worker will do it                               │
//!              ▼                                                                   │
//!           too many threads computing? ──yes──▶ the work waits ───────────────────┤
//!              │ no                                                                │
//!              ▼                                                                   ▼
//!           call_standby ──no thread──▶ try again at the next look ─▶ serve_vacant, report, wait
//! ```
//!
//! A poll that has queued tasks since the last look does not block. If another worker makes
//! progress, that one can have the tasks, and the worker is not taken over for them: a task that
//! spawns many tasks in one poll would pay for that with each spawn (see bench/NOTES.md: hand-off
//! and tasks that spawn).
//!
//! The **interval** between two looks is `stall_after` at first. Several blocking tasks may be
//! queued one behind the other, and the tasks behind them must not wait for the sum. So each
//! hand-off halves the interval, down to an eighth of `stall_after`. It doubles again after some
//! looks without a hand-off, or when a thread returns so soon after its lease was revoked that the
//! hand-off was not worth it.
//!
//! Many threads may block, which costs little, but threads that compute share the CPUs. Once the
//! threads that still compute after their leases were revoked reach [`COMPUTING_MAX_PER_CPU`], no
//! further worker is taken over, except for the shutdown. Otherwise a program whose tasks all
//! compute for long would get a thread for each.
//!
//! A look that comes late ([`LookSchedule`]) finds no stall: the process was probably stopped or
//! throttled, and all threads stood still. Each look, late or not, fires the due timers of
//! suspects, since a thread that waits for a CPU does not get to them.
//!
//! When a look finds all workers parked, the monitor sleeps until one has been awake for the
//! interval.

use super::MultiThread;
use super::handoff::{FENCE_REFUSED, Inspection, StandbyCall, Stuck, Suspect};
use super::lease::Lease;
use super::worker::{Worker, WorkerCore};
use crate::cpus::cpus;
use crate::stall::{
    ComputeWatch, LookSchedule, OsThread, PinnedMonitor, PollWatch, Stall, StallOutcome, Stalled,
};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::asymmetric_fence::heavy_fence;
use wakeful_base::diagnostics;
use wakeful_base::sync::atomic::Ordering::*;

/// The interval doubles after this many looks without a hand-off. Bounds how long a shortened
/// interval outlasts the last hand-off.
const CALM_LOOKS: u32 = 16;

/// The lower bound of the interval, for a `stall_after` near zero.
const INTERVAL_MIN: Duration = Duration::from_micros(50);

/// The upper bound of the time between looks when all polls under way are old. Otherwise that time
/// is a tenth of the youngest poll's age.
const LONG_TICK_MAX: Duration = Duration::from_millis(10);

/// How many threads per CPU may compute without a lease before hand-offs stop. Bounds how many
/// threads share a CPU.
const COMPUTING_MAX_PER_CPU: usize = 4;

/// How many detached threads a look checks for whether they compute. Bounds the look's duration: a
/// check is a system call, and for a thread that has just blocked it reads a file in `/proc`. With
/// more threads, each look continues where the last one stopped.
const COMPUTING_CHECKS_MAX: usize = 16;

/// Starts the monitor of `scheduler`.
pub(super) fn start(scheduler: &Arc<MultiThread>) -> std::io::Result<()> {
    let mut monitor = Monitor::new(scheduler.clone());
    let guard = MonitorGuard(scheduler.clone());
    scheduler.stalls.start_monitor(Box::new(move || {
        let _guard = guard;
        monitor.run();
    }))
}

/// Cleans up when the monitor ends. If it ends by a panic, the runtime continues without one.
struct MonitorGuard(Arc<MultiThread>);

impl Drop for MonitorGuard {
    fn drop(&mut self) {
        if thread::panicking() {
            diagnostics::print(format_args!(
                "the monitor thread panicked (see above). This is a bug in Wakeful; please report \
                 it with the panic message. Tasks still run, but hand-off is off: from now on a \
                 task that blocks its worker delays the tasks queued behind it"
            ));
        }
        self.0.stalls.end_reports();
    }
}

struct Monitor {
    scheduler: Arc<MultiThread>,
    /// For each worker: the user code it ran at the last look.
    workers: Vec<Option<SeenPoll>>,
    /// User code that still runs on threads whose lease was revoked.
    detached: Vec<SeenPoll>,
    /// The detached thread to check next for whether it computes.
    next_check: usize,
    /// Watches the threads that run a `LocalSet`.
    pinned: PinnedMonitor,
    schedule: LookSchedule,
    interval: Duration,
    calm_looks: u32,
    false_alarms: u64,
    computing_max: usize,
}

/// User code that a look has seen on a worker.
struct SeenPoll {
    index: usize,
    lease: Arc<Lease>,
    poll: Stuck,
    /// Begun when this user code was first seen.
    watch: PollWatch,
    compute_watch: ComputeWatch,
    /// What the last look found, if it could inspect the worker.
    found: Option<Inspection>,
    /// What the last look that could inspect the worker found, for reports.
    found_before: Option<Inspection>,
    /// The worker's count of locally queued tasks at the last look.
    schedules: u64,
    /// The poll has queued tasks since the last look: it does not block, and other workers can take
    /// these tasks.
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
        now: Instant,
    ) -> SeenPoll {
        let poll = Stuck { progress, since };
        let outcome = StallOutcome::NothingWaits;
        let watch = PollWatch::begin(lease.thread(), now);
        SeenPoll {
            index,
            lease,
            poll,
            watch,
            compute_watch: ComputeWatch::begin(now),
            found: None,
            found_before: None,
            schedules: worker.metrics.local_schedules.get(),
            is_active: false,
            outcome,
            is_reported: false,
        }
    }

    fn is_same(&self, lease: &Arc<Lease>, progress: u64) -> bool {
        self.poll.progress == progress && Arc::ptr_eq(&self.lease, lease)
    }

    fn age(&self, now: Instant) -> Duration {
        now - self.poll.since
    }

    /// Returns whether the user code has lasted for some time: an earlier look saw it, or it is the
    /// first since the worker woke up.
    fn is_suspect(&self, now: Instant) -> bool {
        self.poll.since < now
    }

    fn is_stalled(&self) -> bool {
        self.watch.is_stalled()
    }

    /// Returns whether the user code still runs, on a thread whose lease was revoked.
    fn continues_detached(&self) -> bool {
        self.lease.stuck_since().is_some() && self.lease.user_code().is_some()
    }

    fn to_stall(&self, found: Inspection, now: Instant) -> Stall {
        Stall {
            what: found.task.map_or(Stalled::Callback, |(id, at)| Stalled::Task(id, at)),
            worker: Some(self.index),
            duration: self.age(now),
            outcome: self.outcome,
            thread: self.lease.thread().map(OsThread::describe),
        }
    }
}

/// When the monitor looks again.
enum NextLook {
    /// After this time, at most a tick.
    Soon(Duration),
    /// After this time: all user code under way is old, and can be checked less often.
    Later(Duration),
    /// When a worker wakes up: all workers are parked.
    Quiet,
}

impl NextLook {
    /// Decides by the `age` of the youngest user code under way.
    fn for_age(age: Duration, interval: Duration) -> NextLook {
        let interval_to_next = time_to_next_look(age, interval);
        // Less than twice the interval saves no look. Halved, since the interval may be `MAX`.
        if interval_to_next / 2 >= interval {
            NextLook::Later(interval_to_next)
        } else {
            NextLook::Soon(interval)
        }
    }

    /// Returns how long the monitor waits, at most, if that is bounded.
    fn wait(&self) -> Option<Duration> {
        match *self {
            NextLook::Soon(wait) | NextLook::Later(wait) => Some(wait),
            NextLook::Quiet => None,
        }
    }
}

/// Returns the time to the next look if the youngest user code under way has this age.
fn time_to_next_look(age: Duration, interval: Duration) -> Duration {
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
            next_check: 0,
            pinned: PinnedMonitor::default(),
            schedule: LookSchedule::default(),
            interval,
            calm_looks: 0,
            false_alarms: 0,
            computing_max: COMPUTING_MAX_PER_CPU * cpus(),
        }
    }

    fn run(&mut self) {
        // The first fence of a process is slow, so it is made before a stall depends on it.
        if !heavy_fence() {
            return self.scheduler.lose_handoff(FENCE_REFUSED);
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
                NextLook::Later(interval_to_next) => {
                    let are_others_parked = || self.are_others_parked();
                    stalls.monitor.long_tick(self.interval, interval_to_next, are_others_parked)
                }
                NextLook::Soon(wait) => stalls.monitor.tick(wait),
            };
            if !should_continue {
                return;
            }
        }
    }

    fn look(&mut self, now: Instant) -> NextLook {
        let is_late = self.schedule.begin_look(now);
        for index in 0..self.workers.len() {
            self.sample(index, now);
        }
        let has_called_standby = if is_late {
            self.inspect_suspects(now, self.scheduler.stalls.config.hands_off);
            if self.scheduler.has_visible_work() {
                self.scheduler.notify_parked();
            }
            self.restart_watches(now);
            false
        } else {
            self.check_suspects(now)
        };
        self.adapt_interval(has_called_standby);
        let has_vacant = self.serve_vacant();
        self.report(now);
        let is_pinned_busy = self.pinned.look(&self.scheduler.stalls, now, is_late);
        let next = if has_vacant || is_pinned_busy {
            NextLook::Soon(self.interval)
        } else {
            self.next_look(now, is_late)
        };
        self.schedule.plan(now, is_late, next.wait());
        next
    }

    fn next_look(&self, now: Instant, is_late: bool) -> NextLook {
        if self.detached.iter().any(|seen| !seen.is_reported) {
            return NextLook::Soon(self.interval);
        }
        let mut seen = self.workers.iter().flatten();
        // User code that is the first since its worker woke up is a suspect when it is first seen.
        // If it computes, the CPU clock says so after half an interval.
        let is_new_suspect = |seen: &SeenPoll| {
            seen.is_suspect(now) && !seen.is_stalled() && seen.watch.began_at(now)
        };
        if !is_late && seen.clone().any(is_new_suspect) {
            return NextLook::Soon(self.interval / 2);
        }
        let Some(youngest) = seen.by_ref().map(|seen| seen.age(now)).min() else {
            return NextLook::Quiet;
        };
        NextLook::for_age(youngest, self.interval)
    }

    fn restart_watches(&mut self, now: Instant) {
        for seen in self.workers.iter_mut().flatten() {
            seen.watch.restart(seen.lease.thread(), now);
        }
    }

    /// Finds out which suspects are stalled, and serves what is left behind them. Returns true if a
    /// standby thread was called.
    fn check_suspects(&mut self, now: Instant) -> bool {
        let after = self.scheduler.stalls.config.after;
        let mut has_suspects = false;
        for seen in self.workers.iter_mut().flatten().filter(|seen| seen.is_suspect(now)) {
            seen.watch.check(seen.lease.thread(), now, after);
            has_suspects = true;
        }
        has_suspects && self.handle_suspects(now)
    }

    fn sample(&mut self, index: usize, now: Instant) {
        let worker = &self.scheduler.workers[index];
        let lease = worker.lease_slot.holder().filter(|lease| lease.user_code().is_some());
        let progress = worker.progress();
        let before = self.workers[index].take();
        self.workers[index] = match (before, lease) {
            (Some(seen), Some(lease)) if seen.is_same(&lease, progress) => Some(seen),
            (before, lease) => {
                let since = worker.wake_stamp.user_code_since(progress);
                let since =
                    since.filter(|&since| now.saturating_duration_since(since) >= self.interval);
                let since = since.unwrap_or(now);
                let next =
                    lease.map(|lease| SeenPoll::new(index, lease, progress, worker, since, now));
                self.detached.extend(before.filter(SeenPoll::continues_detached));
                next
            }
        };
    }

    /// Publishes the tasks of suspects, and serves what is left behind stalled workers. Returns
    /// true if a standby thread was called.
    fn handle_suspects(&mut self, now: Instant) -> bool {
        let hands_off = self.scheduler.stalls.config.hands_off;
        self.inspect_suspects(now, hands_off);
        let (all_stalled, is_saturated) = (self.are_all_stalled(), self.is_saturated(now));
        let scheduler = &self.scheduler;
        let mut needs_help = if hands_off {
            scheduler.needs_help(all_stalled)
        } else {
            scheduler.has_visible_work() && !scheduler.idle.has_parked()
        };
        let (is_stopping, mut has_called_standby) = (scheduler.is_stopping(), false);
        for seen in self.workers.iter_mut().flatten().filter(|seen| seen.is_stalled()) {
            // `None` if this user code has ended, or if its thread was in a core section just now.
            let Some(found) = seen.found else { continue };
            let serves_shared = needs_help && (all_stalled || !seen.is_active);
            if !(found.needs_thread || is_stopping || serves_shared) {
                if found.is_published {
                    seen.outcome = StallOutcome::HandedOff;
                }
                continue;
            }
            if !hands_off || (is_saturated && !is_stopping) {
                seen.outcome = StallOutcome::Waits;
                continue;
            }
            needs_help &= !serves_shared;
            let has_thread = scheduler.pool.has_thread();
            seen.outcome = match (scheduler.call_standby(seen.index, seen.poll), seen.outcome) {
                (Ok(StandbyCall::Earlier), StallOutcome::HandedOff | StallOutcome::NoThread) => {
                    continue;
                }
                (Ok(called), _) if has_thread => {
                    has_called_standby |= called == StandbyCall::Now;
                    StallOutcome::HandedOff
                }
                _ => StallOutcome::NoThread,
            };
        }
        has_called_standby
    }

    /// Inspects the workers that are suspects, and notes what is found.
    fn inspect_suspects(&mut self, now: Instant, publish: bool) {
        let suspect = |seen: &SeenPoll| Suspect {
            index: seen.index,
            progress: seen.poll.progress,
            within: time_to_next_look(seen.age(now), self.interval),
        };
        let seen = self.workers.iter().flatten();
        let suspects: Vec<_> = seen.filter(|seen| seen.is_suspect(now)).map(suspect).collect();
        let found = self.scheduler.inspect_all(&suspects, publish);
        let seen = self.workers.iter_mut().flatten().filter(|seen| seen.is_suspect(now));
        for (seen, found) in seen.zip(found) {
            let schedules = self.scheduler.workers[seen.index].metrics.local_schedules.get();
            seen.is_active = seen.schedules != schedules;
            seen.found_before = found.or(seen.found_before);
            (seen.found, seen.schedules) = (found, schedules);
        }
    }

    /// Returns whether all workers are parked but those in known user code. (A worker between two
    /// polls may get stuck without waking up first, so it counts as awake.)
    fn are_others_parked(&self) -> bool {
        let known = self.workers.iter().flatten().count();
        self.scheduler.idle.awake() <= known && self.scheduler.stalls.are_pinned_idle()
    }

    /// Returns whether every worker with a thread is stalled.
    fn are_all_stalled(&self) -> bool {
        self.workers.iter().zip(&self.scheduler.workers).all(|(seen, worker)| match seen {
            Some(seen) => seen.is_stalled(),
            None => worker.with_vacant_core(|_| ()).is_some(),
        })
    }

    /// Returns whether one more thread would only take CPU time from the detached threads.
    fn is_saturated(&mut self, now: Instant) -> bool {
        if self.detached.len() < self.computing_max {
            return false;
        }
        for _ in 0..COMPUTING_CHECKS_MAX.min(self.detached.len()) {
            self.next_check %= self.detached.len();
            let SeenPoll { lease, compute_watch, .. } = &mut self.detached[self.next_check];
            compute_watch.check(lease.thread(), now);
            self.next_check += 1;
        }
        let computing = self.detached.iter().filter(|seen| seen.compute_watch.computes());
        computing.count() >= self.computing_max
    }

    /// Unparks a worker for vacant workers with due timers, and for the driver, if a worker left it
    /// unattended when it became vacant. Returns true if there are vacant workers.
    fn serve_vacant(&self) -> bool {
        let scheduler = &self.scheduler;
        let has_vacant = scheduler.vacant.load(Relaxed) > 0;
        let is_due = |worker: &Worker| {
            let time = &scheduler.info.time;
            let is_due = |core: &mut WorkerCore| time.is_soon_due(&core.timers, self.interval);
            worker.with_vacant_core(is_due).unwrap_or(false)
        };
        if has_vacant && (scheduler.workers.iter().any(is_due) || scheduler.needs_driver()) {
            scheduler.wake_parked_worker();
        }
        has_vacant
    }

    /// Adapts the interval to what the last looks led to.
    fn adapt_interval(&mut self, has_called_standby: bool) {
        let (after, mut interval) = (self.scheduler.stalls.config.after, self.interval);
        let false_alarms = self.scheduler.stalls.metrics.false_alarms();
        self.calm_looks += 1;
        if false_alarms != self.false_alarms || self.calm_looks >= CALM_LOOKS {
            (self.false_alarms, self.calm_looks) = (false_alarms, 0);
            interval = interval.saturating_mul(2);
        } else if has_called_standby {
            self.calm_looks = 0;
            interval = (interval / 2).max(after / 8);
        }
        self.interval = interval.min(after).max(INTERVAL_MIN);
    }

    /// Counts and reports user code that has lasted for `stall_after`.
    fn report(&mut self, now: Instant) {
        let scheduler = &self.scheduler;
        let config = &scheduler.stalls.config;
        self.detached.retain(SeenPoll::continues_detached);
        for seen in self.detached.iter_mut().chain(self.workers.iter_mut().flatten()) {
            let is_due = seen.is_stalled() && seen.age(now) >= config.after;
            let Some(found) = seen.found_before.filter(|_| is_due) else { continue };
            scheduler.stalls.metrics.note_duration(seen.age(now));
            if !seen.is_reported {
                seen.is_reported = true;
                scheduler.stalls.metrics.note_stall();
                if scheduler.stalls.wants_reports() {
                    scheduler.stalls.report(seen.to_stall(found, now));
                }
            }
        }
    }
}

impl MultiThread {
    /// Returns whether a standby thread is needed for work that all workers can see. Unparks parked
    /// workers first.
    fn needs_help(&self, all_stalled: bool) -> bool {
        let mut needs_help = false;
        if self.has_visible_work() {
            self.notify_parked();
            needs_help = !self.idle.has_parked();
        }
        if self.needs_driver() {
            needs_help |= !self.wake_parked_worker() && all_stalled;
        }
        needs_help
    }

    /// Returns whether events or external timers are due and no worker is in the driver.
    fn needs_driver(&self) -> bool {
        !self.workers.iter().any(|worker| worker.park_state.is_in_driver())
            && (self.info.io.has_events() || self.info.time.is_external_due())
    }

    /// Returns whether the calling worker is the only one awake, and no pinned thread is in a poll.
    pub(super) fn is_only_one_awake(&self) -> bool {
        self.idle.awake() == 1 && self.stalls.are_pinned_idle()
    }

    pub(super) fn are_all_parked(&self) -> bool {
        self.idle.are_all_parked() && self.stalls.are_pinned_idle()
    }

    /// Unparks any parked worker. Returns false if there is none.
    fn wake_parked_worker(&self) -> bool {
        let parked = self.workers.iter().find(|worker| worker.park_state.is_parked());
        if let Some(worker) = parked {
            worker.park_state.unpark(&self.driver);
        }
        parked.is_some()
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
