//! Threads for code that blocks, and for the workers themselves.

mod job_queue;
mod looks;
mod pool;
mod task;

pub(crate) use pool::{AtShutdown, Pool, Refused, Stopped, ThreadContext};
pub(crate) use task::blocking_task;
