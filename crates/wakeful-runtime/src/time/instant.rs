//! A point in time, as the runtime's clock sees it.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::{self, Duration};

/// A point in time, for use with [`sleep_until`](super::sleep_until) and its kind.
///
/// It is a `std::time::Instant`, but `now` asks the clock of the runtime, which tests may have paused.
/// Where subtracting would leave less than nothing it leaves nothing, and does not panic.
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
    /// What time it is.
    pub fn now() -> Instant {
        Instant(now())
    }

    /// The same point in time.
    pub fn from_std(std: time::Instant) -> Instant {
        Instant(std)
    }

    /// The same point in time.
    pub fn into_std(self) -> time::Instant {
        self.0
    }

    /// How long it is since `earlier`; nothing if that is later.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// How long it is since `earlier`; none if that is later.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// How long it is since `earlier`; nothing if that is later.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// How long it is since then.
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// The point in time that much later, if it can be represented.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// The point in time that much earlier, if it can be represented.
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
