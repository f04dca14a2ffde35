//! `Interval`: ticks with a fixed period.

use super::sleep::FAR_AHEAD;
use super::{Instant, Sleep, bounded, sleep_until};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The lateness up to which a tick does not count as missed; the same as Tokio's.
const MISSED_AFTER: Duration = Duration::from_millis(5);

/// Creates an interval that ticks immediately, and then once every `period`.
///
/// Unlike a loop around [`sleep`](super::sleep), it keeps its pace however long the work between
/// two ticks takes. [`MissedTickBehavior`] sets what happens when the work takes longer than a
/// period. Dropping the interval stops it.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::time::{Duration, interval};
///
/// let mut interval = interval(Duration::from_millis(1));
/// let first = interval.tick().await;
/// let second = interval.tick().await;
/// assert_eq!(second - first, Duration::from_millis(1));
/// # });
/// ```
///
/// # Panics
/// Panics if `period` is zero, and outside a runtime with timers enabled.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Creates an interval that ticks first at `start`, and then once every `period`.
///
/// # Panics
/// Panics if `period` is zero, and outside a runtime with timers enabled.
///
/// # Examples
///
/// ```
/// use wakeful::time::{Duration, Instant, interval_at};
///
/// # let mut builder = wakeful::runtime::Builder::new_current_thread();
/// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
/// let began = Instant::now();
/// let minute = Duration::from_secs(60);
/// let mut every = interval_at(began + minute, minute); // not at once
/// every.tick().await;
/// assert_eq!(began.elapsed(), minute);
/// every.tick().await;
/// assert_eq!(began.elapsed(), 2 * minute);
/// # });
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "`period` must be non-zero.");
    Interval {
        delay: Box::pin(sleep_until(start)),
        period: bounded(period),
        missed_tick_behavior: MissedTickBehavior::default(),
    }
}

/// When an [`Interval`] ticks after it has missed a tick.
///
/// A tick is missed if [`Interval::tick`] is not polled until more than five milliseconds after the
/// tick is due. In the table, the period is 10 ms, and the task was busy from the tick at 10 ms
/// until 45 ms.
///
/// | behaviour | ticks at |
/// |---|---|
/// | `Burst` | 0, 10, 45, 45, 45, 50, 60 |
/// | `Delay` | 0, 10, 45, 55, 65 |
/// | `Skip` | 0, 10, 45, 50, 60 |
///
/// ```
/// use wakeful::time::{self, Duration, Instant, MissedTickBehavior, interval};
///
/// # let mut builder = wakeful::runtime::Builder::new_current_thread();
/// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
/// let began = Instant::now();
/// let mut every = interval(Duration::from_millis(10));
/// every.set_missed_tick_behavior(MissedTickBehavior::Skip);
/// every.tick().await;
/// every.tick().await;
/// time::advance(Duration::from_millis(35)).await; // busy from 10 to 45
///
/// let mut ticks = Vec::new();
/// for _ in 0..3 {
///     every.tick().await;
///     ticks.push(began.elapsed().as_millis());
/// }
/// assert_eq!(ticks, [45, 50, 60]);
/// # });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissedTickBehavior {
    /// Ticks without delay until all missed ticks have been made up for.
    #[default]
    Burst,
    /// Ticks one period after the late tick, and continues from there.
    Delay,
    /// Skips the missed ticks and ticks at the next multiple of the period.
    Skip,
}

impl MissedTickBehavior {
    /// Returns the tick after the one that was due at `tick` and came only `now`.
    fn after_missed(self, tick: Instant, now: Instant, period: Duration) -> Instant {
        match self {
            MissedTickBehavior::Burst => tick + period,
            MissedTickBehavior::Delay => now + period,
            MissedTickBehavior::Skip => {
                let into_period = (now - tick).as_nanos() % period.as_nanos();
                // Fits: it is less than a period, which `bounded` limits to thirty years.
                let into_period = Duration::from_nanos(into_period as u64);
                now + (period - into_period)
            }
        }
    }
}

