//! The two schedulers, and the handle that the rest of the crate uses for either.
//!
//! A runtime has one scheduler: [`current_thread`] runs tasks on the thread that calls `block_on`,
//! [`multi_thread`] on worker threads of its own. [`SchedulerHandle`] is a counted reference to
//! either kind.
//!
//! - `context.rs`: which runtime the calling thread is in, and whether it drives one.
//! - `block_on.rs`: polls a single future on the calling thread.
//! - `inject.rs`: the injection queue, through which other threads pass tasks to either scheduler.
//! - `cell_refs.rs`: keeps a scheduler's memory alive as long as its task cells.
//! - `timer.rs`: one timer of a `Sleep`, in whichever wheel it is armed.

pub(crate) mod block_on;
mod cell_refs;
pub(crate) mod context;
pub(crate) mod current_thread;
pub(crate) mod inject;
pub(crate) mod multi_thread;
#[cfg(feature = "time")]
pub(crate) mod timer;

use crate::blocking::{AtShutdown, Pool, Refused, Stopped, ThreadContext, blocking_task};
use crate::driver::IoHandle;
use crate::metrics::RemoteMetrics;
use crate::rng_seed::Seeds;
use crate::stall::StallState;
use crate::timers::{ClockHold, TimeHandle};
use block_on::{poll_to_end, with_root};
use std::future::Future;
use std::io;
use std::num::NonZeroU64;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use wakeful_base::enter::Entered;
use wakeful_base::threads::{self, ThreadRole};
use wakeful_task::{Id, JoinHandle, Runnable};

/// The parts of a runtime that do not depend on its scheduler.
pub(crate) struct RuntimeInfo {
    pub(crate) id: NonZeroU64,
    pub(crate) name: Option<String>,
    pub(crate) io: IoHandle,
    pub(crate) time: Arc<TimeHandle>,
    /// The seeds of its threads' random numbers, if the user has set one.
    pub(crate) seeds: Option<Seeds>,
}

impl RuntimeInfo {
    pub(crate) fn new(name: Option<String>, io: IoHandle, time: Arc<TimeHandle>) -> RuntimeInfo {
        RuntimeInfo { id: next_runtime_id(), name, io, time, seeds: None }
    }
}

/// Returns a new id, for a runtime or anything else that runs tasks by itself (a `LocalSet`).
pub(crate) fn next_runtime_id() -> NonZeroU64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = NonZeroU64::new(NEXT.fetch_add(1, Relaxed));
    id.expect("a 64-bit counter does not overflow")
}

/// A counted reference to a scheduler of either kind.
#[derive(Clone)]
pub(crate) enum SchedulerHandle {
    CurrentThread(Arc<current_thread::CurrentThread>),
    MultiThread(Arc<multi_thread::MultiThread>),
}

