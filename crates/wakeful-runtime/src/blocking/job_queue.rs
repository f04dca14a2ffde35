//! The pool's queue: which thread takes which job, and when one more thread is should_take.
//!
//! Waking a sleeping thread costs far more than a short job takes, so a push wakes nobody where a
//! thread comes for the job anyway:
//!
//! 1. A thread that ran out of jobs **looks** on for a moment before it sleeps, as long as that pays ([`Looks`]). A push that
//!    finds as many threads looking as there are jobs leaves it to them.
//! 2. If jobs have been short of late, those in the queue are done sooner than a sleeper would be up.
//!    That is a guess, so it counts only while a **guard** is there: one thread that sleeps a tick at
//!    a time instead of for good, and takes over when the queue has stood still for a tick. It is there only where jobs
//!    have come faster than they were done: there is nothing to guess else.
//! 3. Else a sleeping thread is woken, or a new one asked for.
//!
//! So for each job in the queue a thread is on its way, or the guard is there, or there are no more
//! threads to be had. A guard that leaves, to take a job or because it was the sleeper to be woken, may
//! leave jobs behind that nobody comes for: who takes a job and sees that calls one thread for them,
//! and that one the next. They may all be jobs that wait for each other.
//!
//! ```text
//!              ┌───────────── a job ◀───────────────┐
//!              ▼                                    │
//!   start ─▶ drain ──(empty)─▶ look ──(nothing)─▶ sleep ──(keep-alive over)─▶ exit
//!              ▲                │                   ▲
//!              │                │ lately short jobs │ nothing happened for a tick
//!              │                └─────▶ guard ──────┘
//!              └─(queue stands still)─────┘
//! ```

use super::looks::{LOOK_MAX, Looks};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{Condvar, Mutex, MutexGuard, hint};

/// How long a queue may stand still before the guard takes over.
const WATCHDOG_TICK: Duration = Duration::from_millis(1);

/// A queue that is expected to be empty by then is not worth a wake-up.
const WAKE_UP_NS: u64 = 20_000;

/// Until it is known how long jobs take, none counts as short.
const AVERAGE_NS_AT_START: u64 = 1_000_000;

pub(super) struct JobQueue<J> {
    state: Mutex<QueueState<J>>,
    /// Sleeping threads wait here.
    sleepers: Condvar,
    /// Who waits for all threads to be gone waits here.
    exited: Condvar,
    /// As `jobs.len()`, for threads that look; never zero in a closed queue.
    jobs_hint: AtomicUsize,
    threads_max: usize,
    keep_alive: Duration,
}

struct QueueState<J> {
    /// Seats first: they are few, and a seat without a thread holds up all that lies on it.
    jobs: VecDeque<Waiting<J>>,
    next_number: u64,
    /// The queue is about to be closed: threads that find no job exit.
    retiring: bool,
    closed: bool,
    /// All threads, whatever they do, those about to start included.
    threads: usize,
    /// Of these: not there yet.
    starting: usize,
    /// Busy with a job without end.
    worker_jobs: usize,
    looking: usize,
    looks: Looks,
    /// Done with a job but for telling who waits for it, which may bring the next one.
    finishing: usize,
    sleeping: usize,
    /// Sleepers that were told to come and did not yet.
    woken: usize,
    /// One of those on their way was called for jobs that nobody came for.
    backup_requested: bool,
    /// A job has come while another waited, and the guard has seen no quiet tick since.
    was_busy: bool,
    watchdog: bool,
    completed: u64,
    average_ns: u64,
    /// Somebody waits until so many threads are left.
    exits_awaited: Option<usize>,
}

struct Waiting<J> {
    job: J,
    kind: Kind,
    number: u64,
}

/// What a push asks of the caller.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Push<J> {
    /// Nothing.
    Queued,
    /// To start a thread, which is counted already; the job is in the queue.
    StartThread(JobNumber),
    /// The queue is closed.
    Closed(J),
}

/// Which job a thread was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobNumber(u64);

/// Jobs that nobody can run.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stranded<J> {
    /// The one that the thread was asked for.
    pub(super) own: Option<J>,
    pub(super) others: Vec<J>,
}

/// What a thread is to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextJob<J> {
    Run(J),
    /// As `Run`, but start another thread first, which is counted already.
    StartThreadAndRun(J),
    Exit,
}

/// Who comes to those that are left behind.
enum BackupThread {
    Sleeper,
    NewThread,
    Unavailable,
}

