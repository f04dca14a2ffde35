//! Waiting for time to pass: [`sleep`], [`timeout`], [`interval`].
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
//! A sleep never ends early. How late it ends depends on what else the machine and the runtime have to
//! do; on an idle machine that is tens of microseconds. There is no rounding to milliseconds, unless the
//! clock is paused, for tests.
//!
//! A sleep belongs to the runtime in whose context it was made, which must have time enabled
//! (`Builder::enable_time` or `enable_all`).
//!
//! To stop waiting when something else happens first, wait for both with `select!`; to do something again
//! and again, take an [`interval`]. Tests need not wait at all: with the clock paused (feature `test-util`)
//! hours pass in no time.

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

/// `duration`, but no more than thirty years: some clocks cannot add more.
fn bounded(duration: Duration) -> Duration {
    const THIRTY_YEARS: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    duration.min(THIRTY_YEARS)
}
