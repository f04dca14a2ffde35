//! The pool's queue: which thread takes which job, and when a thread is woken or started.
//!
//! Waking a sleeping thread costs far more than a short job takes, so `push` wakes no thread if one
//! comes for the job anyway:
//!
//! 1. A thread that runs out of jobs spins for a moment before it sleeps, as long as that pays
//!    ([`SpinBudget`]). A push that finds a spinning thread for each job relies on them.
//! 2. If recent jobs were short, the running threads empty the queue before a sleeping thread
//!    would be up. That is a guess, so `push` relies on it only while there is a
//!    **watchdog**: one thread that sleeps for a tick at a time, and takes over when no job has
//!    completed for a tick. A thread becomes the watchdog only after jobs have come faster than
//!    they were done; otherwise there is nothing to watch.
//! 3. In all other cases a sleeping thread is woken, or the caller is asked to start one.
//!
//! The invariant: for each job in the queue a thread is coming, or there is a watchdog, or the
//! limit of threads is reached. A watchdog that takes a job, or that was the sleeping thread to be
//! woken, may leave jobs behind that no thread is coming for. The next thread to take a job notices
//! that and requests one more thread, which does the same in turn: all those jobs may be waiting
//! for each other.
//!
//! ```text
//!              ┌───────────── a job ◀───────────────┐
//!              ▼                                    │
//!   start ─▶ drain ──(empty)─▶ spin ──(nothing)─▶ sleep ──(keep-alive over)─▶ exit
//!              ▲                │                   ▲
//!              │                │ recent jobs short │ idle for a tick
//!              │                └────▶ watchdog ────┘
//!              └─(no job completed)───────┘
//! ```

use crate::spin_budget::SpinBudget;
use crate::wake_cost::{self, WakeStamp};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{Condvar, Mutex, MutexGuard, hint};

/// Bounds how long jobs may wait while none completes, before the watchdog takes over.
const WATCHDOG_TICK: Duration = Duration::from_millis(1);

/// The average job duration at the start: long, so that no job counts as short before some have
/// been measured.
const AVERAGE_NS_AT_START: u64 = 1_000_000;

pub(super) struct JobQueue<J> {
    state: Mutex<QueueState<J>>,
    /// Sleeping threads and the watchdog wait here.
    sleepers: Condvar,
    /// When a sleeping thread was last notified.
    notified: WakeStamp,
    /// The shutdown waits here for threads to exit.
    exited: Condvar,
    /// The number of jobs, for spinning threads; `usize::MAX` once the queue is closed.
    jobs_hint: AtomicUsize,
    threads_max: usize,
    keep_alive: Duration,
}

struct QueueState<J> {
    /// Worker jobs first: there are few, and a worker without a thread blocks all its tasks.
    jobs: VecDeque<Waiting<J>>,
    next_number: u64,
    /// The queue is about to be closed: threads that find no job exit.
    retiring: bool,
    closed: bool,
    /// The number of all threads, including those about to start. The counts below are parts of
    /// it.
    threads: usize,
    /// Requested, and not yet arrived at the queue.
    starting: usize,
    /// Busy with a job that lasts as long as the runtime.
    worker_jobs: usize,
    /// Out of jobs, and spinning for the next one.
    spinning: usize,
    spin_budget: SpinBudget,
    /// Done with a job and about to notify its joiner, which may submit the next job.
    finishing: usize,
    sleeping: usize,
    /// Sleeping threads that were notified and are not up yet.
    woken: usize,
    /// One of the coming threads was requested for jobs that a watchdog left behind.
    backup_requested: bool,
    /// A job was queued while another waited, and the watchdog has seen no quiet tick since.
    was_busy: bool,
    watchdog: bool,
    completed: u64,
    /// The moving average of how long jobs take.
    average_ns: u64,
    /// The shutdown waits until no more than this many threads are left.
    exits_awaited: Option<usize>,
}

struct Waiting<J> {
    job: J,
    kind: Kind,
    number: u64,
}

/// What the caller of `push` has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Push<J> {
    /// Nothing.
    Queued,
    /// Start a thread, which is counted already; the job is in the queue.
    StartThread(JobNumber),
    /// Handle the job itself: the queue is closed.
    Closed(J),
}

/// Names the job that a thread was requested for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobNumber(u64);

/// Jobs that no thread can run, because a thread could not be started.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stranded<J> {
    /// The job that the thread was requested for.
    pub(super) own: Option<J>,
    pub(super) others: Vec<J>,
}

/// What a thread has to do next.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextJob<J> {
    Run(J),
    /// As `Run`, but first start another thread, which is counted already.
    StartThreadAndRun(J),
    Exit,
}

/// The thread that was requested for a job.
enum BackupThread {
    Sleeper,
    NewThread,
    Unavailable,
}

/// How a job is queued and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A job that ends by itself: a blocking task.
    Short,
    /// As `Short`, but run even if the queue is closed before a thread takes it.
    Mandatory,
    /// A worker, or other work of the runtime itself, which may last as long as the runtime.
    Worker,
}