impl SchedulerHandle {
    pub(crate) fn spawn<F>(
        &self,
        future: F,
        id: Id,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => scheduler.spawn(future, id, spawned_at),
            SchedulerHandle::MultiThread(scheduler) => scheduler.spawn(future, id, spawned_at),
        }
    }

    /// Runs `future` to completion on this thread. A current-thread scheduler is driven by this
    /// thread meanwhile.
    ///
    /// # Panics
    /// Panics if this thread drives a runtime already, or if a task's panic shut the runtime down.
    #[track_caller]
    pub(crate) fn block_on<F: Future>(&self, future: F, call: &str) -> F::Output {
        let mark = match self {
            SchedulerHandle::CurrentThread(_) => Entered::Bound,
            SchedulerHandle::MultiThread(_) => Entered::MayBlockInPlace,
        };
        let _driving = context::drive(self, mark, call);
        let site = Location::caller();
        let output = with_root(future, |root| match self {
            SchedulerHandle::CurrentThread(scheduler) => scheduler.drive(root, site),
            SchedulerHandle::MultiThread(scheduler) => {
                let runtime = scheduler.info.id.get();
                let metrics = scheduler.remote_metrics();
                let drive = || poll_to_end(root, site, runtime, metrics);
                scheduler.stalls.while_pinned(None, drive);
            }
        });
        match output {
            Some(output) => output,
            None => panic!(
                "a spawned task panicked and the runtime is configured to shut down on unhandled \
                 panic"
            ),
        }
    }

    /// Runs a closure on a thread of the blocking pool.
    ///
    /// # Panics
    /// Panics if no pool thread is free and the operating system cannot start another.
    #[track_caller]
    pub(crate) fn spawn_blocking<F, R>(
        &self,
        call: F,
        id: Id,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (join, submitted) = self.submit(call, id, spawned_at, AtShutdown::Cancelled);
        match submitted {
            // A stopped pool has cancelled the task. The join handle reports that.
            Ok(()) | Err(Refused::Stopped) => join,
            Err(Refused::NoThread(task, error)) => {
                task.cancel();
                panic!(
                    "`spawn_blocking` called, but the operating system gave no thread for it: \
                 {error}. Raise the limit on threads (`ulimit -u`) or free memory"
                )
            }
        }
    }

    /// Runs a closure as `spawn_blocking` does, or on the calling thread if no pool thread can be
    /// started.
    pub(crate) fn spawn_blocking_or_run<F, R>(
        &self,
        call: F,
        id: Id,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (join, submitted) = self.submit(call, id, spawned_at, AtShutdown::Cancelled);
        if let Err(Refused::NoThread(task, _error)) = submitted {
            task.run();
        }
        join
    }

    /// Runs a closure as `spawn_blocking` does, but returns an error if it will not run. With
    /// [`AtShutdown::Run`] the closure runs on the calling thread if no pool thread can be started.
    pub(crate) fn try_spawn_blocking<F, R>(
        &self,
        call: F,
        id: Id,
        spawned_at: &'static Location<'static>,
        at_shutdown: AtShutdown,
    ) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (join, submitted) = self.submit(call, id, spawned_at, at_shutdown);
        match submitted {
            Ok(()) => Ok(join),
            Err(Refused::NoThread(task, _error)) if at_shutdown == AtShutdown::Run => {
                task.run();
                Ok(join)
            }
            Err(Refused::NoThread(task, error)) => {
                task.cancel();
                Err(error)
            }
            Err(Refused::Stopped) => Err(io::Error::other(Stopped)),
        }
    }

    fn submit<F, R>(
        &self,
        call: F,
        id: Id,
        spawned_at: &'static Location<'static>,
        at_shutdown: AtShutdown,
    ) -> (JoinHandle<R>, Result<(), Refused>)
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (task, join) = blocking_task(call, id, spawned_at);
        (join, self.submit_task(task, at_shutdown))
    }

    fn submit_task(&self, task: Runnable, at_shutdown: AtShutdown) -> Result<(), Refused> {
        let hold = ClockHold::new(&self.info().time);
        self.pool().submit_task(task, hold, at_shutdown, &|| Arc::new(self.clone()))
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => &scheduler.pool,
            SchedulerHandle::MultiThread(scheduler) => &scheduler.pool,
        }
    }

    /// Returns the number of workers that run on threads of the pool.
    pub(crate) fn pool_workers(&self) -> usize {
        match self {
            SchedulerHandle::CurrentThread(_) => 0,
            SchedulerHandle::MultiThread(scheduler) => scheduler.worker_count(),
        }
    }

    /// Returns a reference that does not keep the scheduler.
    pub(crate) fn downgrade(&self) -> WeakScheduler {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => {
                WeakScheduler::CurrentThread(Arc::downgrade(scheduler))
            }
            SchedulerHandle::MultiThread(scheduler) => {
                WeakScheduler::MultiThread(Arc::downgrade(scheduler))
            }
        }
    }

    /// Returns whether no thread runs the worker.
    pub(crate) fn is_vacant(&self, worker: usize) -> bool {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => {
                scheduler.drive_state() != current_thread::Drive::Thread
            }
            SchedulerHandle::MultiThread(scheduler) => scheduler.is_vacant(worker),
        }
    }

    /// Returns the number of tasks in a worker's queue, as far as it is known, and how long a poll
    /// takes in the mean, or zero if that is not known.
    pub(crate) fn queue_of(&self, worker: usize) -> (u64, u64) {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => (scheduler.queued_len() as u64, 0),
            SchedulerHandle::MultiThread(scheduler) => {
                (scheduler.local_queue_depth(worker) as u64, scheduler.mean_poll_ns(worker))
            }
        }
    }

    pub(crate) fn stalls(&self) -> &StallState {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => &scheduler.stalls,
            SchedulerHandle::MultiThread(scheduler) => &scheduler.stalls,
        }
    }

    pub(crate) fn remote_metrics(&self) -> &RemoteMetrics {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => scheduler.remote_metrics(),
            SchedulerHandle::MultiThread(scheduler) => scheduler.remote_metrics(),
        }
    }

    pub(crate) fn info(&self) -> &RuntimeInfo {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => &scheduler.info,
            SchedulerHandle::MultiThread(scheduler) => &scheduler.info,
        }
    }
}

/// A reference to a scheduler of either kind that does not keep it.
pub(crate) enum WeakScheduler {
    CurrentThread(Weak<current_thread::CurrentThread>),
    MultiThread(Weak<multi_thread::MultiThread>),
}

impl WeakScheduler {
    /// Returns whether the scheduler is gone.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            WeakScheduler::CurrentThread(weak) => weak.strong_count() == 0,
            WeakScheduler::MultiThread(weak) => weak.strong_count() == 0,
        }
    }

    /// Returns the scheduler, unless it is gone.
    pub(crate) fn upgrade(&self) -> Option<SchedulerHandle> {
        match self {
            WeakScheduler::CurrentThread(weak) => {
                weak.upgrade().map(SchedulerHandle::CurrentThread)
            }
            WeakScheduler::MultiThread(weak) => weak.upgrade().map(SchedulerHandle::MultiThread),
        }
    }
}

impl ThreadContext for SchedulerHandle {
    fn run(&self, work: &mut dyn FnMut()) {
        threads::set_role(ThreadRole::Pool, self.info().id.get());
        let _current = context::set_current(self);
        work();
    }
}
