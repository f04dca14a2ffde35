//! Which of a worker's tasks others may have.
//!
//! A task that moves to another worker finds nothing it needs in the cache there, and one that talks with
//! others pays for that again and again; if the other worker has to be woken, that costs more than most
//! tasks take. So what a worker gets to soon stays with it. How long it will take for what waits in its
//! queue, by the time that polls took of late, decides:
//!
//! | queue worth | |
//! |---|---|
//! | less than [`TAKE_NS`] | nobody takes from it |
//! | less than [`CALL_NS`] | who is awake and has nothing to do takes from it; if there is something again and again, somebody is called |
//! | less than [`CALL_CROWDED_NS`], with short polls [`CALL_CROWDED_SHORT_NS`] | somebody is called to do so, if there is a CPU for him ([`Crowd`]) |
//! | more | somebody is called |
//!
//! The estimate follows a long poll at once and forgets it slowly, so that a worker with one such poll in
//! a thousand still shares. Where it is known that others should help it is set aside ([`Load::open`]): by
//! the monitor, for a poll that does not return. It also tells how long polls take ([`Load::seen`]), since sixty
//! of them may come before the sitter knows. Tasks that yield have more to do and wait for nobody: they
//! are worth a call as well ([`Load::favour`]). But where it turns out that sharing does not pay, all is kept
//! ([`trial`](super::trial)).
//!
//! All that needs a monitor ([`MultiThread::may_keep_tasks`]). Without one every task is worth a call, and none is out of
//! reach but the one woken last: a poll may block until a task has run that waits behind it. So it is too once the
//! kernel has refused a fence, without which no seat can be looked at ([`MultiThread::keep_no_tasks`]).
//!
//! (A channel with room for 100 between two tasks: 18 ns per message instead of 27, all CPUs together 18
//! instead of 46. HTTP on 64 connections: 5 % more requests.)

use super::MultiThread;
use super::trial::{LONG_POLL_NS, Polls, TRIAL_TURNS};
use super::worker::{Worker, WorkerCore};
use super::worker_thread::WorkerThread;
// Not the models': these are estimates, and nothing is handed over by them.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a task's move costs.
const TAKE_NS: u64 = if cfg!(wakeful_loom) { 0 } else { 10_000 };

/// Some times what it costs to wake a thread: what waits should not be done before it comes.
const CALL_NS: u64 = if cfg!(wakeful_loom) { 0 } else { 50_000 };

/// For what is worth taking somebody is called too, by who has been awake for so long, or so long after the last time: then it
/// pays for his wake-up by being there again and again. (Two connections whose requests take 16 µs each, with their clients on the same
/// two workers: 15 µs per request instead of 25.) Not in models: each of their runs has to be the same.
const BACKLOG_AFTER: Duration =
    if cfg!(wakeful_loom) { Duration::MAX } else { Duration::from_micros(500) };

/// If no CPU is free, somebody comes at the cost of somebody else.
const CALL_CROWDED_NS: u64 = 20 * CALL_NS;

/// Short polls pay for their move as well, and mostly serve others, which then get no CPU to go on with: nobody is
/// called for what takes about as long as a time slice of the kernel's.
const CALL_CROWDED_SHORT_NS: u64 = 100 * CALL_NS;

/// A poll is taken to last so long where nothing is known, so that somebody is called for any task.
const OPEN_NS: u64 = CALL_NS;

/// What part of the estimate a shorter measurement replaces.
const FORGET_SHIFT: u32 = 3;

/// How long polls take on a seat, as all can see.
pub(super) struct Load {
    /// Written by the sitter, and by who opens it; nothing depends on which of them is last.
    mean_poll_ns: AtomicU64,
    /// It was found that sharing does not pay, or that is being tried. Written as above.
    keeps: AtomicBool,
    /// What thieves report: how often they were through with what they took, and their polls.
    hauls: AtomicU64,
    taken_polls: AtomicU64,
    taken_ns: AtomicU64,
}

/// Tasks that were taken from another worker.
pub(super) struct Haul {
    victim: usize,
    count: usize,
    at: Instant,
    /// The thief's polls before.
    polls: u64,
}