/// A sequence of ticks, returned by [`interval`] and [`interval_at`].
///
/// The period is the time between two ticks, including the work between them:
///
/// ```
/// use wakeful::time::{Duration, Instant, interval, sleep};
///
/// # let mut builder = wakeful::runtime::Builder::new_current_thread();
/// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
/// let began = Instant::now();
/// let mut every = interval(Duration::from_secs(10));
/// for _ in 0..3 {
///     every.tick().await; // at 0, 10 and 20
///     sleep(Duration::from_secs(4)).await;
/// }
/// assert_eq!(began.elapsed(), Duration::from_secs(24));
/// # });
/// ```
#[derive(Debug)]
pub struct Interval {
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed_tick_behavior: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick and returns the time at which it was due.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no tick is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::sync::oneshot;
    /// use wakeful::time::{Duration, interval, sleep};
    ///
    /// # let mut builder = wakeful::runtime::Builder::new_current_thread();
    /// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
    /// let (tx, mut done) = oneshot::channel::<()>();
    /// wakeful::spawn(async move {
    ///     sleep(Duration::from_millis(2500)).await;
    ///     drop(tx);
    /// });
    ///
    /// let mut every = interval(Duration::from_secs(1));
    /// let mut ticks = 0;
    /// loop {
    ///     wakeful::select! {
    ///         _ = every.tick() => ticks += 1, // at 0, 1 and 2 seconds
    ///         _ = &mut done => break,
    ///     }
    /// }
    /// assert_eq!(ticks, 3);
    /// # });
    /// ```
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls for the next tick. See [`tick`](Self::tick).
    ///
    /// If it returns `Pending`, the waker of `cx` is woken when the tick is due; only the waker of
    /// the last call is kept.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.delay.as_mut().poll(cx));
        let tick = self.delay.deadline();
        let now = Instant::now();
        let next = if now > tick + MISSED_AFTER {
            self.missed_tick_behavior.after_missed(tick, now, self.period)
        } else {
            tick + self.period
        };
        self.delay.as_mut().reset_lazily(next, next - now >= FAR_AHEAD);
        Poll::Ready(tick)
    }

    /// Resets the interval to tick next one period from now.
    ///
    /// ```
    /// use wakeful::time::{self, Duration, Instant, interval};
    ///
    /// # let mut builder = wakeful::runtime::Builder::new_current_thread();
    /// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
    /// let mut idle = interval(Duration::from_secs(10));
    /// idle.tick().await;
    /// time::advance(Duration::from_secs(7)).await;
    /// idle.reset(); // something happened
    /// let began = Instant::now();
    /// idle.tick().await;
    /// assert_eq!(began.elapsed(), Duration::from_secs(10));
    /// # });
    /// ```
    pub fn reset(&mut self) {
        self.reset_at(Instant::now() + self.period);
    }

    /// Resets the interval to tick immediately.
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// Resets the interval to tick next after the given time.
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now() + bounded(after));
    }

    /// Resets the interval to tick next at `deadline`, and then once every period.
    ///
    /// ```
    /// use wakeful::time::{Duration, Instant, interval};
    ///
    /// # let mut builder = wakeful::runtime::Builder::new_current_thread();
    /// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
    /// let began = Instant::now();
    /// let mut every = interval(Duration::from_secs(10));
    /// every.reset_at(began + Duration::from_secs(3));
    /// every.tick().await;
    /// every.tick().await; // a period after that
    /// assert_eq!(began.elapsed(), Duration::from_secs(13));
    /// # });
    /// ```
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.as_mut().reset(deadline);
    }

    /// Returns how the interval handles missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed_tick_behavior
    }

    /// Sets how the interval handles missed ticks. The default is [`MissedTickBehavior::Burst`].
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed_tick_behavior = behavior;
    }

    /// Returns the time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }
}
