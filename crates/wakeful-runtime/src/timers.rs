//! A runtime's timers, as its schedulers see them.
//!
//! Each worker has [`SeatTimers`] of its own, in its core: arming, re-arming and taking out a timer there
//! takes no lock. Threads that sit nowhere (in `block_on` of a multi-thread runtime, in `block_in_place`,
//! or strangers) use the **common** timers, behind a lock, which are served by whichever worker waits in
//! the driver or looks at it.
//!
//! A worker fires what is due ([`TimeHandle::serve`]) between polls now and then, and before it sleeps;
//! it sleeps no longer than until its own next timer and, in the driver, the next common one.
//!
//! In a build without the `time` feature all of this is empty.

#[cfg(feature = "time")]
mod common;
#[cfg(feature = "time")]
mod with_time;
#[cfg(feature = "time")]
pub(crate) use with_time::{ClockHold, SeatInbox, SeatTimers, ShutDown, TimeHandle, Until};

#[cfg(not(feature = "time"))]
mod without_time;
#[cfg(not(feature = "time"))]
pub(crate) use without_time::{ClockHold, SeatInbox, SeatTimers, TimeHandle, Until};

/// What a runtime was told about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeConfig {
    pub(crate) is_enabled: bool,
    /// Whether the clock may be paused.
    pub(crate) can_pause: bool,
    pub(crate) start_paused: bool,
}