/// A task of a haul that is polled more often than this on average has a life of its own there.
const HAUL_POLLS_MAX: u64 = 4;

impl Load {
    pub(super) fn new() -> Load {
        Load {
            mean_poll_ns: AtomicU64::new(OPEN_NS),
            keeps: AtomicBool::new(false),
            hauls: AtomicU64::new(0),
            taken_polls: AtomicU64::new(0),
            taken_ns: AtomicU64::new(0),
        }
    }

    /// Whether who has nothing to do should take of `count` tasks that wait here.
    #[inline]
    pub(super) fn is_worth_taking(&self, count: usize) -> bool {
        count > 0 && !self.keeps.load(Relaxed) && self.worth_ns(count) >= TAKE_NS
    }

    /// Whether somebody should be called to take of `count` tasks that wait here.
    #[inline]
    pub(super) fn is_worth_calling(&self, count: usize) -> bool {
        count > 0 && !self.keeps.load(Relaxed) && self.worth_ns(count) >= CALL_NS
    }

    /// Whether that holds even if he takes the CPU from somebody.
    pub(super) fn is_worth_a_cpu(&self, count: usize) -> bool {
        let are_long = self.mean_poll_ns.load(Relaxed) >= LONG_POLL_NS;
        let least_ns = if are_long { CALL_CROWDED_NS } else { CALL_CROWDED_SHORT_NS };
        self.is_worth_calling(count) && self.worth_ns(count) >= least_ns
    }

    /// Whether `count` polls take no longer than `limit_ns`, and others are not to have all that waits here.
    pub(super) fn finishes_within(&self, count: usize, limit_ns: u64) -> bool {
        !self.is_worth_calling(1) && self.worth_ns(count) <= limit_ns
    }

    fn worth_ns(&self, count: usize) -> u64 {
        self.mean_poll_ns.load(Relaxed).saturating_mul(count as u64)
    }

    /// Others are to have whatever waits here.
    pub(super) fn open(&self) {
        self.keeps.store(false, Relaxed);
        self.favour();
    }

    /// Others are to have whatever waits here, if it pays to share.
    pub(super) fn favour(&self) {
        if self.mean_poll_ns.load(Relaxed) < OPEN_NS {
            self.mean_poll_ns.store(OPEN_NS, Relaxed);
        }
    }

    /// Polls take that long, whatever was thought before.
    pub(super) fn trust(&self, mean_ns: u64) {
        self.mean_poll_ns.store(mean_ns, Relaxed);
    }

    /// Polls took that long on average since the last time.
    pub(super) fn measured(&self, mean_ns: u64) {
        let before = self.mean_poll_ns.load(Relaxed);
        let slowly = before - (before >> FORGET_SHIFT) + (mean_ns >> FORGET_SHIFT);
        self.mean_poll_ns.store(slowly.max(mean_ns), Relaxed);
    }

    /// Polls take that long on average now, by the monitor's clock: long ones it sees sooner than the sitter,
    /// who measures after so many polls.
    pub(super) fn seen(&self, mean_ns: u64) {
        if mean_ns >= LONG_POLL_NS {
            self.keeps.store(false, Relaxed);
            self.mean_poll_ns.fetch_max(mean_ns, Relaxed);
        }
    }

    /// A thief is through with what it took.
    fn note_haul(&self, polls: Polls) {
        self.taken_polls.fetch_add(polls.count, Relaxed);
        self.taken_ns.fetch_add(polls.ns, Relaxed);
        self.hauls.fetch_add(1, Relaxed);
    }

    /// The polls of thieves since this was asked last, if they took often enough.
    fn taken(&self, hauls_min: u64) -> Option<Polls> {
        if self.hauls.load(Relaxed) < hauls_min {
            return None;
        }
        self.hauls.store(0, Relaxed);
        let (count, ns) = (self.taken_polls.swap(0, Relaxed), self.taken_ns.swap(0, Relaxed));
        Some(Polls { count, ns })
    }
}

