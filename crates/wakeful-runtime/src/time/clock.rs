//! The clock in the hands of a test.

use crate::runtime::current_or_panic;
use crate::task::yield_now;
use std::time::Duration;
use wakeful_reactor::time::{Clock, ClockError};

/// Stops the clock of the current runtime, which must be a current-thread one.
///
/// From then on it moves only by [`advance`], and by itself when the runtime has nothing else to do: then
/// it jumps to the next timer. So a test that sleeps for hours takes no time. `Instant::now` of this
/// module shows the paused time; that of `std` does not.
///
/// Deadlines are rounded up to milliseconds since the runtime was made.
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
/// Outside of a runtime, in one with several threads, and if the clock is paused already.
#[track_caller]
pub fn pause() {
    with_clock("time::pause", Clock::pause);
}

/// Lets a paused clock run again, from where it stands.
///
/// # Panics
/// Outside of a runtime, and if the clock is running.
///
/// ```
/// use wakeful::time::{self, Duration, Instant};
///
/// # wakeful::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// time::advance(Duration::from_secs(60)).await;
/// time::resume();
/// let began = Instant::now();
/// time::sleep(Duration::from_millis(2)).await; // takes that long
/// assert!(began.elapsed() >= Duration::from_millis(2));
/// # });
/// ```
#[track_caller]
pub fn resume() {
    with_clock("time::resume", Clock::resume);
}

/// Moves a paused clock on, and lets the timers that are due by then fire.
///
/// It gives way once: tasks whose sleeps are over have been woken when it returns, and may have run or
/// not. Timers in between see the whole jump at once.
///
/// # Panics
/// Outside of a runtime, and if the clock is running.
///
/// ```
/// use wakeful::time::{self, Duration};
///
/// # wakeful::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// let lease = wakeful::spawn(time::timeout(Duration::from_secs(10), std::future::pending::<()>()));
/// wakeful::task::yield_now().await; // it waits now
///
/// time::advance(Duration::from_secs(9)).await;
/// assert!(!lease.is_finished());
/// time::advance(Duration::from_secs(1)).await;
/// assert!(lease.await.unwrap().is_err());
/// # });
/// ```
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
