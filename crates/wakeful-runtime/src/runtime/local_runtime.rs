//! A runtime whose tasks need not be `Send`, and which never leaves its thread.

use super::{Builder, EnterGuard, Handle, RuntimeMetrics};
use crate::scheduler::SchedulerHandle;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::Duration;
use wakeful_task::{Id, JoinHandle};

/// A current-thread runtime bound to the thread that made it.
///
/// `spawn_local` works anywhere inside of it, without a `LocalSet`.
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

/// How a [`LocalRuntime`] is made; there is nothing to choose yet.
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
    /// A runtime for this thread with everything enabled.
    pub fn new() -> io::Result<LocalRuntime> {
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
    }

    pub(crate) fn from_runtime(runtime: super::Runtime) -> LocalRuntime {
        LocalRuntime { runtime, _not_send: PhantomData }
    }

    /// A reference to the runtime. From other threads it takes futures that are `Send`.
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Spawns a task, which need not be `Send`.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let SchedulerHandle::CurrentThread(shared) = &self.handle().scheduler else {
            unreachable!("a local runtime is a current-thread runtime")
        };
        // SAFETY: not being `Send`, we are on the thread the runtime is bound to.
        unsafe { shared.spawn_local(future, Id::next(), Location::caller()) }
    }

    /// Runs a closure that may block on a thread made for that.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.runtime.spawn_blocking(func)
    }

    /// Runs a future to its end, and the runtime's tasks meanwhile.
    ///
    /// # Panics
    /// On a thread that drives a runtime already, or if the future panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Enters the runtime's context: until the guard is dropped, `spawn` and its kind go there.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// Shuts the runtime down, waiting for its threads for `duration` at most.
    pub fn shutdown_timeout(self, duration: Duration) {
        self.runtime.shutdown_timeout(duration);
    }

    /// Shuts the runtime down without waiting for anything.
    pub fn shutdown_background(self) {
        self.runtime.shutdown_background();
    }

    /// What the runtime counts while it runs.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.runtime.metrics()
    }
}
