//! When to wake up for timers: at their deadlines, or where they are dense, on a tick.
//!
//! A wake-up costs as much as some thirty timers. Where timers come one after another they are therefore
//! waited for together: a few until a moment after the last that fired, many until the next **tick** of the
//! runtime's clock, a multiple of [`TICK_NS`]. What a wake-up costs is shared by those it fires; where a tick
//! would have too few of them, only each third one is waited for, a **long** tick.
//!
//! | timers within a long tick | waited for until | late by, on average |
//! |---|---|---|
//! | fewer than 4 | the first is due, but not right after others | 0 |
//! | 4 to 63 | the next long tick | 230 µs |
//! | 64 and more | the next tick | 75 µs |
//!
//! So a timer among others is late by less than half a millisecond, and a lone one not at all.
//!
//! Ticks are known in advance, which is worth as much again: see
//! [`TickTimers`](crate::io::TickTimers). Any long tick is a tick too, so that workers of which one waits for
//! the former and one for the latter still wake up together.

/// From one tick to the next.
const TICK_NS: u64 = 155_000;

/// From one long tick to the next.
const LONG_TICK_NS: u64 = 3 * TICK_NS;

/// No tick is longer: by less than that a timer is late that is waited for.
pub const TICK_MAX_NS: u64 = LONG_TICK_NS;

/// So soon after timers fired nobody wakes for the next.
const GATHER_NS: u64 = 100_000;

/// As many timers during a long tick are worth one wake-up, not several.
const MANY_MIN: usize = 4;

/// As many timers during a long tick are worth a wake-up on every tick: twenty for each.
const DENSE_MIN: usize = 64;

/// What a worker should wake up for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextWake {
    /// The time.
    pub at_ns: u64,
    /// If it is a tick: how long after it the next one is likely to follow.
    pub tick_ns: Option<u64>,
}

impl NextWake {
    /// At a time that is no tick.
    pub const fn exact(at_ns: u64) -> NextWake {
        NextWake { at_ns, tick_ns: None }
    }
}

/// How timers have fired of late that one worker serves.
#[derive(Debug, Default)]
pub struct FireRate {
    /// When the last did.
    last_ns: Option<u64>,
    /// The long tick during which it did, how many did so, and how many did during the one before.
    tick: u64,
    count: usize,
    count_before: usize,
}

impl FireRate {
    /// So many timers, at least one, have fired.
    pub fn note(&mut self, now_ns: u64, count: usize) {
        self.last_ns = Some(now_ns);
        let tick = now_ns / LONG_TICK_NS;
        if tick != self.tick {
            self.count_before = if tick == self.tick + 1 { self.count } else { 0 };
            (self.tick, self.count) = (tick, 0);
        }
        self.count += count;
    }

    /// From one tick that is worth a wake-up to the next; none if timers are too few for ticks.
    fn tick_ns(&self) -> Option<u64> {
        match self.count.max(self.count_before) {
            DENSE_MIN.. => Some(TICK_NS),
            MANY_MIN.. => Some(LONG_TICK_NS),
            _ => None,
        }
    }

    /// When to wake up if the next timer is due at `next_ns`: not before that.
    pub fn next_wake(&self, next_ns: u64) -> NextWake {
        let Some(last_ns) = self.last_ns else { return NextWake::exact(next_ns) };
        let tick_ns = self.tick_ns().filter(|tick_ns| next_ns < last_ns.saturating_add(*tick_ns));
        let at_ns = tick_ns.and_then(|tick_ns| next_ns.checked_next_multiple_of(tick_ns));
        match at_ns {
            Some(at_ns) => NextWake { at_ns, tick_ns },
            None => NextWake::exact(next_ns.max(last_ns.saturating_add(GATHER_NS))),
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
        let soon_ns = START_NS + 1 + GATHER_NS;
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
        // Few have fired during the new long tick yet.
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
