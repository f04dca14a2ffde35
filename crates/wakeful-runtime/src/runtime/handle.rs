//! `Handle`: a reference to a runtime that can be cloned and used on any thread.

use super::{Id, RuntimeFlavor, RuntimeMetrics};
use crate::scheduler::SchedulerHandle;
use crate::scheduler::block_on::block_on;
use crate::scheduler::context::{CurrentGuard, NoCurrent, drive, set_current, with_current};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use wakeful_base::enter::Entered;
use wakeful_task::{self as task, JoinHandle};

/// A reference to a runtime that can be cloned and used on any thread.
///
/// Cloning a handle is cheap. A handle does not keep the runtime running: only the
/// [`Runtime`](super::Runtime) itself does.
///
/// ```
/// use wakeful::runtime::{Handle, Runtime};
///
/// let runtime = Runtime::new()?;
/// let handle: Handle = runtime.handle().clone();
/// let thread = std::thread::spawn(move || {
///     let task = handle.spawn(async { 42 });
///     handle.block_on(task).unwrap()
/// });
/// assert_eq!(thread.join().unwrap(), 42);
/// # std::io::Result::Ok(())
/// ```
///
/// A task that is spawned after the runtime has shut down is cancelled without being run:
///
/// ```
/// let handle = wakeful::runtime::Runtime::new()?.handle().clone();
/// let task = handle.spawn(async { 42 });
/// # wakeful::runtime::Runtime::new()?.block_on(async {
/// assert!(task.await.unwrap_err().is_cancelled());
/// # });
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct Handle {
    pub(crate) scheduler: SchedulerHandle,
}

impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}

/// A guard that keeps the thread in a runtime's context until it is dropped.
///
/// It is returned by [`Handle::enter`] and [`Runtime::enter`](super::Runtime::enter).
///
/// # Panics
/// Dropping guards in another order than the reverse of their creation panics.
///
/// # Examples
///
/// ```
/// use wakeful::{net::UdpSocket, runtime::Runtime};
///
/// let runtime = Runtime::new()?;
/// let std_socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// std_socket.set_nonblocking(true)?;
///
/// let inside = runtime.enter(); // `from_std` and `spawn` use this runtime now
/// let socket = UdpSocket::from_std(std_socket)?;
/// let task = wakeful::spawn(async move { socket.local_addr().is_ok() });
/// drop(inside);
/// assert!(runtime.block_on(task).unwrap());
/// # std::io::Result::Ok(())
/// ```
#[must_use = "Creating and dropping a guard does nothing"]
pub struct EnterGuard<'a> {
    _guard: CurrentGuard,
    _handle: PhantomData<&'a Handle>,
}

impl Handle {
    pub(crate) fn new(scheduler: SchedulerHandle) -> Handle {
        Handle { scheduler }
    }

