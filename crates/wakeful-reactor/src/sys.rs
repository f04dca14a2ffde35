//! The platform switch: epoll on Linux, kqueue elsewhere.
//!
//! Only Linux is tested. The other platforms compile; CONTRIBUTING.md says how to check that.

mod errno;
pub(crate) use errno::KeepErrno;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(any(target_os = "linux", target_os = "android"))]
use linux as platform;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod bsd;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use bsd as platform;

pub(crate) use platform::{EventNotifier, Events, Poller};
pub use platform::{PreciseWaits, TickTimers};
