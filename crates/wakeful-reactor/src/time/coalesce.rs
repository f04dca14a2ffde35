//! Timer coalescing: whether to wake up at a deadline, or later for several timers at once.
//!
//! A wake-up costs much more than firing a timer (see bench/NOTES.md: timer coalescing). Timers
//! that are close together are therefore served together. A few of them wait until a moment after
//! the last timer that fired. Many wait for the next **tick** of the runtime's clock, a multiple of
//! [`TICK_NS`]. If too few timers would share a tick, only every second one is used, a **long**
//! tick.
//!
//! | timers per long tick | wake-up | average lateness |
//! |---|---|---|
//! | fewer than 4 | at the first deadline, but not right after others | 0 |
//! | 4 to 63 | at the next long tick | half a long tick |
//! | 64 or more | at the next tick | half a tick |
//!
//! So a timer among others is at most one long tick late, and a lone timer is on time.
//!
//! Ticks are known in advance, so the kernel's timer can be armed ahead: see
//! [`TickTimers`](crate::io::TickTimers). Every long tick is also a tick, so that two workers, of
//! which one waits for ticks and one for long ticks, still wake up together.

/// The time between two ticks. Bounds the lateness of dense timers, and the wake-ups for them to
/// 4,000 per second. See bench/NOTES.md: timer coalescing.
const TICK_NS: u64 = 250_000;

/// The time between two long ticks.
const LONG_TICK_NS: u64 = 2 * TICK_NS;

/// The longest time between two ticks. Coalescing makes a timer late by less than this.
pub const TICK_MAX_NS: u64 = LONG_TICK_NS;

/// After timers have fired, the next wake-up comes no sooner than this.
const MIN_GAP_NS: u64 = 100_000;

/// The smallest number of timers during a long tick that share a wake-up.
const MANY_MIN: usize = 4;

/// The smallest number of timers during a long tick for which every tick is used: about thirty
/// timers per tick.
const DENSE_MIN: usize = 64;

/// When a worker should wake up next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextWake {
    /// The time.
    pub at_ns: u64,
    /// If the time is a tick: how long after it the next one is likely to follow.
    pub tick_ns: Option<u64>,
}

impl NextWake {
    /// Returns a wake-up at a time that is not a tick.
    pub const fn exact(at_ns: u64) -> NextWake {
        NextWake { at_ns, tick_ns: None }
    }
}

/// How often the timers of a worker have fired recently.
#[derive(Debug, Default)]
pub struct FireRate {
    /// When the last timers fired.
    last_ns: Option<u64>,
    /// The long tick during which the last timers fired, the number of timers that fired during it,
    /// and the number that fired during the long tick before.
    tick: u64,
    count: usize,
    count_before: usize,
}

impl FireRate {
    /// Records that `count` timers, at least one, have fired.
    pub fn note(&mut self, now_ns: u64, count: usize) {
        self.last_ns = Some(now_ns);
        let tick = now_ns / LONG_TICK_NS;
        if tick != self.tick {
            self.count_before = if tick == self.tick + 1 { self.count } else { 0 };
            (self.tick, self.count) = (tick, 0);
        }
        self.count += count;
    }

    /// Returns the time between two ticks that are worth a wake-up, or `None` if there are too few
    /// timers.
    fn tick_ns(&self) -> Option<u64> {
        match self.count.max(self.count_before) {
            DENSE_MIN.. => Some(TICK_NS),
            MANY_MIN.. => Some(LONG_TICK_NS),
            _ => None,
        }
    }

