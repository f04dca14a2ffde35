//! When to wake up for timers: at their deadlines, or where they are dense, on a beat.
//!
//! A wake-up costs as much as some thirty timers. Where timers come one after another they are therefore
//! waited for together: a few until a moment after the last that fired, many until the next **beat** of the
//! runtime's clock, a multiple of [`BEAT_NS`]. What a wake-up costs is shared by those it fires; where a beat
//! would have too few of them, only each third one is waited for, a **long** beat.
//!
//! | timers within a long beat | waited for until | late by, on average |
//! |---|---|---|
//! | fewer than 4 | the first is due, but not right after others | 0 |
//! | 4 to 63 | the next long beat | 230 µs |
//! | 64 and more | the next beat | 75 µs |
//!
//! So a timer among others is late by less than half a millisecond, and a lone one not at all.
//!
//! Beats are known in advance, which is worth as much again: see
//! [`BeatTimers`](crate::io::BeatTimers). Any long beat is a beat too, so that workers of which one waits for
//! the former and one for the latter still wake up together.

/// From one beat to the next.
const BEAT_NS: u64 = 155_000;

/// From one long beat to the next.
const LONG_BEAT_NS: u64 = 3 * BEAT_NS;

/// No beat is longer: by less than that a timer is late that is waited for.
pub const BEAT_MAX_NS: u64 = LONG_BEAT_NS;

/// So soon after timers fired nobody wakes for the next.
const GATHER_NS: u64 = 100_000;

/// As many timers during a long beat are worth one wake-up, not several.
const MANY_MIN: usize = 4;

/// As many timers during a long beat are worth a wake-up on every beat: twenty for each.
const DENSE_MIN: usize = 64;

/// What a worker should wake up for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextWake {
    /// The time.
    pub at_ns: u64,
    /// If it is a beat: how long after it the next one is likely to follow.
    pub beat_ns: Option<u64>,
}

impl NextWake {
    /// At a time that is no beat.
    pub const fn exact(at_ns: u64) -> NextWake {
        NextWake { at_ns, beat_ns: None }
    }
}

/// How timers have fired of late that one worker serves.
#[derive(Debug, Default)]
pub struct Firing {
    /// When the last did.
    last_ns: Option<u64>,
    /// The long beat during which it did, how many did so, and how many did during the one before.
    beat: u64,
    count: usize,
    count_before: usize,
}

impl Firing {
    /// So many timers, at least one, have fired.
    pub fn note(&mut self, now_ns: u64, count: usize) {
        self.last_ns = Some(now_ns);
        let beat = now_ns / LONG_BEAT_NS;
        if beat != self.beat {
            self.count_before = if beat == self.beat + 1 { self.count } else { 0 };
            (self.beat, self.count) = (beat, 0);
        }
        self.count += count;
    }

    /// From one beat that is worth a wake-up to the next; none if timers are too few for beats.
    fn beat_ns(&self) -> Option<u64> {
        match self.count.max(self.count_before) {
            DENSE_MIN.. => Some(BEAT_NS),
            MANY_MIN.. => Some(LONG_BEAT_NS),
            _ => None,
        }
    }