impl MultiThread {
    /// Whether tasks may wait at a worker's while others are idle: if somebody puts them in reach when a poll does not
    /// return.
    pub(super) fn may_keep_tasks(&self) -> bool {
        self.keeps_tasks.load(Relaxed)
    }

    /// Nobody can do that any more: no task is kept from now on.
    #[cold]
    pub(super) fn keep_no_tasks(&self) {
        self.keeps_tasks.store(false, Relaxed);
        for worker in &self.workers {
            worker.load.open();
        }
    }

    /// Whether somebody should be called now to take of `count` tasks that wait at `worker`.
    pub(super) fn should_call_for(&self, worker: &Worker, count: usize) -> bool {
        worker.load.is_worth_calling(count) && self.may_call_for(worker, count)
    }

    /// Whether somebody can be called now to take of `count` tasks that wait at `worker`, and has a CPU.
    fn may_call_for(&self, worker: &Worker, count: usize) -> bool {
        let is_worth_a_cpu = || worker.load.is_worth_a_cpu(count) || !self.may_keep_tasks();
        self.idle.should_notify() && (is_worth_a_cpu() || !self.crowd.is_full(self.idle.awake()))
    }
}

impl WorkerThread {
    /// Whether somebody should be called now to take of `count` tasks that wait here.
    pub(super) fn should_call_for(&self, count: usize) -> bool {
        self.scheduler.should_call_for(self.worker(), count)
    }

    /// Lets idle workers have what this one does not get to.
    #[cold]
    pub(super) fn share_work(&self) {
        let Some(mut core) = self.enter() else { return };
        let worker = self.worker();
        let held_back = core.queue.held_back();
        let count = worker.queue.len() + held_back;
        core.gathered.note_run();
        if !worker.load.is_worth_calling(count)
            || core.gathered.should_continue()
            || !self.should_call_for(count)
        {
            return;
        }
        if worker.queue.is_empty() && held_back > 1 {
            core.queue.share_batch(&worker.queue);
        }
        drop(core);
        if !worker.queue.is_empty() {
            self.scheduler.notify_parked();
        }
    }

    /// Calls somebody for what is worth taking, if there is something again and again.
    pub(super) fn share_backlog(&self, now: Instant) {
        let Some(mut core) = self.enter() else { return };
        let worker = self.worker();
        let count = worker.queue.len() + core.queue.held_back();
        if core.next_backlog.is_none_or(|next| now < next)
            || !worker.load.is_worth_taking(count)
            || !self.scheduler.may_call_for(worker, count)
        {
            return;
        }
        core.next_backlog = now.checked_add(BACKLOG_AFTER);
        core.queue.share_batch(&worker.queue);
        drop(core);
        self.scheduler.notify_parked();
    }

    /// Takes the time of the polls since the last time. Some of it if they are enough to go by, and if tasks may be kept.
    pub(super) fn measure_polls(&self, now: Instant) -> Option<Polls> {
        let mut core = self.enter()?;
        let worker = self.worker();
        let polls = core.poll_stats.measure(worker.metrics.polls.get(), now)?;
        if !self.scheduler.may_keep_tasks() {
            // There may be some that were kept when that was decided.
            core.queue.hold_nothing_back();
            core.queue.share_batch(&worker.queue);
            worker.load.open();
            return None;
        }
        worker.load.measured(polls.mean_ns());
        self.heed_opening(&mut core);
        core.trial.measured(polls, |hauls_min| worker.load.taken(hauls_min), now);
        worker.load.keeps.store(core.trial.keeps(), Relaxed);
        if core.trial.tries() {
            core.until_maintenance = core.until_maintenance.min(TRIAL_TURNS);
        }
        Some(polls)
    }

    /// Who has opened the queue meanwhile had a reason: it stays open.
    fn heed_opening(&self, core: &mut WorkerCore) {
        if core.trial.keeps() && !self.worker().load.keeps.load(Relaxed) {
            core.trial.end();
        }
    }

