//! Linux: epoll, eventfd, timerfd.

mod bell;
mod descriptors;
mod epoll;
mod slack;
mod tick_timers;

pub(crate) use bell::Bell;
pub(crate) use epoll::{Events, Poller};
pub use slack::PreciseWaits;
pub use tick_timers::TickTimers;