    /// When to wake up if the next timer is due at `next_ns`: not before that.
    pub fn next_wake(&self, next_ns: u64) -> NextWake {
        let Some(last_ns) = self.last_ns else { return NextWake::exact(next_ns) };
        let beat_ns = self.beat_ns().filter(|beat_ns| next_ns < last_ns.saturating_add(*beat_ns));
        let at_ns = beat_ns.and_then(|beat_ns| next_ns.checked_next_multiple_of(beat_ns));
        match at_ns {
            Some(at_ns) => NextWake { at_ns, beat_ns },
            None => NextWake::exact(next_ns.max(last_ns.saturating_add(GATHER_NS))),
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const START_NS: u64 = 100 * LONG_BEAT_NS;

    fn beat(at_ns: u64) -> NextWake {
        NextWake { at_ns, beat_ns: Some(BEAT_NS) }
    }

    fn long_beat(at_ns: u64) -> NextWake {
        NextWake { at_ns, beat_ns: Some(LONG_BEAT_NS) }
    }

    #[test]
    fn sparse_timers_are_waited_for_exactly() {
        let mut firing = Firing::default();
        assert_eq!(firing.next_wake(START_NS + 1), NextWake::exact(START_NS + 1));
        firing.note(START_NS + 1, 1);
        let soon_ns = START_NS + 1 + GATHER_NS;
        assert_eq!(firing.next_wake(soon_ns), NextWake::exact(soon_ns));
        assert_eq!(firing.next_wake(START_NS + 10), NextWake::exact(soon_ns));
        firing.note(START_NS + 10, MANY_MIN - 2);
        assert_eq!(firing.next_wake(soon_ns + 10), NextWake::exact(soon_ns + 10));
    }

    #[test]
    fn dense_timers_are_waited_for_until_the_next_beat() {
        let mut firing = Firing::default();
        firing.note(START_NS + 5, DENSE_MIN);
        assert_eq!(firing.next_wake(START_NS + 10), beat(START_NS + BEAT_NS));
        assert_eq!(firing.next_wake(START_NS + BEAT_NS), beat(START_NS + BEAT_NS));
        // Few have fired during the new long beat yet.
        let next_ns = START_NS + LONG_BEAT_NS;
        firing.note(next_ns + 1, 1);
        assert_eq!(firing.next_wake(next_ns + 1), beat(next_ns + BEAT_NS));
        // And fewer since.
        firing.note(next_ns + LONG_BEAT_NS, 1);
        assert_eq!(firing.next_wake(next_ns + LONG_BEAT_NS + 1).beat_ns, None);
    }

    #[test]
    fn where_a_beat_would_fire_few_it_is_a_long_one() {
        let mut firing = Firing::default();
        firing.note(START_NS + 5, MANY_MIN);
        assert_eq!(firing.next_wake(START_NS + 10), long_beat(START_NS + LONG_BEAT_NS));
        firing.note(START_NS + LONG_BEAT_NS, DENSE_MIN - 1);
        let next_ns = START_NS + 2 * LONG_BEAT_NS;
        assert_eq!(firing.next_wake(next_ns - BEAT_NS), long_beat(next_ns));
        // One more makes them dense, at once.
        firing.note(START_NS + LONG_BEAT_NS, 1);
        assert_eq!(firing.next_wake(next_ns - 2 * BEAT_NS - 5), beat(next_ns - 2 * BEAT_NS));
    }

    #[test]
    fn many_at_once_do_not_make_the_next_one_late() {
        for count in [MANY_MIN, DENSE_MIN, 1000] {
            let mut firing = Firing::default();
            firing.note(START_NS, count);
            let next_ns = START_NS + LONG_BEAT_NS + 1;
            assert_eq!(firing.next_wake(next_ns), NextWake::exact(next_ns));
            assert_eq!(firing.next_wake(u64::MAX), NextWake::exact(u64::MAX));
        }
    }

    #[test]
    fn no_wake_up_is_before_the_timer_and_none_long_after_it() {
        let mut firing = Firing::default();
        let (mut now_ns, mut beats) = (START_NS, [0; 2]);
        for step in 0..10_000 {
            firing.note(now_ns, step * 7 % 97 + 1);
            let next_ns = now_ns + (step as u64 * 7919) % (LONG_BEAT_NS + BEAT_NS);
            let wake = firing.next_wake(next_ns);
            assert!(wake.at_ns >= next_ns && wake.at_ns < next_ns + BEAT_MAX_NS);
            if let Some(beat_ns) = wake.beat_ns {
                assert_eq!(wake.at_ns % beat_ns, 0);
                beats[usize::from(beat_ns == LONG_BEAT_NS)] += 1;
            }
            now_ns = wake.at_ns;
        }
        assert!(beats.iter().all(|&count| count > 100), "{beats:?}");
    }
}
