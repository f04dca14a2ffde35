//! The one platform switch: how readiness is asked of the kernel.

#[cfg(target_os = "linux")]
mod beat_timers;
#[cfg(target_os = "linux")]
mod epoll;
#[cfg(target_os = "linux")]
mod slack;
#[cfg(target_os = "linux")]
pub use beat_timers::BeatTimers;
#[cfg(target_os = "linux")]
pub(crate) use epoll::{Events, Poller};
#[cfg(target_os = "linux")]
pub use slack::PreciseWaits;
