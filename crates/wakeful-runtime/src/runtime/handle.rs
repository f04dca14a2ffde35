//! A reference to a runtime, to spawn onto it from anywhere.

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

/// A reference to a runtime. Cheap to clone; does not keep the runtime from shutting down.
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
/// A task that is spawned when the runtime has shut down never runs:
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

/// Keeps the thread in a runtime's context until dropped. From [`Handle::enter`].
///
/// ```
/// use wakeful::{net::UdpSocket, runtime::Runtime};
///
/// let runtime = Runtime::new()?;
/// let std_socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// std_socket.set_nonblocking(true)?;
///
/// let inside = runtime.enter(); // what has to find a runtime does now
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

    /// Enters the runtime's context: until the guard is dropped, `spawn` and its kind go there.
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard { _guard: set_current(&self.scheduler), _handle: PhantomData }
    }

    /// The runtime whose context the calling thread is in.
    ///
    /// # Panics
    /// Outside of any runtime's context. [`try_current`](Self::try_current) does not.
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

    /// The runtime whose context the calling thread is in, if it is in one.
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        with_current(|scheduler| Handle::new(scheduler.clone())).map_err(TryCurrentError)
    }

    /// Spawns a task onto the runtime. It begins to run at once, awaited or not.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.scheduler.spawn(future, task::Id::next(), Location::caller())
    }

    /// Runs a closure that may block on a thread made for that.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.scheduler.spawn_blocking(func, task::Id::next(), Location::caller())
    }

    /// Runs a future to its end on the calling thread, in the runtime's context.
    ///
    /// On a current-thread runtime this drives nothing but the future itself: timers, I/O and tasks
    /// need somebody in `Runtime::block_on` meanwhile.
    ///
    /// # Panics
    /// On a thread that drives a runtime already, or if the future panics.
    ///
    /// ```
    /// use wakeful::{runtime::Handle, task};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = Handle::current();
    /// // A thread of the pool may wait for async code.
    /// let answer = task::spawn_blocking(move || handle.block_on(async { 42 }));
    /// assert_eq!(answer.await.unwrap(), 42);
    /// # });
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _driving = drive(&self.scheduler, Entered::MayBlockInPlace, "Handle::block_on");
        self.scheduler.stalls().while_pinned(None, || block_on(future))
    }

    /// The kind of the runtime.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match &self.scheduler {
            SchedulerHandle::CurrentThread(_) => RuntimeFlavor::CurrentThread,
            SchedulerHandle::MultiThread(_) => RuntimeFlavor::MultiThread,
        }
    }

    /// The id of the runtime.
    pub fn id(&self) -> Id {
        Id::new(self.scheduler.info().id)
    }

    /// The name the runtime was given, if any.
    pub fn name(&self) -> Option<&str> {
        self.scheduler.info().name.as_deref()
    }

    /// What the runtime counts while it runs.
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
/// Outside of any runtime, saying that `call` needs one.
#[track_caller]
pub(crate) fn current_or_panic<R>(call: &str, f: impl FnOnce(&SchedulerHandle) -> R) -> R {
    match with_current(f) {
        Ok(result) => result,
        Err(why) => panic!("`{call}` called, but {}", TryCurrentError(why)),
    }
}

/// Checks that there is a current runtime, for what `call` could do without one but should not. False
/// if that has shut down.
///
/// # Panics
/// Outside of any runtime.
#[doc(hidden)]
#[inline]
#[track_caller]
pub fn expect_current(call: &str) -> bool {
    current_or_panic(call, |scheduler| !scheduler.pool().is_stopped())
}

/// The I/O driver of the current runtime, for what `call` makes.
///
/// # Panics
/// Outside of any runtime, or if its I/O is not enabled.
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

/// The I/O driver of the current runtime, if there is one and it has one.
#[cfg(feature = "driver")]
#[doc(hidden)]
pub fn try_current_io() -> Option<std::sync::Arc<wakeful_reactor::io::IoDriver>> {
    with_current(|scheduler| scheduler.info().io.get().cloned()).ok().flatten()
}

/// There is no current runtime. From [`Handle::try_current`].
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
    /// Whether the thread is in no runtime's context.
    pub fn is_missing_context(&self) -> bool {
        self.0 == NoCurrent::NotEntered
    }

    /// Whether the thread is ending, and its locals are gone.
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
                // In brackets what people who come from Tokio know, and search for.
                "there is no runtime on this thread (there is no reactor running, must be called \
                 from the context of a Tokio 1.x runtime): call it from a task or inside of \
                 `block_on`, or enter a runtime first with `Runtime::enter` or `Handle::enter`"
            }
            NoCurrent::ThreadEnds => {
                "the thread is ending, and its record of the current runtime is gone: keep a \
                 `Handle` instead of asking for the current one in a destructor"
            }
        })
    }
}

impl std::error::Error for TryCurrentError {}
