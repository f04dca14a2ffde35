//! The threads of a runtime: how they are started, run jobs, and are joined.
//!
//! Workers are jobs like blocking tasks, so one thread can be both. A thread that gives up its
//! lease in `block_in_place` is an ordinary pool thread until its closure returns.

use super::job_queue::{Arrival, JobNumber, JobQueue, Kind, NextJob, Push};
use super::thread_names::ThreadNames;
use crate::config::{self, ThreadConfig};
use crate::timers::ClockHold;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::mem::take;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::catch_panic::{abort_on_unwind, contain_panic};
use wakeful_base::sync::Mutex;
use wakeful_base::threads;
use wakeful_task::{FinishingTask, Polled, Runnable};

pub(crate) struct Pool {
    queue: JobQueue<Job>,
    threads: Mutex<Threads>,
    names: ThreadNames,
    config: ThreadConfig,
}

enum Job {
    /// A `spawn_blocking` task, and the hold that keeps a paused clock from moving until it ends.
    Task(Runnable, ClockHold, AtShutdown),
    /// A worker to be run, or other work of the runtime itself.
    Worker(Box<dyn FnOnce() + Send>),
}

#[derive(Default)]
struct Threads {
    next: usize,
    running: HashMap<usize, thread::JoinHandle<()>>,
    /// Threads that have exited, or are about to, and are not joined yet. The next thread to exit
    /// joins them, so there is one at most, until the shutdown joins the rest.
    exited: Vec<thread::JoinHandle<()>>,
}

/// What happens at shutdown to a blocking task that still waits for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtShutdown {
    Cancelled,
    /// The operation was already reported to its caller as done, so it must not be lost.
    Run,
}

/// What a pool does with blocking tasks.
#[derive(Debug, Clone)]
pub(crate) struct BlockingState {
    /// Threads that are neither idle nor run workers.
    pub(crate) busy: usize,
    /// The limit on threads beside those that run workers.
    pub(crate) threads_max: usize,
    /// The ids of the tasks that wait for a thread, and where they were spawned.
    pub(crate) queued: Vec<(u64, &'static Location<'static>)>,
}

/// Why the pool does not run a blocking task.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The runtime has shut down.
    Stopped,
    /// There is no thread for it, and none could be started.
    NoThread(UnrunTask, io::Error),
}

/// A blocking task that no thread will run. The caller has to run or cancel it.
#[derive(Debug)]
#[must_use = "a task that is neither run nor cancelled never ends"]
pub(crate) struct UnrunTask(Runnable);

impl UnrunTask {
    /// Runs the closure on the calling thread.
    pub(crate) fn run(self) {
        run_to_end(self.0).complete();
    }

    /// Drops the closure.
    pub(crate) fn cancel(self) {
        self.0.cancel().complete();
    }
}

/// The runtime's context, which a pool thread sets up around its work.
pub(crate) trait ThreadContext: Send + Sync {
    fn run(&self, work: &mut dyn FnMut());
}

/// Makes the context of a thread that is about to be started.
pub(crate) type NewContext<'a> = &'a dyn Fn() -> Arc<dyn ThreadContext>;

thread_local! {
    /// The pool that the thread belongs to.
    static POOL: Cell<*const Pool> = const { Cell::new(ptr::null()) };
}

impl Pool {
    pub(crate) fn new(config: ThreadConfig) -> Arc<Pool> {
        Arc::new(Pool {
            queue: JobQueue::new(config.threads_max, config.keep_alive),
            threads: Mutex::default(),
            names: ThreadNames::new(config.naming.clone()),
            config,
        })
    }

    /// Queues a blocking task and makes sure that a thread will run it.
    pub(crate) fn submit_task(
        self: &Arc<Self>,
        task: Runnable,
        hold: ClockHold,
        at_shutdown: AtShutdown,
        context: NewContext<'_>,
    ) -> Result<(), Refused> {
        let kind = match at_shutdown {
            AtShutdown::Cancelled => Kind::Short,
            AtShutdown::Run => Kind::Mandatory,
        };
        let submitted = self.submit(Job::Task(task, hold, at_shutdown), kind, context, true);
        submitted.map_err(|error| match error {
            SubmitError::NoThread(Job::Task(task, ..), error) => {
                Refused::NoThread(UnrunTask(task), error)
            }
            SubmitError::Stopped(job) | SubmitError::NoThread(job, _) => {
                job.cancel();
                Refused::Stopped
            }
        })
    }

