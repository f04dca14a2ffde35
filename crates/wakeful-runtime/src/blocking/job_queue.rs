//! The pool's queue: which thread takes which job, and when one more thread is wanted.
//!
//! Waking a sleeping thread costs far more than a short job takes, so a push wakes nobody where a
//! thread comes for the job anyway:
//!
//! 1. A thread that ran out of jobs **looks** on for a moment before it sleeps. A push that finds as
//!    many threads looking as there are jobs leaves it to them.
//! 2. If jobs have been short of late, those in the queue are done sooner than a sleeper would be up.
//!    That is a guess, so it counts only while a **guard** is there: one thread that sleeps a tick at
//!    a time instead of for good, and takes over when the queue has stood still for a tick.
//! 3. Else a sleeping thread is woken, or a new one asked for.
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

use std::collections::VecDeque;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{Condvar, Mutex, MutexGuard, hint};

/// How long a thread looks for another job before it sleeps. A little more than a wake-up costs.
const LOOK_MAX: Duration = Duration::from_micros(50);

/// How long a queue may stand still before the guard takes over.
const GUARD_TICK: Duration = Duration::from_millis(1);

/// A queue that is expected to be empty by then is not worth a wake-up.
const WAKE_NS: u64 = 20_000;

/// Until it is known how long jobs take, none counts as short.
const AVERAGE_NS_AT_START: u64 = 1_000_000;

pub(super) struct JobQueue<J> {
    state: Mutex<QueueState<J>>,
    /// Sleeping threads wait here.
    arrived: Condvar,
    /// Who waits for all threads to be gone waits here.
    gone: Condvar,
    /// As `jobs.len()`, for threads that look; never zero in a closed queue.
    hint: AtomicUsize,
    threads_max: usize,
    keep_alive: Duration,
}

struct QueueState<J> {
    jobs: VecDeque<J>,
    closed: bool,
    /// All threads, whatever they do, those about to start included.
    threads: usize,
    /// Of these: busy with a job without end.
    seated: usize,
    looking: usize,
    /// Done with a job but for telling who waits for it, which may bring the next one.
    returning: usize,
    sleeping: usize,
    /// Sleepers that were told to come and did not yet.
    woken: usize,
    guard: bool,
    completed: u64,
    average_ns: u64,
}

/// What a push asks of the caller.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Push<J> {
    /// Nothing.
    Queued,
    /// To start a thread, which is counted already; the job is in the queue.
    StartThread,
    /// The queue is closed.
    Closed(J),
}

/// What a thread is to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<J> {
    Run(J),
    Exit,
}

/// How a job is to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It comes to an end by itself.
    Short,
    /// It ends with the runtime: a worker.
    Seat,
}

/// Whether a thread that is done with a job has said that it comes for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    Announced,
    Unannounced,
}

impl<J> JobQueue<J> {
    pub(super) fn new(threads_max: usize, keep_alive: Duration) -> JobQueue<J> {
        JobQueue {
            state: Mutex::new(QueueState {
                jobs: VecDeque::new(),
                closed: false,
                threads: 0,
                seated: 0,
                looking: 0,
                returning: 0,
                sleeping: 0,
                woken: 0,
                guard: false,
                completed: 0,
                average_ns: AVERAGE_NS_AT_START,
            }),
            arrived: Condvar::new(),
            gone: Condvar::new(),
            hint: AtomicUsize::new(0),
            threads_max,
            keep_alive,
        }
    }

    pub(super) fn push(&self, job: J, kind: Kind) -> Push<J> {
        let mut state = self.state.lock();
        if state.closed {
            return Push::Closed(job);
        }
        state.jobs.push_back(job);
        self.hint.store(state.jobs.len(), Release);
        if state.jobs.len() <= state.looking + state.returning + state.woken {
            return Push::Queued;
        }
        if kind == Kind::Short && state.is_soon_empty() {
            return Push::Queued;
        }
        if state.sleeping > state.woken {
            state.woken += 1;
            drop(state);
            self.arrived.notify_one();
            return Push::Queued;
        }
        if state.threads < self.threads_max {
            state.threads += 1;
            return Push::StartThread;
        }
        Push::Queued
    }

    /// The thread asked for could not be started. Gives the newest job back if nobody else is there
    /// to run it.
    pub(super) fn start_failed(&self) -> Option<J> {
        let mut state = self.state.lock();
        state.threads -= 1;
        if state.threads > state.seated {
            return None;
        }
        let job = state.jobs.pop_back();
        self.hint.store(state.jobs.len(), Release);
        job
    }

