//! `LocalRuntime`: a runtime that is bound to one thread and whose tasks need not be `Send`.

use super::{Builder, EnterGuard, Handle, RuntimeMetrics};
use crate::scheduler::SchedulerHandle;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::Duration;
use wakeful_task::{Id, JoinHandle};

/// A current-thread runtime that is bound to the thread that created it.
///
/// Inside it, [`task::spawn_local`](crate::task::spawn_local) works without a
/// [`LocalSet`](crate::task::LocalSet). It makes progress only while its thread is in
/// [`block_on`](Self::block_on), and shuts down when dropped, as a [`Runtime`](super::Runtime)
/// does.
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
/// use wakeful::{runtime::LocalRuntime, task};
///
/// let log = Rc::new(RefCell::new(Vec::new()));
/// let runtime = LocalRuntime::new()?;
/// runtime.block_on(async {
///     let tasks: Vec<_> = (0..3)
///         .map(|number| {
///             let log = log.clone();
///             task::spawn_local(async move { log.borrow_mut().push(number) })
///         })
///         .collect();
///     for task in tasks {
///         task.await.unwrap();
///     }
/// });
/// assert_eq!(*log.borrow(), [0, 1, 2]);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct LocalRuntime {
    runtime: super::Runtime,
    _not_send: PhantomData<*mut u8>,
}

impl UnwindSafe for LocalRuntime {}
impl RefUnwindSafe for LocalRuntime {}

/// Options for [`Builder::build_local`]. There are none yet.
///
/// ```
/// use wakeful::runtime::{Builder, LocalOptions};
///
/// let runtime = Builder::new_current_thread().enable_time().build_local(LocalOptions::default())?;
/// assert_eq!(runtime.block_on(async { 42 }), 42);
/// # std::io::Result::Ok(())
/// ```
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct LocalOptions {
    _not_send: PhantomData<*mut u8>,
}

impl LocalRuntime {
    /// Creates a runtime that is bound to the calling thread, with I/O and timers enabled.
    ///
    /// # Errors
    /// Returns an error if [`Builder::build`] does.
    pub fn new() -> io::Result<LocalRuntime> {
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
    }

    pub(crate) fn from_runtime(runtime: super::Runtime) -> LocalRuntime {
        LocalRuntime { runtime, _not_send: PhantomData }
    }

    /// Returns a handle to the runtime. Other threads can use it to spawn `Send` futures.
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Spawns a task that need not be `Send` and returns a handle to its output.
    ///
    /// The task runs while the thread is in [`block_on`](Self::block_on).
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let SchedulerHandle::CurrentThread(scheduler) = &self.handle().scheduler else {
            unreachable!("a local runtime is a current-thread runtime")
        };
        // SAFETY: must be called on the thread that the runtime is bound to. `build_local` binds it
        // to the thread that creates the `LocalRuntime`; `self` is neither `Send` nor `Sync`, so
        // this is it.
        unsafe { scheduler.spawn_local(future, Id::next(), Location::caller()) }
    }

    /// Runs a closure that may block on a thread of the blocking pool.
    ///
    /// See [`task::spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// Panics if the pool has no thread for the closure and the operating system refuses one.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.runtime.spawn_blocking(func)
    }

    /// Runs a future to completion, and the runtime's tasks meanwhile.
    ///
    /// Tasks that have not ended when the future completes stay suspended until the next call.
    ///
    /// # Panics
    /// Panics if the thread already drives a runtime, or if the future panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Enters the runtime's context until the returned guard is dropped. See [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// Shuts the runtime down and waits for its threads for at most `duration`.
    ///
    /// See [`Runtime::shutdown_timeout`](super::Runtime::shutdown_timeout).
    pub fn shutdown_timeout(self, duration: Duration) {
        self.runtime.shutdown_timeout(duration);
    }

    /// Shuts the runtime down without waiting for its threads.
    pub fn shutdown_background(self) {
        self.runtime.shutdown_background();
    }

    /// Returns a view of the runtime's counters.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.runtime.metrics()
    }
}
