//! A runtime's timers, as its schedulers see them.
//!
//! Each worker has [`WorkerTimers`] of its own, in its core: arming, re-arming and taking out a timer there
//! takes no lock. Threads that sit nowhere (in `block_on` of a multi-thread runtime, in `block_in_place`,
//! or strangers) use the **common** timers, behind a lock, which are served by whichever worker waits in
//! the driver or looks at it.
//!
//! A worker fires what is due ([`TimeHandle::serve`]) between polls now and then, and before it sleeps;
//! it sleeps no longer than until its own next timer and, in the driver, the next common one. Where timers
//! are dense, one worker wakes up for all ([`LentTimers`]).
//!
//! In a build without the `time` feature all of this is empty.

#[cfg(feature = "time")]
mod external;
#[cfg(feature = "time")]
mod lent;
#[cfg(feature = "time")]
mod with_time;
#[cfg(feature = "time")]
pub(crate) use lent::LentTimers;
#[cfg(feature = "time")]
pub(crate) use with_time::{
    ClockHold, PreciseThread, ShutDown, TimeHandle, Until, WorkerTimerInbox, WorkerTimers,
};

#[cfg(not(feature = "time"))]
mod without_time;
#[cfg(not(feature = "time"))]
pub(crate) use without_time::{
    ClockHold, LentTimers, PreciseThread, TimeHandle, Until, WorkerTimerInbox, WorkerTimers,
};

/// Timers that a worker has fired just now, and had somebody to wake.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fired {
    pub(crate) count: usize,
    now_ns: u64,
}

impl Fired {
    /// These and those that fired a moment before.
    pub(crate) fn and(self, before: Fired) -> Fired {
        Fired { count: self.count + before.count, now_ns: self.now_ns.max(before.now_ns) }
    }
}

/// What a runtime was told about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeConfig {
    pub(crate) is_enabled: bool,
    /// Whether the clock may be paused.
    pub(crate) can_pause: bool,
    pub(crate) start_paused: bool,
}