    /// The worker has slept, or sat down, up to `now`. What was found out before may be long ago.
    pub(super) fn measure_anew(&self, core: &mut WorkerCore, now: Instant) {
        let worker = self.worker();
        worker.wake_stamp.record(worker.progress(), now);
        self.scheduler.info.time.note_wait_end(&mut core.timers, now);
        core.poll_stats.restart(worker.metrics.polls.get(), now);
        core.luck.note_sleep(now);
        core.next_backlog = now.checked_add(BACKLOG_AFTER);
        self.heed_opening(core);
        core.retreat.watch_anew();
        if core.trial.keeps() {
            core.trial.end_if_over(now);
            worker.load.keeps.store(core.trial.keeps(), Relaxed);
        }
    }

    /// The worker was not busy up to `now`: that is no time of its polls.
    pub(super) fn end_pause(&self, now: Instant) {
        if let Some(mut core) = self.enter() {
            core.poll_stats.restart(self.worker().metrics.polls.get(), now);
        }
    }

    /// `count` tasks were taken from worker `victim`.
    pub(super) fn begin_haul(
        &self,
        core: &mut WorkerCore,
        victim: usize,
        count: usize,
        at: Instant,
    ) {
        core.haul = Some(Haul { victim, count, at, polls: self.worker().metrics.polls.get() });
    }

    /// There is nothing left to do here: if all there was came from another worker, it is told.
    pub(super) fn end_haul(&self, now: Instant) {
        let Some(haul) = self.enter().and_then(|mut core| core.haul.take()) else { return };
        let count = self.worker().metrics.polls.get() - haul.polls;
        if count <= HAUL_POLLS_MAX * haul.count as u64 {
            let ns = now.duration_since(haul.at).as_nanos() as u64;
            self.scheduler.workers[haul.victim].load.note_haul(Polls { count, ns });
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn short_polls_are_trusted_slowly_and_a_long_one_is_believed_at_once() {
        let load = Load::new();
        assert!(load.is_worth_calling(1) && !load.is_worth_taking(0));
        load.measured(100);
        assert!(!load.is_worth_calling(1) && load.is_worth_taking(1));
        for _ in 0..100 {
            load.measured(100);
        }
        assert!(!load.is_worth_taking(50) && load.is_worth_taking(125));
        assert!(!load.is_worth_calling(250) && load.is_worth_calling(625));
        load.measured(30_000);
        assert!(!load.is_worth_calling(1) && load.is_worth_calling(2));
    }

    #[test]
    fn a_seat_that_is_opened_shares_a_single_task() {
        let load = Load::new();
        for _ in 0..100 {
            load.measured(1);
        }
        assert!(!load.is_worth_taking(2));
        assert!(load.finishes_within(10, 1_000));
        load.open();
        assert!(load.is_worth_taking(1) && load.is_worth_calling(1));
        assert!(!load.finishes_within(0, u64::MAX));
    }

    #[test]
    fn a_cpu_is_worth_more_than_a_call() {
        let load = Load::new();
        for _ in 0..100 {
            load.measured(10_000);
        }
        assert!(load.is_worth_calling(499) && !load.is_worth_a_cpu(499));
        assert!(load.is_worth_a_cpu(520));
        assert!(load.finishes_within(90, 1_000_000) && !load.finishes_within(110, 1_000_000));
        load.keeps.store(true, Relaxed);
        assert!(!load.is_worth_a_cpu(520));
        load.open();
        assert!(!load.is_worth_a_cpu(19) && load.is_worth_a_cpu(20), "long polls");
    }

    #[test]
    fn a_seat_whose_polls_are_seen_to_be_long_shares_what_it_kept() {
        let load = Load::new();
        for _ in 0..100 {
            load.measured(100);
        }
        load.keeps.store(true, Relaxed);
        load.seen(1_000);
        assert!(!load.is_worth_taking(125));
        load.seen(30_000);
        assert!(!load.is_worth_calling(1) && load.is_worth_calling(2));
    }

    #[test]
    fn a_queue_without_end_is_worth_sharing() {
        let load = Load::new();
        load.measured(u64::MAX);
        assert!(load.is_worth_calling(usize::MAX));
    }
}
