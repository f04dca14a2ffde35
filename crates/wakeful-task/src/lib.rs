//! The task: a future, its state, and the handles that reach it.
//!
//! One allocation holds it all:
//!
//! ```text
//!   ┌──────────────── Header, 72 bytes ────────────────┬──── Slot ────┐
//!   │ state  vtable  link  owned links  home  id       │ the future,  │
//!   │ spawn location  join waker                       │ later its    │
//!   │                                                  │ output       │
//!   └──────────────────────────────────────────────────┴──────────────┘
//! ```
//!
//! A task is reached through references named by their holder: the scheduler's ([`Runnable`] while in
//! a queue, [`RunningTask`] during a poll, [`FinishingTask`] and [`CompletedTask`] at its end), the [`JoinHandle`], the
//! [`AbortHandle`]s, and the wakers. Which of them may do what is settled by the state word alone; all
//! its transitions are in `state.rs`.
//!
//! A scheduler is known only as [`Schedule`]: a *home* that takes queue entries. It learns from
//! [`Runnable::run`] what became of a poll, and decides itself where a task goes next.
//!
//! This crate is an implementation detail of `wakeful`; its API follows no version promise.
//!
//! # Who may touch which field
//!
//! | field | who, when |
//! |---|---|
//! | `state` | anybody with a reference, through the transitions |
//! | `vtable`, `id`, `spawned_at` | written before the first reference is given out, then read by anybody |
//! | `link` | the holder of the queue entry while scheduled; the polling side while running; the scheduler's reference once complete |
//! | `owned` | the home's list, under the home's own exclusion |
//! | `home` | the holder of the task's turn |
//! | `join_waker` | the join handle while `JOIN_WAKER` is clear; read by the completing side while set; the last reference |
//! | slot | the future: the holder of the task's turn. The output: the side that completes if there is no join handle then, else the join handle |

mod abort;
mod cell;
mod current;
mod error;
mod header;
mod id;
mod join;
mod join_slot;
mod refs;
mod state;
mod wait;
mod waker;

pub use abort::AbortHandle;
pub use cell::new_task;
pub use current::{id, note_wait, try_id};
pub use error::JoinError;
pub use header::{Header, OwnedLink, TaskRef};
pub use id::Id;
pub use join::{JoinHandle, set_join_waker};
pub use refs::{CompletedTask, FinishingTask, Polled, Retained, Runnable, RunningTask, Schedule};
pub use state::Outcome;
pub use wait::{WaitKind, WaitsFor};
pub use waker::{is_waker_of, only_queues};

#[cfg(test)]
mod tests;