    /// Queues a job that lasts as long as the runtime, and makes sure that a thread will run it.
    ///
    /// Does nothing once the pool is closed and all its threads have exited. The monitor passes
    /// false for `may_run_user_code`: the user's functions could block it.
    pub(crate) fn submit_worker(
        self: &Arc<Self>,
        work: Box<dyn FnOnce() + Send>,
        context: NewContext<'_>,
        may_run_user_code: bool,
    ) -> io::Result<()> {
        match self.submit(Job::Worker(work), Kind::Worker, context, may_run_user_code) {
            // A closed pool without threads has no workers left, so none needs a thread.
            Ok(()) | Err(SubmitError::Stopped(_)) => Ok(()),
            Err(SubmitError::NoThread(_, error)) => Err(error),
        }
    }

    fn submit(
        self: &Arc<Self>,
        job: Job,
        kind: Kind,
        context: NewContext<'_>,
        may_run_user_code: bool,
    ) -> Result<(), SubmitError> {
        match self.queue.push(job, kind) {
            Push::Queued => Ok(()),
            Push::Closed(job) => Err(SubmitError::Stopped(job)),
            Push::StartThread(asked_for) => {
                let started = self.start_thread(context(), may_run_user_code);
                started.or_else(|error| match self.start_failed(Some(asked_for)) {
                    Some(job) => Err(SubmitError::NoThread(job, error)),
                    None => Ok(()),
                })
            }
        }
    }

    fn start_thread(
        self: &Arc<Self>,
        context: Arc<dyn ThreadContext>,
        may_run_user_code: bool,
    ) -> io::Result<()> {
        let mut builder = thread::Builder::new().name(self.names.take(may_run_user_code));
        if let Some(size) = self.config.stack_size {
            builder = builder.stack_size(size);
        }
        // Held across the start, so that the thread finds itself in the map when it exits.
        let mut threads = self.threads.lock();
        let number = threads.next;
        let pool = self.clone();
        let thread_main: Box<dyn FnOnce() + Send> = Box::new(move || {
            POOL.set(Arc::as_ptr(&pool));
            // The context panics when it is left if user code leaked an `EnterGuard` on this
            // thread.
            contain_panic(|| {
                context.run(&mut || {
                    abort_on_unwind("a thread of the blocking pool", || pool.work(&context));
                });
            });
            pool.thread_exits(number);
            // These may be the last references to the runtime's hooks, whose drop is user code.
            contain_panic(|| drop((context, pool)));
        });
        let handle = builder.spawn(thread_main)?;
        threads.next += 1;
        threads.running.insert(number, handle);
        Ok(())
    }

    /// Handles a thread that could not be started.
    ///
    /// Returns the job that it was requested for, if no other thread can run it. Other jobs that
    /// are stranded like that are run here if they are mandatory, and cancelled otherwise: they
    /// would never end.
    fn start_failed(&self, asked_for: Option<JobNumber>) -> Option<Job> {
        let stranded = self.queue.start_failed(asked_for);
        for job in stranded.others {
            match job {
                Job::Task(task, _hold, AtShutdown::Run) => run_to_end(task).complete(),
                job => job.cancel(),
            }
        }
        stranded.own
    }

    /// Runs jobs until the thread is to exit. Does not unwind: tasks and hooks contain their
    /// panics.
    fn work(self: &Arc<Self>, context: &Arc<dyn ThreadContext>) {
        config::call(&self.config.on_start);
        let mut arrival = Arrival::AsNew;
        loop {
            let job = match self.queue.next(arrival) {
                NextJob::Run(job) => job,
                NextJob::StartThreadAndRun(job) => {
                    if self.start_thread(context.clone(), true).is_err() {
                        let none = self.start_failed(None);
                        debug_assert!(none.is_none(), "it was asked for no job in particular");
                    }
                    job
                }
                NextJob::Exit => break,
            };
            arrival = match job {
                Job::Task(task, _hold, _) => self.run_task(task),
                Job::Worker(work) => {
                    work();
                    self.queue.end_worker_job();
                    Arrival::Unannounced
                }
            }
        }
        config::call(&self.config.on_stop);
    }

    fn run_task(&self, task: Runnable) -> Arrival {
        let began = Instant::now();
        let job = threads::begin_job(task.id().as_u64(), task.spawned_at());
        let ended = run_to_end(task);
        drop(job);
        // If the task is joined, `complete` wakes the joiner, which may submit the next job before
        // this thread is back: that push should not wake or start another thread. If it is not,
        // `complete` drops the output, which may take any time, so the thread promises nothing.
        let arrival = if ended.is_joined() { Arrival::Announced } else { Arrival::Unannounced };
        self.queue.end(began, arrival);
        ended.complete();
        arrival
    }

