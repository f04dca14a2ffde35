//! The BSDs and Apple's systems: kqueue.

mod beat_timers;
mod bell;
mod kqueue;
mod slack;

pub use beat_timers::BeatTimers;
pub(crate) use bell::Bell;
pub(crate) use kqueue::{Events, Poller};
pub use slack::PreciseWaits;
