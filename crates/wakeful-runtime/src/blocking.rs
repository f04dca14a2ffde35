//! The blocking pool: the threads that run closures that block, and the workers themselves.
//!
//! `pool.rs` starts and joins the threads, `thread_names.rs` names them. `job_queue.rs` decides
//! which thread takes which job, and when a thread is woken or started. `spin_budget.rs` limits how
//! much time idle threads spend on spinning. `task.rs` turns a closure into a task, which is what
//! the queue holds.

mod job_queue;
mod pool;
mod task;
mod thread_names;

pub(crate) use pool::{AtShutdown, Pool, Refused, Stopped, ThreadContext};
pub(crate) use task::blocking_task;
