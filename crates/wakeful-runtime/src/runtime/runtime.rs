//! `Runtime`: the owner of a runtime, which shuts it down when dropped.

use super::{Builder, EnterGuard, Handle, RuntimeMetrics};
use crate::scheduler::SchedulerHandle;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;
use wakeful_base::enter::{Entered, entered};
use wakeful_task::JoinHandle;

/// A runtime: a scheduler for tasks, with its threads, timers and I/O.
///
/// [`Runtime::new`] creates one with default settings, [`Builder`] one with others. The entry point
/// of a program is usually [`block_on`](Self::block_on).
///
/// # Shutdown
/// Dropping the runtime shuts it down. Every task is dropped without being polled again; one that
/// is being polled is dropped when that poll returns. The `JoinHandle`s of these tasks return an
/// error, as do those of [`spawn_blocking`](Self::spawn_blocking) closures that have not started.
/// The drop then waits, without limit, for the runtime's threads, and so for closures that are
/// still running. [`shutdown_timeout`](Self::shutdown_timeout) limits that wait, and
/// [`shutdown_background`](Self::shutdown_background) does not wait.
///
/// Because the drop blocks, it panics on a thread that drives a runtime, for example in a task. A
/// [`Handle`] stays valid, but tasks spawned through it are cancelled immediately.
///
/// ```
/// use wakeful::runtime::Runtime;
///
/// let runtime = Runtime::new()?;
/// let doubled = runtime.spawn(async { 21 * 2 }); // starts to run on a worker
/// let answer = runtime.block_on(async { doubled.await.unwrap() });
/// assert_eq!(answer, 42);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    /// How long the drop waits for threads; `None` means without limit.
    wait: Option<Duration>,
}

impl UnwindSafe for Runtime {}
impl RefUnwindSafe for Runtime {}

/// The kind of a runtime, as returned by [`Handle::runtime_flavor`].
///
/// ```
/// use wakeful::{runtime::{Handle, RuntimeFlavor}, task};
///
/// /// Blocks in place where that is possible.
/// fn block<R>(f: impl FnOnce() -> R) -> R {
///     match Handle::current().runtime_flavor() {
///         RuntimeFlavor::MultiThread => task::block_in_place(f),
///         _ => f(),
///     }
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// assert_eq!(block(|| 42), 42);
/// # });
/// ```
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// All tasks run on the thread that calls `block_on`.
    CurrentThread,
    /// Tasks run on a pool of worker threads.
    MultiThread,
}

impl Runtime {
    /// Creates a multi-thread runtime with I/O and timers enabled.
    ///
    /// It has one worker per CPU, unless [an environment variable](super::Builder::worker_threads)
    /// sets their number.
    ///
    /// # Errors
    /// Returns an error if [`Builder::build`] does.
    ///
    /// # Panics
    /// Panics if the environment variable's value is not a number above zero.
    pub fn new() -> io::Result<Runtime> {
        Builder::new_multi_thread().enable_all().build()
    }

    pub(crate) fn from_handle(handle: Handle) -> Runtime {
        Runtime { handle, wait: None }
    }