    /// Waits for a job. `Exit` if the thread is wanted no more, and counts no longer.
    pub(super) fn next(&self, returns: Returns) -> Next<J> {
        let mut state = self.state.lock();
        if returns == Returns::Announced {
            state.returning -= 1;
        }
        loop {
            if let Some(job) = self.take(&mut state) {
                return Next::Run(job);
            }
            if state.closed {
                return self.exit(state);
            }
            // One thread that looks is enough: jobs that come while it runs the first wake others.
            if state.looking == 0 {
                state.looking += 1;
                drop(state);
                self.look();
                state = self.state.lock();
                state.looking -= 1;
                if !state.jobs.is_empty() || state.closed {
                    continue;
                }
            }
            if !state.guard && state.are_jobs_short() {
                state = self.stand_guard(state);
                if !state.jobs.is_empty() || state.closed {
                    continue;
                }
            }
            let stay;
            (state, stay) = self.sleep(state);
            if !stay {
                return self.exit(state);
            }
        }
    }

    /// A job of `kind` begins.
    pub(super) fn begin(&self, kind: Kind) -> Option<Instant> {
        match kind {
            Kind::Short => Some(Instant::now()),
            Kind::Seat => {
                self.state.lock().seated += 1;
                None
            }
        }
    }

    /// The job that `begin` returned `began` for has ended. With `Announced` the thread promises to
    /// come for the next one right away.
    pub(super) fn end(&self, began: Option<Instant>, returns: Returns) {
        let took = began.map(|began| began.elapsed().as_nanos() as u64);
        let mut state = self.state.lock();
        if returns == Returns::Announced {
            state.returning += 1;
        }
        match took {
            None => state.seated -= 1,
            Some(took) => {
                state.completed += 1;
                state.average_ns = state.average_ns - state.average_ns / 8 + took / 8;
            }
        }
    }

    /// Closes the queue: threads exit once it is empty. Jobs for which `keep` is false are returned
    /// instead of run.
    pub(super) fn close(&self, mut keep: impl FnMut(&J) -> bool) -> Vec<J> {
        let mut state = self.state.lock();
        state.closed = true;
        let (kept, out): (VecDeque<J>, VecDeque<J>) =
            state.jobs.drain(..).partition(|job| keep(job));
        state.jobs = kept;
        self.hint.store(usize::MAX, Release);
        drop(state);
        self.arrived.notify_all();
        out.into()
    }

    /// Waits until no more than `left` threads remain. False if `timeout` passed first.
    pub(super) fn wait_gone(&self, left: usize, timeout: Option<Duration>) -> bool {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.state.lock();
        while state.threads > left {
            state = match deadline {
                None => self.gone.wait(state),
                Some(deadline) => {
                    let rest = deadline.saturating_duration_since(Instant::now());
                    if rest.is_zero() {
                        return false;
                    }
                    self.gone.wait_timeout(state, rest).0
                }
            };
        }
        true
    }

    /// Threads in all (workers included), sleeping ones, and jobs that wait.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (state.threads, state.sleeping + state.looking, state.jobs.len())
    }

    fn take(&self, state: &mut QueueState<J>) -> Option<J> {
        let job = state.jobs.pop_front()?;
        if !state.closed {
            self.hint.store(state.jobs.len(), Release);
        }
        Some(job)
    }

    fn look(&self) {
        let until = Instant::now() + LOOK_MAX;
        while self.hint.load(Acquire) == 0 && Instant::now() < until {
            for _ in 0..16 {
                hint::spin_loop();
            }
        }
    }

    /// Sleeps until called for, or for the keep-alive time. False if the thread is to exit.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState<J>>,
    ) -> (MutexGuard<'a, QueueState<J>>, bool) {
        let deadline = Instant::now().checked_add(self.keep_alive);
        state.sleeping += 1;
        let stay = loop {
            if state.woken > 0 {
                state.woken -= 1;
                break true;
            }
            if state.closed {
                break true;
            }
            state = match deadline {
                None => self.arrived.wait(state),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break false;
                    }
                    self.arrived.wait_timeout(state, left).0
                }
            };
        };
        state.sleeping -= 1;
        (state, stay)
    }

    /// Sleeps tick by tick, until the queue stands still or nothing happened for a tick.
    fn stand_guard<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState<J>>,
    ) -> MutexGuard<'a, QueueState<J>> {
        state.guard = true;
        state.sleeping += 1;
        loop {
            let completed = state.completed;
            state = self.arrived.wait_timeout(state, GUARD_TICK).0;
            if state.woken > 0 {
                state.woken -= 1;
                break;
            }
            if state.closed || state.completed == completed {
                break;
            }
        }
        state.sleeping -= 1;
        state.guard = false;
        state
    }

    fn exit(&self, mut state: MutexGuard<'_, QueueState<J>>) -> Next<J> {
        state.threads -= 1;
        drop(state);
        self.gone.notify_all();
        Next::Exit
    }
}

impl<J> QueueState<J> {
    fn are_jobs_short(&self) -> bool {
        self.average_ns < WAKE_NS
    }

    /// Whether the threads at work will be through the queue before a sleeper would be up, with the
    /// guard there in case they are not.
    fn is_soon_empty(&self) -> bool {
        let draining = self.threads - self.seated - self.looking - self.sleeping;
        self.guard
            && draining > 0
            && self.average_ns.saturating_mul(self.jobs.len() as u64) / (draining as u64) < WAKE_NS
    }
}