    /// Enters the runtime's context until the returned guard is dropped.
    ///
    /// Meanwhile [`spawn`](crate::task::spawn), timers and sockets on this thread use this runtime.
    /// Do not hold the guard across an `.await`: it affects the thread, not the task. Guards must
    /// be dropped in the reverse order of their creation.
    ///
    /// # Panics
    /// Panics while the thread's thread-locals are being destroyed.
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard { _guard: set_current(&self.scheduler), _handle: PhantomData }
    }

    /// Returns a handle to the runtime that the calling thread is in.
    ///
    /// A thread is in a runtime while it runs a task, a `spawn_blocking` closure or `block_on` of
    /// that runtime, and while an [`EnterGuard`] is alive.
    ///
    /// # Panics
    /// Panics if the thread is in no runtime. [`try_current`](Self::try_current) returns an error
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::runtime::Handle;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = Handle::current();
    /// let thread = std::thread::spawn(move || drop(handle.spawn(async { "from outside" })));
    /// thread.join().unwrap();
    /// # });
    /// ```
    #[track_caller]
    pub fn current() -> Handle {
        current_or_panic("Handle::current", |scheduler| Handle::new(scheduler.clone()))
    }

    /// Returns a handle to the runtime that the calling thread is in, if any.
    ///
    /// # Errors
    /// Returns an error if the thread is in no runtime, or is ending and its thread-locals are
    /// gone.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::runtime::{Handle, Runtime};
    ///
    /// /// Runs work in the background if there is a runtime, otherwise on this thread.
    /// fn run(work: impl FnOnce() + Send + 'static) {
    ///     match Handle::try_current() {
    ///         Ok(runtime) => drop(runtime.spawn_blocking(work)),
    ///         Err(_) => work(),
    ///     }
    /// }
    ///
    /// run(|| println!("on this thread"));
    /// Runtime::new()?.block_on(async { run(|| println!("on a thread of the blocking pool")) });
    /// # std::io::Result::Ok(())
    /// ```
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        with_current(|scheduler| Handle::new(scheduler.clone())).map_err(TryCurrentError)
    }

    /// Spawns a task onto the runtime and returns a handle to its output.
    ///
    /// The calling thread need not be in the runtime. The task starts to run immediately on a
    /// multi-thread runtime, and while a thread is in `Runtime::block_on` on a current-thread
    /// runtime. If the runtime has shut down, the task is cancelled. See
    /// [`task::spawn`](crate::task::spawn).
    ///
    /// ```
    /// use wakeful::runtime::Runtime;
    ///
    /// let runtime = Runtime::new()?;
    /// let handle = runtime.handle().clone();
    /// // A thread that is not part of the runtime spawns a task onto it.
    /// let thread = std::thread::spawn(move || handle.spawn(async { 6 * 7 }));
    /// let task = thread.join().unwrap();
    /// assert_eq!(runtime.block_on(task).unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.scheduler.spawn(future, task::Id::next(), Location::caller())
    }

    /// Runs a closure that may block on a thread of the blocking pool.
    ///
    /// If the runtime has shut down, the closure is dropped and the returned handle reports a
    /// cancelled task. See [`task::spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// Panics if the pool has no thread for the closure and the operating system refuses one.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.scheduler.spawn_blocking(func, task::Id::next(), Location::caller())
    }

    /// Runs a future to completion on the calling thread, in the runtime's context.
    ///
    /// Unlike [`Runtime::block_on`](super::Runtime::block_on), this does not drive a current-thread
    /// runtime: its tasks, timers and I/O make progress only while another thread is in
    /// `Runtime::block_on`. If the future waits for one of them and no thread is, the call blocks.
    ///
    /// # Panics
    /// Panics if the thread already drives a runtime (as in a task), if the future panics, or if
    /// the future polls a timer of a runtime that has shut down.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::{runtime::Handle, task};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = Handle::current();
    /// // A thread of the blocking pool may wait for async code.
    /// let answer = task::spawn_blocking(move || handle.block_on(async { 42 }));
    /// assert_eq!(answer.await.unwrap(), 42);
    /// # });
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _driving = drive(&self.scheduler, Entered::MayBlockInPlace, "Handle::block_on");
        let (site, runtime) = (Location::caller(), self.scheduler.info().id.get());
        let metrics = self.scheduler.remote_metrics();
        self.scheduler.stalls().while_pinned(None, || block_on(future, site, runtime, metrics))
    }

    /// Returns the kind of the runtime.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match &self.scheduler {
            SchedulerHandle::CurrentThread(_) => RuntimeFlavor::CurrentThread,
            SchedulerHandle::MultiThread(_) => RuntimeFlavor::MultiThread,
        }
    }

    /// Returns the id of the runtime.
    pub fn id(&self) -> Id {
        Id::new(self.scheduler.info().id)
    }

    /// Returns the name that was set by [`Builder::name`](super::Builder::name), if any.
    pub fn name(&self) -> Option<&str> {
        self.scheduler.info().name.as_deref()
    }

    /// Returns a view of the runtime's counters.
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("id", &self.id())
            .field("flavor", &self.runtime_flavor())
            .finish()
    }
}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