/// How a job is to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It comes to an end by itself.
    Short,
    /// As `Short`, but to be run even if the queue is closed before its turn.
    Mandatory,
    /// It ends with the runtime: a worker.
    Worker,
}

/// How a thread comes for its next job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// For the first time.
    AsNew,
    /// From its last one, as it said it would.
    Announced,
    Unannounced,
}

impl<J> JobQueue<J> {
    pub(super) fn new(threads_max: usize, keep_alive: Duration) -> JobQueue<J> {
        JobQueue {
            state: Mutex::new(QueueState {
                jobs: VecDeque::new(),
                next_number: 0,
                retiring: false,
                closed: false,
                threads: 0,
                starting: 0,
                worker_jobs: 0,
                looking: 0,
                looks: Looks::new(),
                finishing: 0,
                sleeping: 0,
                woken: 0,
                backup_requested: false,
                was_busy: false,
                watchdog: false,
                completed: 0,
                average_ns: AVERAGE_NS_AT_START,
                exits_awaited: None,
            }),
            sleepers: Condvar::new(),
            exited: Condvar::new(),
            jobs_hint: AtomicUsize::new(0),
            threads_max,
            keep_alive,
        }
    }

    pub(super) fn push(&self, job: J, kind: Kind) -> Push<J> {
        let mut state = self.state.lock();
        // A seat whose thread is stuck wants another even then, so that its worker can stop.
        if state.closed && (kind != Kind::Worker || state.threads == 0) {
            return Push::Closed(job);
        }
        let number = state.next_number;
        state.next_number += 1;
        let waiting = Waiting { job, kind, number };
        match kind {
            Kind::Short | Kind::Mandatory => state.jobs.push_back(waiting),
            Kind::Worker => state.jobs.push_front(waiting),
        }
        state.was_busy |= state.jobs.len() > 1;
        if !state.closed {
            self.jobs_hint.store(state.jobs.len(), Release);
        }
        if state.jobs.len() <= state.coming()
            || (kind != Kind::Worker && state.will_be_empty_soon())
        {
            return Push::Queued;
        }
        match state.request_thread(self.threads_max) {
            BackupThread::Sleeper => {
                drop(state);
                self.sleepers.notify_one();
                Push::Queued
            }
            BackupThread::NewThread => Push::StartThread(JobNumber(number)),
            BackupThread::Unavailable => Push::Queued,
        }
    }

    /// A thread that was asked for could not be started. Gives the jobs back that there is no thread
    /// for any more, the one that it was asked for among them if it is still there.
    pub(super) fn start_failed(&self, asked_for: Option<JobNumber>) -> Stranded<J> {
        let mut state = self.state.lock();
        state.starting -= 1;
        state.backup_requested = false;
        self.note_exit(&mut state);
        let is_own = |waiting: &Waiting<J>| Some(JobNumber(waiting.number)) == asked_for;
        let is_worker_ahead =
            |waiting: &Waiting<J>| waiting.kind == Kind::Worker && !is_own(waiting);
        let free_threads = state.threads - state.worker_jobs;
        if free_threads > state.jobs.iter().filter(|waiting| is_worker_ahead(waiting)).count() {
            if state.jobs.len() > state.coming() && state.sleeping > state.woken {
                state.woken += 1;
                drop(state);
                self.sleepers.notify_one();
            }
            return Stranded { own: None, others: Vec::new() };
        }
        let own = state.take_jobs(&mut |waiting| is_own(waiting)).pop();
        let others = state.take_jobs(&mut |waiting| !is_worker_ahead(waiting));
        if !state.closed {
            self.jobs_hint.store(state.jobs.len(), Release);
        }
        Stranded { own, others }
    }

    /// Waits for a job. `Exit` if the thread is should_take no more, and counts no longer.
    pub(super) fn next(&self, arrival: Arrival) -> NextJob<J> {
        let mut state = self.state.lock();
        match arrival {
            Arrival::AsNew => {
                state.starting -= 1;
                state.backup_requested = false;
            }
            Arrival::Announced => state.finishing -= 1,
            Arrival::Unannounced => {}
        }
        loop {
            if let Some(next) = self.take(&mut state) {
                return next;
            }
            if state.retiring {
                return self.exit(state);
            }
            // One thread that looks is enough: jobs that come while it runs the first wake others.
            if state.looking == 0 && state.looks.begin() {
                state.looking += 1;
                drop(state);
                let took = self.look();
                state = self.state.lock();
                state.looking -= 1;
                let has_found = !state.jobs.is_empty();
                state.looks.end(has_found, took);
                if has_found || state.retiring {
                    continue;
                }
            }
            if !state.watchdog && state.are_jobs_short() && state.was_busy {
                state = self.run_watchdog(state);
                if !state.jobs.is_empty() || state.retiring {
                    continue;
                }
            }
            let should_stay;
            (state, should_stay) = self.sleep(state);
            if !should_stay {
                return self.exit(state);
            }
        }
    }