/// How a thread arrives at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It has just started.
    AsNew,
    /// It has announced in `end` that it is coming.
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
                spinning: 0,
                spin_budget: SpinBudget::new(),
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
            notified: WakeStamp::new(),
            exited: Condvar::new(),
            jobs_hint: AtomicUsize::new(0),
            threads_max,
            keep_alive,
        }
    }

    pub(super) fn push(&self, job: J, kind: Kind) -> Push<J> {
        let mut state = self.state.lock();
        // Even a closed queue takes worker jobs while there are threads: the worker of a stuck
        // thread needs another thread to shut down.
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
                self.notified.set();
                self.sleepers.notify_one();
                Push::Queued
            }
            BackupThread::NewThread => Push::StartThread(JobNumber(number)),
            BackupThread::Unavailable => Push::Queued,
        }
    }

    /// Handles a thread that was requested and could not be started.
    ///
    /// Returns the jobs that no thread can run any more, among them the one that the thread was
    /// requested for unless it has been taken.
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

    /// Waits for a job. `Exit` if the thread should exit; it is not counted any more.
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
            // One spinning thread is enough: a push that finds it busy requests another thread.
            let time_max = if state.spinning == 0 { state.spin_budget.next_spin() } else { None };
            if let Some(time_max) = time_max {
                state.spinning += 1;
                drop(state);
                let took = self.spin(time_max);
                state = self.state.lock();
                state.spinning -= 1;
                let has_found = !state.jobs.is_empty();
                state.spin_budget.record(has_found, took);
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

    /// Notes that a job ended which began at `began`. With `Announced` the thread promises to call
    /// `next` right away.
    pub(super) fn end(&self, began: Instant, arrival: Arrival) {
        // Loom has no time, and needs each run to take the same decisions.
        let took = if cfg!(wakeful_loom) { Duration::ZERO } else { began.elapsed() };
        let mut state = self.state.lock();
        if arrival == Arrival::Announced {
            state.finishing += 1;
        }
        state.completed += 1;
        state.add_to_average(took);
    }

    /// Notes that a worker job ended: its thread takes other jobs again.
    pub(super) fn end_worker_job(&self) {
        self.state.lock().worker_jobs -= 1;
    }

    /// Closes the queue: it accepts only worker jobs, and threads exit once it is empty.
    ///
    /// Returns the short jobs that no thread is coming for. Mandatory jobs stay, and are run: as
    /// long as one is in the queue, a thread is coming for it.
    pub(super) fn close(&self) -> Vec<J> {
        let mut state = self.state.lock();
        (state.retiring, state.closed) = (true, true);
        let short = state.take_short();
        self.jobs_hint.store(usize::MAX, Release);
        let are_some_asleep = state.sleeping > 0;
        drop(state);
        // Saves a system call: many runtimes end without a sleeping thread.
        if are_some_asleep {
            self.sleepers.notify_all();
        }
        short
    }

    /// Prepares for `close`: threads that find no job exit from now on. New jobs are still
    /// accepted.
    ///
    /// Returns the short jobs that no thread is coming for.
    pub(super) fn retire(&self) -> Vec<J> {
        let mut state = self.state.lock();
        state.retiring = true;
        let short = state.take_short();
        if !state.closed {
            self.jobs_hint.store(state.jobs.len(), Release);
        }
        short
    }

    /// Waits until no more than `left` threads remain. False if `timeout` passes first.
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

    /// Returns whether a thread is free for another job, or could be started.
    pub(super) fn has_thread(&self) -> bool {
        let state = self.state.lock();
        let coming = state.sleeping + state.spinning + state.finishing + state.starting;
        coming > state.jobs.len() || state.threads < self.threads_max
    }

    /// Returns the number of threads (including workers), of idle threads, and of waiting jobs.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (state.threads, state.sleeping + state.spinning, state.jobs.len())
    }

    /// Calls `f` with each waiting job, in order.
    pub(super) fn for_each_waiting(&self, mut f: impl FnMut(&J)) {
        self.state.lock().jobs.iter().for_each(|waiting| f(&waiting.job));
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

    /// Spins until there is a job, or for `time_max`. Returns how long that took.
    fn spin(&self, time_max: Duration) -> Duration {
        let begun = Instant::now();
        let mut took = Duration::ZERO;
        while self.jobs_hint.load(Acquire) == 0 && took < time_max {
            for _ in 0..16 {
                hint::spin_loop();
            }
            took = begun.elapsed();
        }
        took
    }

    /// Sleeps until notified, or for the keep-alive time. False if the thread should exit.
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
        self.notified.measure(Instant::now());
        (state, should_stay)
    }

    /// Sleeps tick by tick as the watchdog, until no job has completed for a tick.
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
                    // The jobs that are running take a tick at least, so they do not count as short
                    // for a while.
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
    /// Returns the number of threads that are coming to the queue. Each takes a job.
    fn coming(&self) -> usize {
        self.spinning + self.finishing + self.starting + self.woken
    }

    /// Requests one more thread: a sleeping one, which the caller has to notify, or a new one.
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

    /// Takes a wake-up for a thread that was sleeping. Returns false if none is pending.
    fn accept_wake_up(&mut self) -> bool {
        if self.woken == 0 {
            return false;
        }
        self.woken -= 1;
        self.backup_requested = false;
        true
    }

    /// Takes out the short jobs that no thread is coming for.
    ///
    /// The first jobs are left to the threads that are coming: a thread that was requested for a
    /// job must find it.
    fn take_short(&mut self) -> Vec<J> {
        let mut coming = self.coming();
        self.take_jobs(&mut |waiting| {
            let is_left_to_a_thread = coming > 0;
            coming = coming.saturating_sub(1);
            waiting.kind == Kind::Short && !is_left_to_a_thread
        })
    }

    /// Takes out the jobs for which `should_take` returns true. It is called from the first to the
    /// last.
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
        self.average_ns < wake_cost::get_ns()
    }

    /// Returns whether the queue will be empty before a sleeping thread would be up.
    ///
    /// That is a guess, so it is true only if there is a watchdog.
    fn will_be_empty_soon(&self) -> bool {
        let draining = self.threads - self.worker_jobs - (self.sleeping - self.woken);
        self.watchdog
            && draining > 0
            && self.average_ns.saturating_mul(self.jobs.len() as u64) / (draining as u64)
                < wake_cost::get_ns()
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "job_queue/tests/loom.rs"]
mod loom;
