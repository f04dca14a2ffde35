//! The BSDs and Apple's systems: kqueue.

mod bell;
mod kqueue;
mod slack;
mod tick_timers;

pub(crate) use bell::Bell;
pub(crate) use kqueue::{Events, Poller};
pub use slack::PreciseWaits;
pub use tick_timers::TickTimers;