    /// Returns a reference to the runtime that can be cloned and sent to other threads.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task onto the runtime and returns a handle to its output.
    ///
    /// On a multi-thread runtime the task starts to run immediately, even if the handle is never
    /// awaited. On a current-thread runtime it runs while a thread is in
    /// [`block_on`](Self::block_on). See [`task::spawn`](crate::task::spawn).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs a closure that may block on a thread of the blocking pool.
    ///
    /// See [`task::spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// Panics if the pool has no thread for the closure and the operating system refuses one.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let sum = runtime.spawn_blocking(|| (1..=1000_u64).sum::<u64>());
    /// assert_eq!(runtime.block_on(sum).unwrap(), 500_500);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(func)
    }

    /// Runs a future to completion on the calling thread and returns its output.
    ///
    /// This is a program's entry point into the runtime. The future runs in the runtime's context,
    /// so it can spawn tasks and use timers and I/O. It need not be `Send` or `'static`, and it is
    /// not a task: it always runs on the calling thread. On a multi-thread runtime, spawn work that
    /// is to run on the workers.
    ///
    /// On a current-thread runtime the call also runs the runtime's tasks. If several threads call
    /// it at once, one of them drives the tasks, timers and I/O, and the others wait for their own
    /// futures; when the driving thread returns, another one takes over.
    ///
    /// Tasks that have not ended when the future completes keep running on a multi-thread runtime.
    /// On a current-thread runtime they stay suspended until the next call.
    ///
    /// # Panics
    /// Panics if the thread already drives a runtime (as in a task), if the future panics, and on a
    /// runtime that a task's panic has shut down ([`UnhandledPanic::ShutdownRuntime`]).
    ///
    /// [`UnhandledPanic::ShutdownRuntime`]: super::UnhandledPanic::ShutdownRuntime
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let mut log = vec!["outside"]; // the future may borrow from the caller
    /// runtime.block_on(async { log.push("inside") });
    /// assert_eq!(log, ["outside", "inside"]);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.scheduler.block_on(future, "Runtime::block_on")
    }

    /// Enters the runtime's context until the returned guard is dropped.
    ///
    /// Meanwhile [`spawn`](crate::task::spawn), timers and sockets on this thread use this runtime,
    /// also outside `block_on`. Guards must be dropped in the reverse order of their creation,
    /// otherwise the drop panics.
    ///
    /// ```
    /// use wakeful::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let inside = runtime.enter();
    /// let task = wakeful::spawn(async { 42 }); // would panic without the guard
    /// drop(inside);
    /// assert_eq!(runtime.block_on(task).unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Shuts the runtime down and waits for its threads for at most `duration`.
    ///
    /// Threads that are still running a blocking closure, or a poll that blocks, after that time
    /// keep running in the background and exit when the closure returns.
    ///
    /// # Panics
    /// Panics in a thread that drives a runtime, unless `duration` is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::{sync::mpsc, thread, time::Duration};
    /// use wakeful::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let (never_sent, rx) = mpsc::channel::<()>();
    /// runtime.spawn_blocking(move || rx.recv());
    /// # while runtime.metrics().num_blocking_threads() == 0 { thread::yield_now() }
    /// runtime.shutdown_timeout(Duration::from_millis(5)); // a plain drop would never return
    /// drop(never_sent);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn shutdown_timeout(mut self, duration: Duration) {
        self.wait = Some(duration);
    }

    /// Shuts the runtime down without waiting for its threads.
    ///
    /// This is [`shutdown_timeout`](Self::shutdown_timeout) with a duration of zero. It may be
    /// called where blocking is not allowed, for example in a task of another runtime. Tasks may
    /// still be running, or not yet be dropped, when it returns.
    ///
    /// ```
    /// use wakeful::runtime::Runtime;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let inner = Runtime::new().unwrap();
    /// let task = inner.spawn(async { 42 });
    /// assert_eq!(task.await.unwrap(), 42);
    /// inner.shutdown_background(); // a plain drop would panic here
    /// # });
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    /// Returns a view of the runtime's counters.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }
}

impl Drop for Runtime {
    #[track_caller]
    fn drop(&mut self) {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(scheduler) => scheduler.shutdown(),
            SchedulerHandle::MultiThread(scheduler) => {
                // Cancels queued blocking tasks first: once the workers stop, their threads return
                // to the pool and would run them.
                scheduler.pool.retire();
                scheduler.stop();
            }
        }
        if self.wait != Some(Duration::ZERO) && entered() != Entered::No {
            self.handle.scheduler.pool().shutdown(Some(Duration::ZERO));
            if std::thread::panicking() {
                return;
            }
            panic!(
                "Cannot drop a runtime in a context where blocking is not allowed. This happens \
                 when a `Runtime` is dropped from within an asynchronous context: its drop waits for \
                 its threads. Drop it in synchronous code, with `task::spawn_blocking`, or call \
                 `Runtime::shutdown_background`, which does not wait"
            );
        }
        let are_threads_gone = self.handle.scheduler.pool().shutdown(self.wait);
        if are_threads_gone {
            let stalls = self.handle.scheduler.stalls();
            // The wait is short: the last worker has told the monitor to end, and the monitor runs
            // no user code.
            stalls.monitor.join();
            if self.wait.is_none() {
                stalls.join_reporter();
            }
        }
    }
}
