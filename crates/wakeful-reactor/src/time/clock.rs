//! A runtime's clock: the machine's, or one that is paused until it is moved.
//!
//! Times are nanoseconds since the clock was created. On the real clock deadlines are exact. Once a
//! clock has been paused, deadlines are rounded up to milliseconds, and the clock auto-advances by
//! whole milliseconds, as Tokio's does. Tests rely on that.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};
use wakeful_base::sync::Mutex;

const MILLI_NS: u64 = 1_000_000;

/// The clock of a runtime.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    can_pause: bool,
    /// Whether the clock has ever been paused, so that it may differ from the machine's.
    is_changed: AtomicBool,
    state: Mutex<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    /// The time when the clock was last paused or resumed.
    base: Instant,
    /// When it was last resumed; `None` while it is paused.
    running_since: Option<Instant>,
    /// While this is not zero, a paused clock does not auto-advance.
    holds: usize,
}

/// Why an operation on a clock failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockError {
    /// The runtime has several threads.
    CannotPause,
    /// The clock is already paused.
    IsPaused,
    /// The clock is running.
    IsRunning,
}

/// Whether any clock has ever been paused. If not, all clocks show the machine's time.
static ANY_CHANGED: AtomicBool = AtomicBool::new(false);

/// Returns whether any clock of this process has ever been paused.
#[inline]
pub fn is_any_clock_changed() -> bool {
    ANY_CHANGED.load(Acquire)
}

impl Clock {
    /// Creates a running clock. `can_pause` says whether it may ever be paused.
    pub fn new(can_pause: bool) -> Clock {
        let now = Instant::now();
        Clock {
            started: now,
            can_pause,
            is_changed: AtomicBool::new(false),
            state: Mutex::new(ClockState { base: now, running_since: Some(now), holds: 0 }),
        }
    }

    /// Creates a paused clock, at the beginning of its first millisecond.
    pub fn new_paused() -> Clock {
        let mut clock = Clock::new(true);
        clock.state.get_mut().running_since = None;
        clock.note_change();
        clock
    }

    fn note_change(&self) {
        self.is_changed.store(true, Release);
        ANY_CHANGED.store(true, Release);
    }

    /// Returns whether the clock may ever be paused.
    pub fn can_pause(&self) -> bool {
        self.can_pause
    }

    /// Returns whether the clock has ever been paused, so that it may differ from the machine's.
    pub fn is_changed(&self) -> bool {
        self.is_changed.load(Acquire)
    }

    /// Returns the current time.
    #[inline]
    pub fn now(&self) -> Instant {
        if self.is_changed() { self.state.lock().now() } else { Instant::now() }
    }

