//! Schedulers, blocking pool and runtime of Wakeful.
//!
//! This crate is an implementation detail of `wakeful`, which reexports its public part as
//! `wakeful::runtime`, `wakeful::task` and `wakeful::time`. Its API follows no version promise.
//!
//! Each module uses only those above it in this list:
//!
//! - `task_meta`: what task callbacks learn about a task
//! - `task_walk`: walks over lists of tasks, for a census
//! - `stall`: detection and reports of polls that block their thread
//! - `config`: the settings of a runtime, as the schedulers read them
//! - `metrics`: the counters behind [`runtime::RuntimeMetrics`]
//! - `driver`: where an idle worker parks until there are events or a wake-up
//! - `timers`: the timers of each worker, and those of other threads
//! - `blocking`: the thread pool, for workers and for `spawn_blocking`
//! - `scheduler`: the current-thread and the multi-thread scheduler, and the current runtime of a
//!   thread
//! - `census`: what each task of the process waits for, what hangs and why
//! - `console`: dumps on a signal, reports of deadlocks
//! - [`runtime`]: `Builder`, `Runtime`, `Handle`, `RuntimeMetrics`
//! - [`task`]: spawning, `JoinSet`, `LocalSet`, task-locals, the budget
//! - `time`: sleeps, timeouts, intervals, the paused clock of tests
//!
//! A future given to [`task::spawn`] becomes a task of `wakeful-task` and enters a queue of the
//! current runtime's `scheduler`. A worker takes it from there and polls it. Once the task waits,
//! its waker puts it back into a queue: called by another task, by the reactor's events through
//! `driver`, or by `timers`. When no task is ready, the worker parks in `driver`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod blocking;
mod census;
mod config;
mod console;
mod cpus;
mod driver;
mod metrics;
mod rng_seed;
pub mod runtime;
mod scheduler;
mod spin_budget;
mod stall;
pub mod task;
mod task_meta;
mod task_walk;
#[cfg(feature = "time")]
pub mod time;
mod timers;
mod wake_cost;

#[cfg(test)]
mod testing;
