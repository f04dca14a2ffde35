//! The task: a future, its state, and the handles that refer to it.
//!
//! A task is one allocation:
//!
//! ```text
//!   ┌──────────────── Header, 72 bytes ────────────────┬─ FutureOrOutput ─┐
//!   │ state  vtable  slot  owned links  home           │ the future,      │
//!   │ origin  join waker                               │ later its output │
//!   └──────────────────────────────────────────────────┴──────────────────┘
//! ```
//!
//! References to a task are named by their holder: the scheduler's ([`Runnable`] while in a queue,
//! [`RunningTask`] during a poll, [`FinishingTask`] and [`CompletedTask`] at the end), the
//! [`JoinHandle`], the [`AbortHandle`]s, and the wakers. The state word alone says which of them
//! may do what.
//!
//! ```text
//!   new_task ──▶ Runnable ──run──▶ RunningTask ──idle──▶ (no entry) ──wake──▶ Runnable
//!                   │                  │ requeue──▶ Runnable
//!                   │ cancel           │ cancel, or the poll returned Ready
//!                   └──────────────────┴──▶ FinishingTask ──complete──▶ freed with the last ref
//! ```
//!
//! Schedulers implement [`Schedule`]. The implementor is the task's **home**, to which wake-ups
//! pass the task's queue entry. [`Runnable::run`] returns what a poll led to, and the scheduler
//! decides where the task goes next.
//!
//! | file | contents |
//! |---|---|
//! | `state.rs` | the state word and all its transitions |
//! | `refs.rs` | the scheduler's references |
//! | `cell.rs`, `header.rs` | the memory of a task |
//! | `join.rs`, `join_slot.rs`, `abort.rs`, `waker.rs` | the other references |
//! | `current.rs` | the task that a thread runs |
//! | `record.rs` | where a task comes from, its name, and what is recorded of it |
//! | `recording.rs` | whether tasks are recorded, and the figures of all of them |
//!
//! This crate is an implementation detail of `wakeful`. Its API follows no version promise.
//!
//! # Access to the fields
//!
//! The **right to poll** a task belongs to the holder of its [`Runnable`] or [`RunningTask`].
//!
//! | field | access |
//! |---|---|
//! | `state` | any holder of a reference, through the transitions |
//! | `vtable` | written before the first reference exists, then only read |
//! | `origin` | any holder of a reference, as `record.rs` says |
//! | `slot`, its id | written before the first reference exists, then only read |
//! | `slot`, word | scheduled: the queue; running: the polling thread; complete: the scheduler |
//! | `slot`, note | any thread may mark it, by an exchange that fails if the word changes |
//! | `owned` | the home's list, under the home's own exclusion |
//! | `home` | the holder of the right to poll |
//! | `join_waker` | see [Waker slot](#waker-slot) |
//! | `stage`, a future | the holder of the right to poll |
//! | `stage`, an output | the join handle; without one at completion, the completing thread |
//!
//! # Waker slot
//!
//! `join_waker` belongs to the join handle while `JOIN_WAKER` is clear. While it is set, the handle
//! and the completing thread may only read it. The last reference may always access it.

mod abort;
mod cell;
mod current;
mod error;
mod header;
mod id;
mod join;
mod join_slot;
mod record;
pub mod recording;
mod refs;
mod state;
mod waker;

pub use abort::AbortHandle;
pub use cell::new_task;
pub use current::{id, try_id};
pub use error::JoinError;
pub use header::{Header, HeaderCopy, OwnedLink, TaskRef};
pub use id::Id;
pub use join::{JoinHandle, set_join_waker, set_name};
pub use record::TaskFigures;
pub use refs::{CompletedTask, FinishingTask, Polled, Retained, Runnable, RunningTask, Schedule};
pub use state::{Outcome, Phase};
pub use waker::{is_waker_of, only_queues};

#[cfg(test)]
mod tests;
