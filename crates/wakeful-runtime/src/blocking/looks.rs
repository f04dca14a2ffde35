//! Whether a thread that ran out of jobs looks for more before it sleeps.
//!
//! A look that finds a job spares a wake-up, one that does not has cost its time. So there are looks as long as those in vain cost no more than the
//! wake-ups that the others spare, and after that a few from time to time: where jobs come now and then, as a server's that opens
//! a file for each request, there would be one in vain for each. (A job every millisecond: 105 µs of CPU time with a look
//! and a guard for each, 45 without.)

use std::time::Duration;

/// How long a look lasts at most. A little more than a wake-up costs. Loom has no time.
pub(super) const LOOK_MAX: Duration =
    Duration::from_micros(if cfg!(wakeful_loom) { 0 } else { 50 });

/// What a wake-up costs.
const WAKE_UP: Duration = Duration::from_micros(20);

/// What can be saved up for worse times, and is there in the beginning.
const CREDIT_MAX: Duration = LOOK_MAX.saturating_mul(8);

/// So many looks are left out once the credit is used up.
const PAUSE: u32 = 256;

/// What there is after that.
const CREDIT_AFTER_PAUSE: Duration = LOOK_MAX.saturating_mul(2);

pub(super) struct Looks {
    credit: Duration,
    to_leave_out: u32,
}

impl Looks {
    pub(super) fn new() -> Looks {
        Looks { credit: CREDIT_MAX, to_leave_out: 0 }
    }

    /// Whether there is to be one now.
    pub(super) fn begin(&mut self) -> bool {
        if self.to_leave_out > 0 {
            self.to_leave_out -= 1;
            return false;
        }
        true
    }

    /// What came of one that took so long.
    pub(super) fn end(&mut self, has_found: bool, took: Duration) {
        // One that has found something has spared who waits for that a wake-up, however long it took.
        self.credit = if has_found {
            (self.credit + WAKE_UP.saturating_sub(took)).min(CREDIT_MAX)
        } else {
            self.credit.saturating_sub(took)
        };
        if self.credit.is_zero() && !LOOK_MAX.is_zero() {
            (self.credit, self.to_leave_out) = (CREDIT_AFTER_PAUSE, PAUSE);
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    /// How many of `count` looks there are, if each finds what `found` says, after so long.
    fn tried(looks: &mut Looks, count: u32, found: impl Fn(u32) -> Option<Duration>) -> u32 {
        let look = |&number: &u32| {
            let is_tried = looks.begin();
            if is_tried {
                let found = found(number);
                looks.end(found.is_some(), found.unwrap_or(LOOK_MAX));
            }
            is_tried
        };
        (0..count).filter(look).count() as u32
    }

    const SOON: Duration = Duration::from_micros(5);

    #[test]
    fn what_is_in_vain_is_tried_now_and_then() {
        let mut looks = Looks::new();
        assert_eq!(tried(&mut looks, 8, |_| None), 8);
        assert_eq!(tried(&mut looks, PAUSE, |_| None), 0);
        assert_eq!(tried(&mut looks, 100 * (PAUSE + 2), |_| None), 200);
    }

    #[test]
    fn what_pays_is_always_tried() {
        let mut looks = Looks::new();
        assert_eq!(tried(&mut looks, 10_000, |_| Some(SOON)), 10_000);
        assert_eq!(tried(&mut looks, 10_000, |number| (number % 8 > 0).then_some(SOON)), 10_000);
        assert_eq!(tried(&mut looks, 10_000, |_| Some(LOOK_MAX)), 10_000);
    }

    #[test]
    fn what_costs_more_than_it_spares_is_tried_rarely() {
        let mut looks = Looks::new();
        let tried = tried(&mut looks, 10_000, |number| (number % 3 == 0).then_some(SOON));
        assert!(tried < 300, "{tried}");
    }

    #[test]
    fn better_times_are_noticed() {
        let mut looks = Looks::new();
        tried(&mut looks, 10_000, |_| None);
        assert!(tried(&mut looks, 10_000, |_| Some(SOON)) >= 10_000 - PAUSE);
        assert_eq!(tried(&mut looks, 8, |_| None), 8, "as if there had been no worse ones");
    }
}