    /// A short job has ended that began at `began`. With `Announced` the thread promises to come for
    /// the next one right away.
    pub(super) fn end(&self, began: Instant, arrival: Arrival) {
        // Loom has no time, and wants the same decisions in each run.
        let took = if cfg!(wakeful_loom) { Duration::ZERO } else { began.elapsed() };
        let mut state = self.state.lock();
        if arrival == Arrival::Announced {
            state.finishing += 1;
        }
        state.completed += 1;
        state.add_to_average(took);
    }

    /// A seat is left: its thread is one as the others again.
    pub(super) fn end_worker_job(&self) {
        self.state.lock().worker_jobs -= 1;
    }

    /// Closes the queue: threads exit once it is empty. Short jobs that no thread is on its way to are
    /// returned instead of run; those that are mandatory are not, for as long as one waits there is a
    /// thread that comes for it. Of new jobs only seats are taken from now on.
    pub(super) fn close(&self) -> Vec<J> {
        let mut state = self.state.lock();
        (state.retiring, state.closed) = (true, true);
        let short = state.take_short();
        self.jobs_hint.store(usize::MAX, Release);
        let are_some_asleep = state.sleeping > 0;
        drop(state);
        // Many a runtime ends without one: a call to the kernel less.
        if are_some_asleep {
            self.sleepers.notify_all();
        }
        short
    }

    /// The queue is about to be closed: returns the short jobs that no thread is on its way to. Threads that find none exit from now
    /// on; new jobs are still taken.
    pub(super) fn retire(&self) -> Vec<J> {
        let mut state = self.state.lock();
        state.retiring = true;
        let short = state.take_short();
        if !state.closed {
            self.jobs_hint.store(state.jobs.len(), Release);
        }
        short
    }

    /// Waits until no more than `left` threads remain. False if `timeout` passed first.
    pub(super) fn wait_for_exits(&self, left: usize, timeout: Option<Duration>) -> bool {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.state.lock();
        while state.threads > left {
            state.exits_awaited = Some(left);
            state = match deadline {
                None => self.exited.wait(state),
                Some(deadline) => {
                    let left_over = deadline.saturating_duration_since(Instant::now());
                    if left_over.is_zero() {
                        return false;
                    }
                    self.exited.wait_timeout(state, left_over).0
                }
            };
        }
        true
    }

    pub(super) fn is_retiring(&self) -> bool {
        self.state.lock().retiring
    }

    pub(super) fn is_closed(&self) -> bool {
        self.jobs_hint.load(Relaxed) == usize::MAX
    }

    /// Whether there is a thread for one more job, or could be.
    pub(super) fn has_thread(&self) -> bool {
        let state = self.state.lock();
        let coming = state.sleeping + state.looking + state.finishing + state.starting;
        coming > state.jobs.len() || state.threads < self.threads_max
    }