/// Calls `f` with the current runtime.
///
/// # Panics
/// Panics if there is none; the message says that `call` needs one.
#[track_caller]
pub(crate) fn current_or_panic<R>(call: &str, f: impl FnOnce(&SchedulerHandle) -> R) -> R {
    match with_current(f) {
        Ok(result) => result,
        Err(why) => panic!("`{call}` called, but {}", TryCurrentError(why)),
    }
}

/// Checks that there is a current runtime, and returns false if it has shut down.
///
/// This is for functions that could work without a runtime, but that panic without one as Tokio's
/// do.
///
/// # Panics
/// Panics if there is no current runtime; the message names `call`.
#[doc(hidden)]
#[inline]
#[track_caller]
pub fn expect_current(call: &str) -> bool {
    current_or_panic(call, |scheduler| !scheduler.pool().is_stopped())
}

/// Returns the I/O driver of the current runtime, for an object that `call` creates.
///
/// # Panics
/// Panics if there is no current runtime, or if its I/O is not enabled.
#[cfg(feature = "driver")]
#[doc(hidden)]
#[track_caller]
pub fn current_io(call: &str) -> std::sync::Arc<wakeful_reactor::io::IoDriver> {
    match with_current(|scheduler| scheduler.info().io.get().cloned()) {
        Ok(Some(io)) => io,
        Ok(None) => panic!(
            "`{call}` called in a runtime without I/O: A Tokio 1.x context was found, but IO is \
             disabled. Call `enable_io` on the runtime builder to enable IO."
        ),
        Err(why) => panic!(
            "`{call}` called, but there is no reactor running, must be called from the context of a \
             Tokio 1.x runtime: {}",
            TryCurrentError(why)
        ),
    }
}

/// Returns the I/O driver of the current runtime, if there is a runtime and its I/O is enabled.
#[cfg(feature = "driver")]
#[doc(hidden)]
pub fn try_current_io() -> Option<std::sync::Arc<wakeful_reactor::io::IoDriver>> {
    with_current(|scheduler| scheduler.info().io.get().cloned()).ok().flatten()
}

/// An error returned by [`Handle::try_current`] when the thread is in no runtime.
///
/// ```
/// use wakeful::runtime::{Handle, Runtime};
///
/// let error = Handle::try_current().unwrap_err();
/// assert!(error.is_missing_context());
/// Runtime::new()?.block_on(async { assert!(Handle::try_current().is_ok()) });
/// # std::io::Result::Ok(())
/// ```
pub struct TryCurrentError(NoCurrent);

impl TryCurrentError {
    /// Returns whether the thread is in no runtime.
    pub fn is_missing_context(&self) -> bool {
        self.0 == NoCurrent::NotEntered
    }

    /// Returns whether the thread is ending and its thread-locals have been destroyed.
    pub fn is_thread_local_destroyed(&self) -> bool {
        self.0 == NoCurrent::ThreadEnds
    }
}

impl fmt::Debug for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0 {
            NoCurrent::NotEntered => "NoContext",
            NoCurrent::ThreadEnds => "ThreadLocalDestroyed",
        };
        f.debug_struct("TryCurrentError").field("kind", &kind).finish()
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            NoCurrent::NotEntered => {
                // The part in brackets is Tokio's message, which programs and users search for.
                "there is no runtime on this thread (there is no reactor running, must be called \
                 from the context of a Tokio 1.x runtime): call it from a task or inside \
                 `block_on`, or enter a runtime first with `Runtime::enter` or `Handle::enter`"
            }
            NoCurrent::ThreadEnds => {
                "the thread is ending and its thread-locals are gone: keep a `Handle` instead of \
                 looking up the current one in a destructor"
            }
        })
    }
}

impl std::error::Error for TryCurrentError {}
