//! Linux: epoll, eventfd, timerfd.

mod descriptors;
mod epoll;
mod event_notifier;
mod slack;
mod tick_timers;

pub(crate) use epoll::{Events, Poller};
pub(crate) use event_notifier::EventNotifier;
pub use slack::PreciseWaits;
pub use tick_timers::TickTimers;
