//! When to wake up for timers: at their deadlines, or where they are dense, on a beat.
//!
//! A wake-up costs as much as some thirty timers. Where timers come one after another they are therefore
//! waited for together: a few until a moment after the last that fired, many until the next **beat** of the
//! runtime's clock, a multiple of [`BEAT_NS`]. Half a beat is what they are late by on average.
//!
//! Beats are known in advance, which is worth as much again: see
//! [`BeatTimers`](crate::io::BeatTimers).

/// From one beat to the next.
pub const BEAT_NS: u64 = 180_000;

/// So soon after timers fired nobody wakes for the next.
const GATHER_NS: u64 = 100_000;

/// As many timers during one beat make them dense.
const DENSE_MIN: usize = 8;

/// What a worker should wake up for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextWake {
    /// The time.
    pub at_ns: u64,
    /// Whether it is a beat, and the next one is likely to follow.
    pub is_beat: bool,
}

/// How timers have fired of late that one worker serves.
#[derive(Debug, Default)]
pub struct Firing {
    /// When the last did.
    last_ns: Option<u64>,
    /// The beat during which it did, how many did so, and how many did during the one before.
    beat: u64,
    count: usize,
    count_before: usize,
}

impl Firing {
    /// So many timers, at least one, have fired.
    pub fn note(&mut self, now_ns: u64, count: usize) {
        self.last_ns = Some(now_ns);
        let beat = now_ns / BEAT_NS;
        if beat != self.beat {
            self.count_before = if beat == self.beat + 1 { self.count } else { 0 };
            (self.beat, self.count) = (beat, 0);
        }
        self.count += count;
    }

    fn is_dense(&self) -> bool {
        self.count.max(self.count_before) >= DENSE_MIN
    }

    /// When to wake up if the next timer is due at `next_ns`: not before that.
    pub fn next_wake(&self, next_ns: u64) -> NextWake {
        let exact = NextWake { at_ns: next_ns, is_beat: false };
        let Some(last_ns) = self.last_ns else { return exact };
        if self.is_dense() && next_ns < last_ns.saturating_add(BEAT_NS) {
            if let Some(at_ns) = next_ns.checked_next_multiple_of(BEAT_NS) {
                return NextWake { at_ns, is_beat: true };
            }
        }
        NextWake { at_ns: next_ns.max(last_ns.saturating_add(GATHER_NS)), ..exact }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const START_NS: u64 = 100 * BEAT_NS;

    fn exact(at_ns: u64) -> NextWake {
        NextWake { at_ns, is_beat: false }
    }

    fn beat(at_ns: u64) -> NextWake {
        NextWake { at_ns, is_beat: true }
    }

    #[test]
    fn sparse_timers_are_waited_for_exactly() {
        let mut firing = Firing::default();
        assert_eq!(firing.next_wake(START_NS + 1), exact(START_NS + 1));
        firing.note(START_NS + 1, 1);
        assert_eq!(firing.next_wake(START_NS + 1 + GATHER_NS), exact(START_NS + 1 + GATHER_NS));
        assert_eq!(firing.next_wake(START_NS + 10), exact(START_NS + 1 + GATHER_NS));
    }

    #[test]
    fn dense_timers_are_waited_for_until_the_next_beat() {
        let mut firing = Firing::default();
        firing.note(START_NS + 5, DENSE_MIN);
        assert_eq!(firing.next_wake(START_NS + 10), beat(START_NS + BEAT_NS));
        assert_eq!(firing.next_wake(START_NS + BEAT_NS), beat(START_NS + BEAT_NS));
        // Few have fired during the new beat yet.
        firing.note(START_NS + BEAT_NS + 1, 1);
        assert_eq!(firing.next_wake(START_NS + BEAT_NS + 1), beat(START_NS + 2 * BEAT_NS));
        // And fewer since.
        firing.note(START_NS + 2 * BEAT_NS, 1);
        assert!(!firing.next_wake(START_NS + 2 * BEAT_NS + 1).is_beat);
    }

    #[test]
    fn many_at_once_do_not_make_the_next_one_late() {
        let mut firing = Firing::default();
        firing.note(START_NS, 1000);
        assert_eq!(firing.next_wake(START_NS + BEAT_NS + 1), exact(START_NS + BEAT_NS + 1));
        assert_eq!(firing.next_wake(u64::MAX), exact(u64::MAX));
    }

    #[test]
    fn no_wake_up_is_before_the_timer_and_none_long_after_it() {
        let mut firing = Firing::default();
        let mut now_ns = START_NS;
        for step in 0..10_000 {
            firing.note(now_ns, step * 7 % 23 + 1);
            let next_ns = now_ns + (step as u64 * 7919) % (2 * BEAT_NS);
            let wake = firing.next_wake(next_ns);
            assert!(wake.at_ns >= next_ns && wake.at_ns < next_ns + BEAT_NS);
            assert!(!wake.is_beat || wake.at_ns % BEAT_NS == 0);
            now_ns = wake.at_ns;
        }
    }
}
