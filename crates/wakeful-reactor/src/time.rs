//! Time: the clock, and the timers that wait for it.
//!
//! ```text
//!   Sleep ──ArmedTimer──▶ TimerEntry ◀── Wheel     one worker's [`Timers`]
//!     │                       │
//!     └─ dropped elsewhere ───┴──▶ [`TimerInbox`] ──▶ its owner frees it
//! ```
//!
//! Each worker has timers of its own, which it arms, fires and takes out without a lock. A sleeper that
//! is polled or dropped elsewhere uses the entry's state word (`state.rs` has the protocol) and never
//! waits for the owner.

mod clock;
mod coalesce;
mod entry;
mod inbox;
mod state;
mod timers;
mod wheel;

pub use crate::sys::PreciseWaits;
pub use clock::{Clock, ClockError, is_any_clock_changed};
pub use coalesce::{FireRate, NextWake, TICK_MAX_NS};
pub use entry::{ArmedTimer, LeftEntry, LeftTimer, OwnerId};
pub use inbox::TimerInbox;
pub use timers::{Looked, Timers};
pub use wheel::{Popped, TimerNode, Wheel};
