//! The runtime: a scheduler for tasks, with its threads, timers and I/O.
//!
//! A program usually has one runtime, created by `#[wakeful::main]` or by hand:
//!
//! ```
//! use wakeful::runtime::{Builder, Runtime};
//!
//! // Worker threads for all CPUs, timers and I/O.
//! let runtime = Runtime::new()?;
//! assert_eq!(runtime.block_on(async { wakeful::spawn(async { 42 }).await.unwrap() }), 42);
//!
//! // Everything on this thread.
//! let small = Builder::new_current_thread().enable_all().build()?;
//! assert_eq!(small.block_on(async { 42 }), 42);
//! # std::io::Result::Ok(())
//! ```
//!
//! There are three kinds of runtime:
//!
//! | kind | where tasks run | a task that blocks |
//! |---|---|---|
//! | multi-thread | on worker threads | delays the others by a few milliseconds |
//! | current-thread | on the thread in `block_on` | blocks the others |
//! | [`LocalRuntime`] | on its own thread, in `block_on` | blocks the others |
//!
//! Tasks of a [`LocalRuntime`] need not be `Send`. On a multi-thread runtime, when a task blocks
//! its worker, another thread takes over the worker's queue, timers and I/O: see
//! [`Builder::stall_after`] and [`Builder::on_stall`].
//!
//! [`Builder`] configures a runtime, [`Runtime`] owns it and shuts it down when dropped, and
//! [`RuntimeMetrics`] reads its counters.
//!
//! [`Handle::dump`] says where tasks wait, and what hangs and why. With the environment variable
//! `WAKEFUL_CONSOLE=1`, `kill -QUIT` makes any program print the same; with
//! `WAKEFUL_DEADLOCK_REPORT=1`, a program prints each deadlock when it is found.
//!
//! With the environment variable `WAKEFUL_VERSION=1`, the first runtime of a process prints
//! Wakeful's version to standard error.
//!
//! Code that runs inside a runtime (in a task or in `block_on`) needs no reference to it: `spawn`,
//! sockets and timers use the runtime of the calling thread, which [`Handle::current`] returns.
//! Other code, for example on a thread of another library, keeps a [`Handle`].

mod builder;
#[cfg(not(feature = "taskdump"))]
mod dump;
#[cfg(feature = "taskdump")]
pub mod dump;
mod handle;
mod histogram_metrics;
mod id;
mod local_runtime;
mod replaced_metrics;
#[expect(clippy::module_inception, reason = "the file is named after the type in it")]
mod runtime;
mod runtime_metrics;
mod version_note;

pub use crate::census::Hang;
pub use crate::config::UnhandledPanic;
pub use crate::metrics::{
    HistogramConfiguration, HistogramScale, InvalidHistogramConfiguration, LogHistogram,
    LogHistogramBuilder,
};
pub use crate::rng_seed::RngSeed;
pub use crate::stall::{Stall, StallOutcome};
pub use crate::task_meta::TaskMeta;
pub use builder::Builder;
pub use dump::{Census, Dump, Task, TaskState, Tasks, Trace};
pub use handle::{EnterGuard, Handle, TryCurrentError};
pub use id::Id;
pub use local_runtime::{LocalOptions, LocalRuntime};
pub use runtime::{Runtime, RuntimeFlavor};
pub use runtime_metrics::RuntimeMetrics;

pub(crate) use handle::current_or_panic;
pub use handle::expect_current;
#[cfg(feature = "driver")]
pub use handle::{current_io, try_current_io};

/// Returns whether an I/O operation failed because the runtime of its resource has shut down.
///
/// Sockets and other I/O resources belong to the runtime in which they were created. Once that
/// runtime has shut down, pending and new operations on them fail with such an error.
///
/// ```
/// use wakeful::{net::UdpSocket, runtime::{Runtime, is_rt_shutdown_err}};
///
/// let (first, second) = (Runtime::new()?, Runtime::new()?);
/// let socket = first.block_on(UdpSocket::bind("127.0.0.1:0"))?;
/// drop(first);
/// let error = second.block_on(socket.readable()).unwrap_err();
/// assert!(is_rt_shutdown_err(&error));
/// # std::io::Result::Ok(())
/// ```
pub fn is_rt_shutdown_err(err: &std::io::Error) -> bool {
    let of_pool = err.get_ref().is_some_and(|inner| inner.is::<crate::blocking::Stopped>());
    of_pool || crate::driver::is_shutdown_error(err)
}

/// Returns the index of the worker that the calling thread runs, or `None` if it runs none.
///
/// The index is zero inside `block_on` of a current-thread runtime. It is `None` inside `block_on`
/// of a multi-thread runtime and in `spawn_blocking`. A task may move to another worker whenever it
/// waits.
///
/// ```
/// use wakeful::runtime::{Builder, worker_index};
///
/// let runtime = Builder::new_multi_thread().worker_threads(2).build()?;
/// let task = runtime.spawn(async { worker_index() });
/// let on_worker = runtime.block_on(task).unwrap();
/// assert!(on_worker.unwrap() < 2);
/// assert_eq!(worker_index(), None);
/// # std::io::Result::Ok(())
/// ```
pub fn worker_index() -> Option<usize> {
    use crate::scheduler::{current_thread, multi_thread};
    multi_thread::worker_index().or_else(|| current_thread::is_driving().then_some(0))
}
