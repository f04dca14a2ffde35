//! Time: the clock, and the timers that wait for it.
//!
//! ```text
//!   Sleep ──ArmedTimer──▶ TimerEntry ◀── Wheel     one worker's [`Timers`]
//!     │                       │
//!     └─ dropped elsewhere ───┴──▶ [`TimerInbox`] ──▶ its owner frees it
//! ```
//!
//! Each worker has its own timers, which it arms, fires and disarms without a lock. A sleeper that
//! is polled or dropped on another thread uses the entry's state word and never waits for the
//! owner.
//!
//! | file | contents |
//! |---|---|
//! | `clock.rs` | [`Clock`]: real or paused |
//! | `timers.rs` | [`Timers`]: the owner's side |
//! | `entry.rs`, `state.rs` | an entry shared by sleeper and owner; its state word |
//! | `inbox.rs` | [`TimerInbox`]: entries that sleepers on other threads have left |
//! | `wheel.rs` | [`Wheel`]: timers ordered by deadline |
//! | `coalesce.rs` | when to wake up: at a deadline or on a common tick |

mod clock;
mod coalesce;
mod entry;
mod inbox;
mod state;
mod timers;
mod wheel;

pub use crate::sys::PreciseWaits;
pub use clock::{Clock, ClockError, is_any_clock_changed};
pub use coalesce::{FireRate, NextWake};
pub use entry::{ArmedTimer, LeftEntry, LeftTimer, OwnerId};
pub use inbox::TimerInbox;
pub use timers::{Looked, Timers};
pub use wheel::{Popped, TimerNode, Wheel};
