//! The runtime: what runs tasks, and how it is made and reached.

mod builder;
mod handle;
mod id;
mod local_runtime;
mod runtime_metrics;
mod whole;

pub use crate::config::UnhandledPanic;
pub use crate::stall::{Stall, StallOutcome};
pub use crate::task_meta::TaskMeta;
pub use builder::Builder;
pub use handle::{EnterGuard, Handle, TryCurrentError};
pub use id::Id;
pub use local_runtime::{LocalOptions, LocalRuntime};
pub use runtime_metrics::RuntimeMetrics;
pub use whole::{Runtime, RuntimeFlavor};

pub(crate) use handle::current_or_panic;
pub use handle::expect_current;
#[cfg(feature = "driver")]
pub use handle::{current_io, try_current_io};

/// Whether an I/O operation failed because the runtime that its resource belongs to has shut down.
///
/// Every wait on a socket, or registration of one, fails with such an error once that has happened.
pub fn is_rt_shutdown_err(err: &std::io::Error) -> bool {
    let of_pool = err.get_ref().is_some_and(|inner| inner.is::<crate::blocking::Stopped>());
    of_pool || crate::driver::is_shutdown_error(err)
}

/// The index of the worker that the calling code runs on; none outside of a multi-thread runtime's
/// workers and of a current-thread runtime's `block_on`, where it is zero.
pub fn worker_index() -> Option<usize> {
    use crate::scheduler::{current_thread, multi_thread};
    multi_thread::worker_index().or_else(|| current_thread::is_driving().then_some(0))
}
