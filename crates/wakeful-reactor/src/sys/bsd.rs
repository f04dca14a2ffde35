//! The BSDs and Apple's systems: kqueue.

mod event_notifier;
mod kqueue;
mod slack;
mod tick_timers;

pub(crate) use event_notifier::EventNotifier;
pub(crate) use kqueue::{Events, Poller};
pub use slack::PreciseWaits;
pub use tick_timers::TickTimers;
