//! The one platform switch: how readiness is asked of the kernel.
//!
//! Only Linux is tested. That the others compile is all that is known of them (CONTRIBUTING.md says how to check it).

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