    /// Removes a thread that is about to exit from the map, and joins the thread that exited before
    /// it.
    fn thread_exits(&self, number: usize) {
        let mut threads = self.threads.lock();
        // If the entry is gone, the shutdown has taken the handle and joins this thread.
        let Some(own) = threads.running.remove(&number) else { return };
        let before = if self.queue.is_retiring() { Vec::new() } else { take(&mut threads.exited) };
        threads.exited.push(own);
        drop(threads);
        for before in before {
            let _its_panic_was_reported = before.join();
        }
    }

    /// Returns whether starting a thread calls the user's function for its name or its start hook.
    pub(crate) fn has_start_hook(&self) -> bool {
        self.config.on_start.is_some() || self.names.run_user_code()
    }

    /// Returns whether [`prepare_thread_name`](Self::prepare_thread_name) has anything to do.
    pub(crate) fn needs_thread_name(&self) -> bool {
        self.names.needs_preparation()
    }

    /// Calls the user's function for the name of the next thread, so that a hand-off need not.
    pub(crate) fn prepare_thread_name(&self) {
        self.names.prepare();
    }

    /// Cancels the blocking tasks that wait for a thread, and lets idle threads exit.
    ///
    /// Called when the runtime is about to stop.
    pub(crate) fn retire(&self) {
        for job in self.queue.retire() {
            job.cancel();
        }
    }

    /// Stops the pool: cancels the tasks that wait, then waits until all threads have exited.
    ///
    /// Waits for `timeout` at most: without a limit if it is `None`, not at all if it is zero. True
    /// if all threads have exited.
    pub(crate) fn shutdown(&self, timeout: Option<Duration>) -> bool {
        for job in self.queue.close() {
            job.cancel();
        }
        if timeout == Some(Duration::ZERO) {
            return false;
        }
        // A runtime can be dropped on a thread of its own pool, which cannot wait for itself.
        let on_own_thread = ptr::eq(POOL.get(), self);
        if !self.queue.wait_for_exits(usize::from(on_own_thread), timeout) {
            return false;
        }
        let threads = take(&mut *self.threads.lock());
        let here = thread::current().id();
        for handle in threads.running.into_values().chain(threads.exited) {
            if handle.thread().id() != here {
                let _its_panic_was_reported = handle.join();
            }
        }
        true
    }

    /// Returns whether a thread is free for another job, or could be started.
    pub(crate) fn has_thread(&self) -> bool {
        self.queue.has_thread()
    }

    /// Returns the number of threads that are not workers, given the number of workers.
    pub(crate) fn threads(&self, workers: usize) -> usize {
        self.queue.counts().0.saturating_sub(workers)
    }

    /// Returns the number of idle threads.
    pub(crate) fn idle_threads(&self) -> usize {
        self.queue.counts().1
    }

    /// Returns whether the pool accepts no more tasks.
    pub(crate) fn is_stopped(&self) -> bool {
        self.queue.is_closed()
    }

    /// Returns what the pool does, given the number of workers.
    pub(crate) fn blocking_state(&self, workers: usize) -> BlockingState {
        let (threads, idle, _) = self.queue.counts();
        let mut queued = Vec::new();
        self.queue.for_each_waiting(|job| {
            if let Job::Task(task, ..) = job {
                queued.push((task.id().as_u64(), task.spawned_at()));
            }
        });
        BlockingState {
            busy: threads.saturating_sub(workers + idle),
            threads_max: self.config.threads_max.saturating_sub(workers),
            queued,
        }
    }

    /// Returns the number of blocking tasks that wait for a thread.
    pub(crate) fn queue_depth(&self) -> usize {
        self.queue.counts().2
    }
}

/// The error of a call that needed a thread of a pool that has shut down.
#[derive(Debug)]
pub(crate) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the runtime has shut down: its blocking pool runs no more closures")
    }
}

impl std::error::Error for Stopped {}

fn run_to_end(task: Runnable) -> FinishingTask {
    match task.run() {
        Polled::Ended(ended) => ended,
        Polled::Pending(_) => unreachable!("a blocking task ends at its first poll"),
    }
}

enum SubmitError {
    Stopped(Job),
    NoThread(Job, io::Error),
}

impl Job {
    fn cancel(self) {
        if let Job::Task(task, _hold, _) = self {
            task.cancel().complete();
        }
    }
}
