//! Timer coalescing: whether to wake up at a deadline, or later for several timers at once.
//!
//! A wake-up costs much more than firing a timer (see bench/NOTES.md: timer coalescing). Timers
//! that are close together are therefore served together. A few of them wait until a moment after
//! the last timer that fired. Four or more per tick wait for the next **tick** of the runtime's
//! clock, a multiple of [`TICK_NS`]: half a tick on average, and less than one tick. A lone timer
//! is on time.
//!
//! Ticks are known in advance, so the kernel's timer can be armed ahead: see
//! [`TickTimers`](crate::io::TickTimers). All workers wait for the same ticks.

/// The time between two ticks. Bounds the lateness of dense timers, and the wake-ups of a worker
/// for them to 2,500 per second. See bench/NOTES.md: timer coalescing.
const TICK_NS: u64 = 400_000;

/// After timers have fired, the next wake-up comes no sooner than this.
const MIN_GAP_NS: u64 = TICK_NS / 4;

/// The smallest number of timers during a tick that share a wake-up: as many as there could be
/// wake-ups of their own, `MIN_GAP_NS` apart.
const MANY_MIN: usize = (TICK_NS / MIN_GAP_NS) as usize;

/// When a worker should wake up next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextWake {
    /// The time.
    pub at_ns: u64,
    /// If the time is a tick: how long after it the next one follows.
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
    /// The tick after which the last timers fired, the number of timers that fired since then, and
    /// the number that fired between the tick before and this one.
    tick: u64,
    count: usize,
    count_before: usize,
}

impl FireRate {
    /// Records that `count` timers, at least one, have fired.
    pub fn note(&mut self, now_ns: u64, count: usize) {
        self.last_ns = Some(now_ns);
        let tick = now_ns / TICK_NS;
        if tick != self.tick {
            self.count_before = if tick == self.tick + 1 { self.count } else { 0 };
            (self.tick, self.count) = (tick, 0);
        }
        self.count += count;
    }

    /// Returns when to wake up if the next timer is due at `next_ns`: at that time or later.
    pub fn next_wake(&self, next_ns: u64) -> NextWake {
        let Some(last_ns) = self.last_ns else { return NextWake::exact(next_ns) };
        let are_many = self.count.max(self.count_before) >= MANY_MIN;
        let is_soon = next_ns < last_ns.saturating_add(TICK_NS);
        match next_ns.checked_next_multiple_of(TICK_NS) {
            Some(at_ns) if are_many && is_soon => NextWake { at_ns, tick_ns: Some(TICK_NS) },
            _ => NextWake::exact(next_ns.max(last_ns.saturating_add(MIN_GAP_NS))),
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const START_NS: u64 = 100 * TICK_NS;

    fn tick(at_ns: u64) -> NextWake {
        NextWake { at_ns, tick_ns: Some(TICK_NS) }
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
        rate.note(START_NS + 5, MANY_MIN);
        assert_eq!(rate.next_wake(START_NS + 10), tick(START_NS + TICK_NS));
        assert_eq!(rate.next_wake(START_NS + TICK_NS), tick(START_NS + TICK_NS));
        // Few timers have fired since the next tick so far.
        let next_ns = START_NS + TICK_NS;
        rate.note(next_ns + 1, 1);
        assert_eq!(rate.next_wake(next_ns + 1), tick(next_ns + TICK_NS));
        // And fewer since.
        rate.note(next_ns + TICK_NS, 1);
        assert_eq!(rate.next_wake(next_ns + TICK_NS + 1).tick_ns, None);
    }

    #[test]
    fn many_at_once_do_not_make_the_next_one_late() {
        for count in [MANY_MIN, 1000] {
            let mut rate = FireRate::default();
            rate.note(START_NS, count);
            let next_ns = START_NS + TICK_NS + 1;
            assert_eq!(rate.next_wake(next_ns), NextWake::exact(next_ns));
            assert_eq!(rate.next_wake(u64::MAX), NextWake::exact(u64::MAX));
        }
    }

    #[test]
    fn no_wake_up_is_before_the_timer_and_none_long_after_it() {
        let mut rate = FireRate::default();
        let (mut now_ns, mut ticks, mut exact) = (START_NS, 0, 0);
        for step in 0..10_000 {
            rate.note(now_ns, step * 7 % 97 % 5 + 1);
            let next_ns = now_ns + (step as u64 * 7919) % (2 * TICK_NS);
            let wake = rate.next_wake(next_ns);
            assert!(wake.at_ns >= next_ns && wake.at_ns < next_ns + TICK_NS);
            match wake.tick_ns {
                Some(tick_ns) => {
                    assert_eq!(wake.at_ns % tick_ns, 0);
                    ticks += 1;
                }
                None => exact += 1,
            }
            now_ns = wake.at_ns;
        }
        assert!(ticks > 100 && exact > 100, "{ticks} {exact}");
    }
}
