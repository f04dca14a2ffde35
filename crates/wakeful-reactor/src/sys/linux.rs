//! Linux: epoll, eventfd, timerfd.

mod beat_timers;
mod bell;
mod descriptors;
mod epoll;
mod slack;

pub use beat_timers::BeatTimers;
pub(crate) use bell::Bell;
pub(crate) use epoll::{Events, Poller};
pub use slack::PreciseWaits;
