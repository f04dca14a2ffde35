//! The runtime itself, which shuts down when it is dropped.

use super::{Builder, EnterGuard, Handle, RuntimeMetrics};
use crate::scheduler::SchedulerHandle;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;
use wakeful_base::enter::{Entered, entered};
use wakeful_task::JoinHandle;

/// Runs tasks, and all that they wait for.
///
/// Dropping it stops it: every task is dropped, and the drop waits for blocking tasks that have begun.
/// See [`shutdown_timeout`](Self::shutdown_timeout) and
/// [`shutdown_background`](Self::shutdown_background) for other ways.
///
/// ```
/// use wakeful::runtime::Runtime;
///
/// let runtime = Runtime::new()?;
/// let doubled = runtime.spawn(async { 21 * 2 }); // runs from now on
/// let answer = runtime.block_on(async { doubled.await.unwrap() });
/// assert_eq!(answer, 42);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    /// How long the drop waits for threads; none: until they end.
    wait: Option<Duration>,
}

impl UnwindSafe for Runtime {}
impl RefUnwindSafe for Runtime {}

/// The kinds of runtime.
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
    /// All tasks run on the thread that is in `block_on`.
    CurrentThread,
    /// Tasks run on several worker threads.
    MultiThread,
}

impl Runtime {
    /// A multi-thread runtime with everything enabled and a worker for each CPU, or as many as
    /// [the environment says](super::Builder::worker_threads).
    pub fn new() -> io::Result<Runtime> {
        Builder::new_multi_thread().enable_all().build()
    }

    pub(crate) fn from_handle(handle: Handle) -> Runtime {
        Runtime { handle, wait: None }
    }

    /// A reference to the runtime that can be cloned and sent anywhere.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task onto the runtime. It begins to run at once, awaited or not.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs a closure that may block on a thread made for that.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(func)
    }

    /// Runs a future to its end on the calling thread: a program's way into the runtime.
    ///
    /// Tasks that are still running then go on, if the runtime has workers; on a current-thread runtime
    /// they rest until the next call.
    ///
    /// # Panics
    /// On a thread that drives a runtime already, or if the future panics.
    ///
    /// ```
    /// use wakeful::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let mut log = vec!["outside"]; // the future may borrow: it ends before this returns
    /// runtime.block_on(async { log.push("inside") });
    /// assert_eq!(log, ["outside", "inside"]);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.scheduler.block_on(future, "Runtime::block_on")
    }

    /// Enters the runtime's context: until the guard is dropped, `spawn` and its kind go there.
    ///
    /// ```
    /// use wakeful::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let inside = runtime.enter();
    /// let task = wakeful::spawn(async { 42 }); // would panic without
    /// drop(inside);
    /// assert_eq!(runtime.block_on(task).unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Shuts the runtime down, waiting for its threads for `duration` at most.
    ///
    /// Threads that run a blocking task longer than that are left behind.
    ///
    /// ```
    /// use std::{sync::mpsc, thread, time::Duration};
    /// use wakeful::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let (never_sent, rx) = mpsc::channel::<()>();
    /// runtime.spawn_blocking(move || rx.recv());
    /// # while runtime.metrics().num_blocking_threads() == 0 { thread::yield_now() }
    /// runtime.shutdown_timeout(Duration::from_millis(5)); // a plain drop would wait for ever
    /// drop(never_sent);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn shutdown_timeout(mut self, duration: Duration) {
        self.wait = Some(duration);
    }

    /// Shuts the runtime down without waiting for anything.
    ///
    /// May be called where blocking is not allowed, such as inside of another runtime's task.
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

    /// What the runtime counts while it runs.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }
}

impl Drop for Runtime {
    #[track_caller]
    fn drop(&mut self) {
        match &self.handle.scheduler {
            SchedulerHandle::CurrentThread(shared) => shared.shutdown(),
            SchedulerHandle::MultiThread(shared) => {
                // Before the workers stop, whose threads would run them.
                shared.pool.retire();
                shared.stop();
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
            // The last worker has told it to end, and it runs no user code: the wait is short.
            stalls.monitor.join();
            if self.wait.is_none() {
                stalls.join_reporter();
            }
        }
    }
}
