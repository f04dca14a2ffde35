//! `pause`, `advance` and `resume`: control of a runtime's clock by tests.

use crate::runtime::current_or_panic;
use crate::task::yield_now;
use std::time::Duration;
use wakeful_reactor::time::{Clock, ClockError};

/// Pauses the clock of the current runtime, which must be a current-thread runtime.
///
/// The clock then moves only in two cases: [`advance`] moves it, and when the runtime has nothing
/// else to do, it jumps to the next timer. A test that sleeps for hours thus takes no time. The
/// clock does not jump while a closure of `spawn_blocking` is queued or running.
///
/// [`Instant::now`](super::Instant::now) of this module returns the paused time; that of `std` does
/// not. Once the clock has been paused, deadlines are rounded up to whole milliseconds since the
/// runtime was built.
///
/// ```
/// use wakeful::runtime::Builder;
/// use wakeful::time::{self, Duration, Instant};
///
/// let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
/// runtime.block_on(async {
///     let began = Instant::now();
///     time::sleep(Duration::from_secs(3600)).await;
///     assert_eq!(began.elapsed(), Duration::from_secs(3600));
/// });
/// ```
///
/// # Panics
/// Panics outside a runtime, on a multi-thread runtime, and if the clock is paused already.
#[track_caller]
#[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
pub fn pause() {
    with_clock("time::pause", Clock::pause);
}

/// Resumes a paused clock from its current time.
///
/// # Panics
/// Panics outside a runtime, and if the clock is not paused.
///
/// # Examples
///
/// ```
/// use wakeful::time::{self, Duration, Instant};
///
/// # let mut builder = wakeful::runtime::Builder::new_current_thread();
/// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
/// time::advance(Duration::from_secs(60)).await;
/// time::resume();
/// let began = Instant::now();
/// time::sleep(Duration::from_millis(2)).await; // takes 2 ms of real time
/// assert!(began.elapsed() >= Duration::from_millis(2));
/// # });
/// ```
#[track_caller]
#[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
pub fn resume() {
    with_clock("time::resume", Clock::resume);
}

/// Advances a paused clock by `duration` and fires the timers that are due.
///
/// The clock moves in one step, not from timer to timer. Then the function yields once: when it
/// returns, tasks whose timers are due have been woken, but have not necessarily run.
///
/// # Panics
/// Panics outside a runtime, and if the clock is not paused.
///
/// # Examples
///
/// ```
/// use wakeful::time::{self, Duration};
///
/// # let mut builder = wakeful::runtime::Builder::new_current_thread();
/// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
/// let never = std::future::pending::<()>();
/// let lease = wakeful::spawn(time::timeout(Duration::from_secs(10), never));
/// wakeful::task::yield_now().await; // the task has started to wait
///
/// time::advance(Duration::from_secs(9)).await;
/// assert!(!lease.is_finished());
/// time::advance(Duration::from_secs(1)).await;
/// assert!(lease.await.unwrap().is_err());
/// # });
/// ```
#[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
pub async fn advance(duration: Duration) {
    with_clock("time::advance", |clock| clock.advance(duration));
    yield_now().await;
}

#[track_caller]
fn with_clock(call: &str, f: impl FnOnce(&Clock) -> Result<(), ClockError>) {
    let done = current_or_panic(call, |scheduler| f(&scheduler.info().time.clock));
    let why = match done {
        Ok(()) => return,
        Err(ClockError::CannotPause) => {
            "this runtime has several threads, and `time::pause` requires the `current_thread` \
             runtime; use `Builder::new_current_thread`"
        }
        Err(ClockError::IsPaused) => {
            "time is already frozen; call it once, and not in a runtime that was built with \
             `start_paused`"
        }
        Err(ClockError::IsRunning) => "time is not frozen; call `time::pause` first",
    };
    panic!("`{call}` called, but {why}");
}
