//! Timers: [`sleep`], [`timeout`], [`interval`], and the clock that tests can pause.
//!
//! ```
//! use std::time::Duration;
//! use wakeful::runtime::Runtime;
//! use wakeful::time;
//!
//! let runtime = Runtime::new().unwrap();
//! runtime.block_on(async {
//!     let began = time::Instant::now();
//!     time::sleep(Duration::from_millis(5)).await;
//!     assert!(began.elapsed() >= Duration::from_millis(5));
//!
//!     let never = std::future::pending::<()>();
//!     assert!(time::timeout(Duration::from_millis(5), never).await.is_err());
//! });
//! ```
//!
//! | to | use |
//! |---|---|
//! | wait for a time, or until an instant | [`sleep`], [`sleep_until`] |
//! | give up on a future after a time | [`timeout`], [`timeout_at`] |
//! | do something every period | [`interval`], [`interval_at`]; [`MissedTickBehavior`] |
//! | postpone a deadline again and again | one pinned [`Sleep`] and [`Sleep::reset`] |
//!
//! A sleep never ends early. How late it ends depends on the load of the machine and of the
//! runtime. Deadlines are not rounded to milliseconds, unless the clock has been paused.
//!
//! A timer belongs to the runtime in whose context it was created, which must have timers enabled
//! (`Builder::enable_time` or `enable_all`).
//!
//! To stop waiting when something else happens first, use `select!`. For periodic work, use
//! [`interval`]. Tests can pause the clock (feature `test-util`): it then jumps from timer to
//! timer, and a sleep of hours takes no time.

#[cfg(feature = "test-util")]
mod clock;
pub mod error;
mod instant;
mod interval;
mod sleep;
mod timeout;

#[cfg(feature = "test-util")]
pub use clock::{advance, pause, resume};
pub use instant::Instant;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
pub use std::time::Duration;
pub use timeout::{Timeout, timeout, timeout_at};

/// Returns `duration`, limited to thirty years, since some clocks overflow when more is added.
fn bounded(duration: Duration) -> Duration {
    const THIRTY_YEARS: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    duration.min(THIRTY_YEARS)
}