    /// Returns the current time in nanoseconds since the clock was created.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.since_start_ns(self.now())
    }

    /// Returns the time of a timer that is due at `deadline`.
    #[inline]
    pub fn deadline_ns(&self, deadline: Instant) -> u64 {
        let deadline_ns = self.since_start_ns(deadline);
        if self.is_changed() {
            deadline_ns.checked_next_multiple_of(MILLI_NS).unwrap_or(u64::MAX)
        } else {
            deadline_ns
        }
    }

    fn since_start_ns(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.started);
        match since.as_secs().checked_mul(1_000_000_000) {
            Some(ns) => ns.saturating_add(u64::from(since.subsec_nanos())),
            None => u64::MAX,
        }
    }

    /// Returns the time until `deadline_ns`.
    ///
    /// Returns `None` for the largest deadline, which never comes.
    pub fn time_until(&self, deadline_ns: u64) -> Option<Duration> {
        let left_ns = || deadline_ns.saturating_sub(self.now_ns());
        (deadline_ns != u64::MAX).then(|| Duration::from_nanos(left_ns()))
    }

    /// Pauses the clock.
    pub fn pause(&self) -> Result<(), ClockError> {
        if !self.can_pause {
            return Err(ClockError::CannotPause);
        }
        let mut state = self.state.lock();
        if state.running_since.is_none() {
            return Err(ClockError::IsPaused);
        }
        state.base = state.now();
        state.running_since = None;
        self.note_change();
        Ok(())
    }

    /// Resumes the clock from its current time.
    pub fn resume(&self) -> Result<(), ClockError> {
        let mut state = self.state.lock();
        if state.running_since.is_some() {
            return Err(ClockError::IsRunning);
        }
        state.running_since = Some(Instant::now());
        Ok(())
    }

    /// Advances a paused clock.
    pub fn advance(&self, by: Duration) -> Result<(), ClockError> {
        let mut state = self.state.lock();
        if state.running_since.is_some() {
            return Err(ClockError::IsRunning);
        }
        state.base += by;
        Ok(())
    }

    /// Returns whether the clock is paused and may auto-advance.
    pub fn moves_by_itself(&self) -> bool {
        self.is_changed() && self.state.lock().moves_by_itself()
    }

    /// Moves the clock to the millisecond at or after `next_ns`, if it may auto-advance.
    pub fn skip_to(&self, next_ns: u64) {
        let mut state = self.state.lock();
        if !state.moves_by_itself() {
            return;
        }
        let now_ms = self.since_start_ns(state.base) / MILLI_NS;
        let skipped_ms = next_ns.div_ceil(MILLI_NS).saturating_sub(now_ms);
        // A time that cannot be represented never comes.
        if let Some(base) = state.base.checked_add(Duration::from_millis(skipped_ms)) {
            state.base = base;
        }
    }

    /// Keeps the clock from auto-advancing until [`release`](Self::release) is called.
    pub fn hold(&self) {
        self.state.lock().holds += 1;
    }

    /// Undoes one [`hold`](Self::hold).
    pub fn release(&self) {
        self.state.lock().holds -= 1;
    }
}

impl ClockState {
    fn now(&self) -> Instant {
        match self.running_since {
            None => self.base,
            // A test may have advanced the clock to the largest time. It stays there.
            Some(since) => self.base.checked_add(since.elapsed()).unwrap_or(self.base),
        }
    }

    fn moves_by_itself(&self) -> bool {
        self.running_since.is_none() && self.holds == 0
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_paused_clock_moves_on_request_and_by_whole_milliseconds() {
        let clock = Clock::new(true);
        let exact = Instant::now() + Duration::from_nanos(1_500_001);
        assert_eq!(clock.deadline_ns(exact) % 1000, clock.since_start_ns(exact) % 1000);
        clock.pause().unwrap();
        assert_eq!(clock.pause(), Err(ClockError::IsPaused));
        let before = clock.now();
        assert_eq!(clock.now(), before);
        clock.advance(Duration::from_micros(1_700)).unwrap();
        assert_eq!(clock.now() - before, Duration::from_micros(1_700));
        assert_eq!(clock.deadline_ns(clock.now()) % MILLI_NS, 0);
        let before = clock.now();
        clock.skip_to(clock.deadline_ns(before + Duration::from_millis(10)));
        let skipped = clock.now() - before;
        assert!(skipped == Duration::from_millis(10) || skipped == Duration::from_millis(11));
        clock.resume().unwrap();
        assert_eq!(clock.resume(), Err(ClockError::IsRunning));
        assert_eq!(clock.advance(Duration::ZERO), Err(ClockError::IsRunning));
        let before = clock.now();
        std::thread::sleep(Duration::from_millis(1));
        assert!(clock.now() > before);
    }

    #[test]
    fn while_it_is_held_it_does_not_move_by_itself() {
        let clock = Clock::new(true);
        assert!(!clock.moves_by_itself());
        clock.pause().unwrap();
        assert!(clock.moves_by_itself());
        clock.hold();
        assert!(!clock.moves_by_itself());
        let before = clock.now();
        clock.skip_to(u64::MAX);
        assert_eq!(clock.now(), before);
        clock.release();
        assert!(clock.moves_by_itself());
    }

    #[test]
    fn the_end_of_time_is_never_reached() {
        let clock = Clock::new(true);
        clock.pause().unwrap();
        clock.skip_to(u64::MAX);
        assert_eq!(clock.time_until(u64::MAX), None);
        assert!(clock.time_until(0).unwrap().is_zero());
        assert_eq!(Clock::new(false).pause(), Err(ClockError::CannotPause));
    }
}