    /// Threads in all (workers included), sleeping ones, and jobs that wait.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (state.threads, state.sleeping + state.looking, state.jobs.len())
    }

    fn take(&self, state: &mut QueueState<J>) -> Option<NextJob<J>> {
        let Waiting { job, kind, .. } = state.jobs.pop_front()?;
        if kind == Kind::Worker {
            state.worker_jobs += 1;
        }
        if state.closed {
            return Some(NextJob::Run(job));
        }
        self.jobs_hint.store(state.jobs.len(), Release);
        if state.watchdog || state.backup_requested || state.jobs.len() <= state.coming() {
            return Some(NextJob::Run(job));
        }
        Some(match state.request_thread(self.threads_max) {
            BackupThread::Sleeper => {
                state.backup_requested = true;
                self.sleepers.notify_one();
                NextJob::Run(job)
            }
            BackupThread::NewThread => {
                state.backup_requested = true;
                NextJob::StartThreadAndRun(job)
            }
            BackupThread::Unavailable => NextJob::Run(job),
        })
    }

    /// Looks for a job, and tells how long that took.
    fn look(&self) -> Duration {
        let begun = Instant::now();
        let mut took = Duration::ZERO;
        while self.jobs_hint.load(Acquire) == 0 && took < LOOK_MAX {
            for _ in 0..16 {
                hint::spin_loop();
            }
            took = begun.elapsed();
        }
        took
    }

    /// Sleeps until called for, or for the keep-alive time. False if the thread is to exit.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState<J>>,
    ) -> (MutexGuard<'a, QueueState<J>>, bool) {
        let deadline = Instant::now().checked_add(self.keep_alive);
        state.sleeping += 1;
        let (mut elapsed, mut should_stay) = (false, true);
        while !state.accept_wake_up() && !state.closed {
            if elapsed {
                should_stay = !state.jobs.is_empty();
                break;
            }
            (state, elapsed) = match deadline {
                None => (self.sleepers.wait(state), false),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    self.sleepers.wait_timeout(state, left)
                }
            };
        }
        state.sleeping -= 1;
        (state, should_stay)
    }

    /// Sleeps tick by tick, until the queue stands still or nothing happened for a tick.
    fn run_watchdog<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState<J>>,
    ) -> MutexGuard<'a, QueueState<J>> {
        state.watchdog = true;
        state.sleeping += 1;
        loop {
            let completed = state.completed;
            state = self.sleepers.wait_timeout(state, WATCHDOG_TICK).0;
            if state.accept_wake_up() || state.closed {
                break;
            }
            if state.completed == completed {
                if !state.jobs.is_empty() {
                    // Those at work take at least that long: no more guesses for a while.
                    state.add_to_average(WATCHDOG_TICK);
                }
                state.was_busy = false;
                break;
            }
        }
        state.sleeping -= 1;
        state.watchdog = false;
        state
    }

    fn exit(&self, mut state: MutexGuard<'_, QueueState<J>>) -> NextJob<J> {
        self.note_exit(&mut state);
        NextJob::Exit
    }

    fn note_exit(&self, state: &mut QueueState<J>) {
        state.threads -= 1;
        if state.exits_awaited.is_some_and(|left| state.threads <= left) {
            self.exited.notify_all();
        }
    }
}

impl<J> QueueState<J> {
    /// Threads that are on their way to the queue, each of which takes a job.
    fn coming(&self) -> usize {
        self.looking + self.finishing + self.starting + self.woken
    }

    /// Gets one more thread on its way: a sleeper, which is to be notified, or a new one.
    fn request_thread(&mut self, threads_max: usize) -> BackupThread {
        if self.sleeping > self.woken {
            self.woken += 1;
            BackupThread::Sleeper
        } else if self.threads < threads_max {
            self.threads += 1;
            self.starting += 1;
            BackupThread::NewThread
        } else {
            BackupThread::Unavailable
        }
    }

    /// For a sleeper: true if one was called, which it is from now on.
    fn accept_wake_up(&mut self) -> bool {
        if self.woken == 0 {
            return false;
        }
        self.woken -= 1;
        self.backup_requested = false;
        true
    }

    /// A thread that was called for a job has as good as begun with it, so the first jobs are left to
    /// those that come.
    fn take_short(&mut self) -> Vec<J> {
        let mut coming = self.coming();
        self.take_jobs(&mut |waiting| {
            let is_left_to_a_thread = coming > 0;
            coming = coming.saturating_sub(1);
            waiting.kind == Kind::Short && !is_left_to_a_thread
        })
    }

    /// Takes out the jobs that are `should_take`, asked from the first to the last.
    fn take_jobs(&mut self, should_take: &mut dyn FnMut(&Waiting<J>) -> bool) -> Vec<J> {
        let mut taken = Vec::new();
        for _ in 0..self.jobs.len() {
            let Some(waiting) = self.jobs.pop_front() else { break };
            if should_take(&waiting) {
                taken.push(waiting.job);
            } else {
                self.jobs.push_back(waiting);
            }
        }
        taken
    }

    fn add_to_average(&mut self, took: Duration) {
        self.average_ns = self.average_ns - self.average_ns / 8 + took.as_nanos() as u64 / 8;
    }

    fn are_jobs_short(&self) -> bool {
        self.average_ns < WAKE_UP_NS
    }

    /// Whether the threads at work, or on their way, will be through the queue before a sleeper would be up, with
    /// the guard there in case they are not.
    fn will_be_empty_soon(&self) -> bool {
        let draining = self.threads - self.worker_jobs - (self.sleeping - self.woken);
        self.watchdog
            && draining > 0
            && self.average_ns.saturating_mul(self.jobs.len() as u64) / (draining as u64)
                < WAKE_UP_NS
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "job_queue/tests/loom.rs"]
mod loom;