    /// Returns when to wake up if the next timer is due at `next_ns`: at that time or later.
    pub fn next_wake(&self, next_ns: u64) -> NextWake {
        let Some(last_ns) = self.last_ns else { return NextWake::exact(next_ns) };
        let tick_ns = self.tick_ns().filter(|tick_ns| next_ns < last_ns.saturating_add(*tick_ns));
        let at_ns = tick_ns.and_then(|tick_ns| next_ns.checked_next_multiple_of(tick_ns));
        match at_ns {
            Some(at_ns) => NextWake { at_ns, tick_ns },
            None => NextWake::exact(next_ns.max(last_ns.saturating_add(MIN_GAP_NS))),
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const START_NS: u64 = 100 * LONG_TICK_NS;

    fn tick(at_ns: u64) -> NextWake {
        NextWake { at_ns, tick_ns: Some(TICK_NS) }
    }

    fn long_tick(at_ns: u64) -> NextWake {
        NextWake { at_ns, tick_ns: Some(LONG_TICK_NS) }
    }

    #[test]
    fn sparse_timers_are_waited_for_exactly() {
        let mut rate = FireRate::default();
        assert_eq!(rate.next_wake(START_NS + 1), NextWake::exact(START_NS + 1));
        rate.note(START_NS + 1, 1);
        let soon_ns = START_NS + 1 + MIN_GAP_NS;
        assert_eq!(rate.next_wake(soon_ns), NextWake::exact(soon_ns));
        assert_eq!(rate.next_wake(START_NS + 10), NextWake::exact(soon_ns));
        rate.note(START_NS + 10, MANY_MIN - 2);
        assert_eq!(rate.next_wake(soon_ns + 10), NextWake::exact(soon_ns + 10));
    }

    #[test]
    fn dense_timers_are_waited_for_until_the_next_tick() {
        let mut rate = FireRate::default();
        rate.note(START_NS + 5, DENSE_MIN);
        assert_eq!(rate.next_wake(START_NS + 10), tick(START_NS + TICK_NS));
        assert_eq!(rate.next_wake(START_NS + TICK_NS), tick(START_NS + TICK_NS));
        // Few timers have fired during the new long tick so far.
        let next_ns = START_NS + LONG_TICK_NS;
        rate.note(next_ns + 1, 1);
        assert_eq!(rate.next_wake(next_ns + 1), tick(next_ns + TICK_NS));
        // And fewer since.
        rate.note(next_ns + LONG_TICK_NS, 1);
        assert_eq!(rate.next_wake(next_ns + LONG_TICK_NS + 1).tick_ns, None);
    }

    #[test]
    fn few_timers_per_tick_are_waited_for_until_a_long_tick() {
        let mut rate = FireRate::default();
        rate.note(START_NS + 5, MANY_MIN);
        assert_eq!(rate.next_wake(START_NS + 10), long_tick(START_NS + LONG_TICK_NS));
        rate.note(START_NS + LONG_TICK_NS, DENSE_MIN - 1);
        let next_ns = START_NS + 2 * LONG_TICK_NS;
        assert_eq!(rate.next_wake(next_ns - TICK_NS), long_tick(next_ns));
        // One more makes them dense, at once.
        rate.note(START_NS + LONG_TICK_NS, 1);
        assert_eq!(rate.next_wake(next_ns - 2 * TICK_NS - 5), tick(next_ns - 2 * TICK_NS));
    }

    #[test]
    fn many_at_once_do_not_make_the_next_one_late() {
        for count in [MANY_MIN, DENSE_MIN, 1000] {
            let mut rate = FireRate::default();
            rate.note(START_NS, count);
            let next_ns = START_NS + LONG_TICK_NS + 1;
            assert_eq!(rate.next_wake(next_ns), NextWake::exact(next_ns));
            assert_eq!(rate.next_wake(u64::MAX), NextWake::exact(u64::MAX));
        }
    }

    #[test]
    fn no_wake_up_is_before_the_timer_and_none_long_after_it() {
        let mut rate = FireRate::default();
        let (mut now_ns, mut ticks) = (START_NS, [0; 2]);
        for step in 0..10_000 {
            rate.note(now_ns, step * 7 % 97 + 1);
            let next_ns = now_ns + (step as u64 * 7919) % (LONG_TICK_NS + TICK_NS);
            let wake = rate.next_wake(next_ns);
            assert!(wake.at_ns >= next_ns && wake.at_ns < next_ns + TICK_MAX_NS);
            if let Some(tick_ns) = wake.tick_ns {
                assert_eq!(wake.at_ns % tick_ns, 0);
                ticks[usize::from(tick_ns == LONG_TICK_NS)] += 1;
            }
            now_ns = wake.at_ns;
        }
        assert!(ticks.iter().all(|&count| count > 100), "{ticks:?}");
    }
}
