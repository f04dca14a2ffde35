//! `Instant`: a point in time on the runtime's clock.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::{self, Duration};

/// A point in time on the runtime's clock, as [`sleep_until`](super::sleep_until) takes it.
///
/// It wraps a `std::time::Instant`; the difference is that [`now`](Self::now) reads the clock of
/// the current runtime, which tests may have paused. The difference of two instants saturates at
/// zero instead of panicking.
///
/// ```
/// use wakeful::time::{Duration, Instant};
///
/// let now = Instant::now();
/// let later = now + Duration::from_millis(5);
/// assert_eq!(later - now, Duration::from_millis(5));
/// assert_eq!(now.duration_since(later), Duration::ZERO);
/// assert_eq!(now.checked_duration_since(later), None);
/// ```
#[derive(Clone, Copy, Eq, PartialEq, PartialOrd, Ord, Hash)]
pub struct Instant(time::Instant);

impl Instant {
    /// Returns the current time of the current runtime's clock, or of the system outside a runtime.
    pub fn now() -> Instant {
        Instant(now())
    }

    /// Converts from a `std::time::Instant`.
    pub fn from_std(std: time::Instant) -> Instant {
        Instant(std)
    }

    /// Converts into a `std::time::Instant`.
    pub fn into_std(self) -> time::Instant {
        self.0
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time since `earlier`, or `None` if `earlier` is later.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time since this instant, or zero if it is in the future.
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// Returns the instant `duration` later, or `None` if it cannot be represented.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// Returns the instant `duration` earlier, or `None` if it cannot be represented.
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_sub(duration).map(Instant)
    }
}

#[cfg(not(feature = "test-util"))]
fn now() -> time::Instant {
    time::Instant::now()
}

#[cfg(feature = "test-util")]
fn now() -> time::Instant {
    let paused = wakeful_reactor::time::is_any_clock_changed()
        .then(crate::scheduler::timer::current_now)
        .flatten();
    paused.unwrap_or_else(time::Instant::now)
}

impl From<time::Instant> for Instant {
    fn from(time: time::Instant) -> Instant {
        Instant(time)
    }
}

impl From<Instant> for time::Instant {
    fn from(time: Instant) -> time::Instant {
        time.0
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, other: Duration) -> Instant {
        Instant(self.0 + other)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        self.0 += rhs;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, rhs: Instant) -> Duration {
        self.duration_since(rhs)
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, rhs: Duration) -> Instant {
        Instant(self.0 - rhs)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, rhs: Duration) {
        self.0 -= rhs;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
