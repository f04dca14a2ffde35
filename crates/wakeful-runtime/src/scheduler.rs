//! The two schedulers, and how a thread knows which one it belongs to.

mod audit;
pub(crate) mod block_on;
mod cell_refs;
pub(crate) mod context;
mod cpus;
pub(crate) mod current_thread;
mod doubling;
pub(crate) mod inject;
mod luck;
pub(crate) mod multi_thread;
#[cfg(feature = "time")]
pub(crate) mod timer;

use crate::blocking::{AtShutdown, Pool, Refused, Stopped, ThreadContext, blocking_task};
use crate::driver::IoHandle;
use crate::stall::StallState;
use crate::timers::{ClockHold, TimeHandle};
use block_on::{poll_to_end, with_root};
use std::future::Future;
use std::io;
use std::num::NonZeroU64;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wakeful_base::enter::Entered;
use wakeful_task::{Id, JoinHandle, Runnable};

/// What is said of a runtime, whatever its scheduler.
pub(crate) struct RuntimeInfo {
    pub(crate) id: NonZeroU64,
    pub(crate) name: Option<String>,
    pub(crate) io: IoHandle,
    pub(crate) time: Arc<TimeHandle>,
}

impl RuntimeInfo {
    pub(crate) fn new(name: Option<String>, io: IoHandle, time: Arc<TimeHandle>) -> RuntimeInfo {
        RuntimeInfo { id: next_runtime_id(), name, io, time }
    }
}

/// An id that no runtime, and nothing else that runs tasks by itself, has had.
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

    /// Drives `future` on this thread, and with it the scheduler, if that has no threads of its own.
    ///
    /// # Panics
    /// On a thread that drives a runtime already, and if a task's panic ended the runtime.
    #[track_caller]
    pub(crate) fn block_on<F: Future>(&self, future: F, call: &str) -> F::Output {
        let mark = match self {
            SchedulerHandle::CurrentThread(_) => Entered::Bound,
            SchedulerHandle::MultiThread(_) => Entered::MayBlockInPlace,
        };
        let _driving = context::drive(self, mark, call);
        let output = with_root(future, |root| match self {
            SchedulerHandle::CurrentThread(scheduler) => scheduler.drive(root),
            SchedulerHandle::MultiThread(scheduler) => {
                scheduler.stalls.while_pinned(None, || poll_to_end(root));
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

    /// Has a thread of the pool run a closure.
    ///
    /// # Panics
    /// If there is no thread and none can be started.
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
            // Once the pool is stopped the task is cancelled, which the join handle tells.
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

    /// As `spawn_blocking`, but if there is no thread and none can be started, the closure runs here.
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

    /// As `spawn_blocking`, with an error where the closure will not be run. One that a shutdown has to
    /// wait for runs here if there is no thread and none can be started.
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

    pub(crate) fn stalls(&self) -> &StallState {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => &scheduler.stalls,
            SchedulerHandle::MultiThread(scheduler) => &scheduler.stalls,
        }
    }

    pub(crate) fn info(&self) -> &RuntimeInfo {
        match self {
            SchedulerHandle::CurrentThread(scheduler) => &scheduler.info,
            SchedulerHandle::MultiThread(scheduler) => &scheduler.info,
        }
    }
}

impl ThreadContext for SchedulerHandle {
    fn run(&self, work: &mut dyn FnMut()) {
        let _current = context::set_current(self);
        work();
    }
}
