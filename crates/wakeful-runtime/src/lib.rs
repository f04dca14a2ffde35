//! Schedulers, blocking pool and runtime of Wakeful.
//!
//! What users see of this crate they see through `wakeful`, as `wakeful::runtime` and `wakeful::task`.
//! Inside, each module uses only those above it in this list:
//!
//! - `task_meta`, `stall`, `config`, `metrics`, `driver`: what the rest is told, counts and waits in
//! - `timers`: what a worker wakes up for by itself
//! - `blocking`: the threads
//! - `scheduler`: current-thread and multi-thread
//! - [`runtime`]: Builder, Runtime, Handle
//! - [`task`]: spawning, and all that is built on tasks
//! - `time`: sleeps, timeouts, intervals
//!
//! This crate is an implementation detail of `wakeful`; its API follows no version promise.

mod blocking;
mod config;
mod driver;
mod metrics;
pub mod runtime;
mod scheduler;
mod stall;
pub mod task;
mod task_meta;
#[cfg(feature = "time")]
pub mod time;
mod timers;

#[cfg(test)]
mod testing;
