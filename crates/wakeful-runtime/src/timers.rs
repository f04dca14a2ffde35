//! A runtime's timers, as its schedulers see them.
//!
//! Each worker has [`WorkerTimers`] in its core, so arming, re-arming and removing a timer takes no
//! lock. Threads that run no worker (in `block_on` of a multi-thread runtime, in `block_in_place`,
//! or outside the runtime) use the **external** timers, which are behind a lock. Every worker that
//! waits in the driver, or checks it during maintenance, serves the external timers too.
//!
//! A worker fires due timers ([`TimeHandle::serve`]) during maintenance and before it parks. It
//! parks until its own next timer at most, and in the driver until the next external timer at most
//! ([`Until`]).
//!
//! | file | contents |
//! |---|---|
//! | `with_time.rs` | a runtime's clock, a worker's timers, and how long it may park |
//! | `external.rs` | the external timers, and the protocol with the worker in the driver |
//! | `without_time.rs` | the same types, empty, in a build without the `time` feature |

#[cfg(feature = "time")]
mod external;
#[cfg(feature = "time")]
mod with_time;
#[cfg(feature = "time")]
pub(crate) use with_time::{
    ClockHold, PreciseThread, ShutDown, TimeHandle, Until, WorkerTimerInbox, WorkerTimers,
};

#[cfg(not(feature = "time"))]
mod without_time;
#[cfg(not(feature = "time"))]
pub(crate) use without_time::{
    ClockHold, PreciseThread, TimeHandle, Until, WorkerTimerInbox, WorkerTimers,
};

/// The number of timers that a worker has just fired, not counting those without a waker.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fired {
    pub(crate) count: usize,
    #[cfg(feature = "time")]
    now_ns: u64,
}

/// What the `Builder` says about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeConfig {
    pub(crate) is_enabled: bool,
    /// Whether the clock may be paused.
    pub(crate) can_pause: bool,
    pub(crate) start_paused: bool,
}
