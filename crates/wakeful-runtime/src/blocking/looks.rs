//! Whether a pool thread without a job spins for the next one before it sleeps.
//!
//! A spin that finds a job saves a wake-up; one that finds none has wasted its time. So threads
//! spin as long as the wasted time stays below the cost of the wake-ups saved, and only now and
//! then after that. A server that opens a file for each request has jobs too rarely for spinning:
//! each spin would find nothing. See bench/NOTES.md: "Looks before sleep".

use std::time::Duration;

/// Bounds the length of a spin: a little more than a wake-up costs. Zero under loom, which has no
/// time.
pub(super) const LOOK_MAX: Duration =
    Duration::from_micros(if cfg!(wakeful_loom) { 0 } else { 50 });

/// What a wake-up costs, as spins are credited with it.
const WAKE_UP: Duration = Duration::from_micros(20);

/// Bounds the credit that successful spins can build up; the credit at the start.
const CREDIT_MAX: Duration = LOOK_MAX.saturating_mul(8);

/// How many spins are skipped when the credit is used up.
const PAUSE: u32 = 256;

/// The credit after such a pause: enough for two spins.
const CREDIT_AFTER_PAUSE: Duration = LOOK_MAX.saturating_mul(2);

pub(super) struct Looks {
    credit: Duration,
    to_leave_out: u32,
}

impl Looks {
    pub(super) fn new() -> Looks {
        Looks { credit: CREDIT_MAX, to_leave_out: 0 }
    }

    /// Whether to spin now.
    pub(super) fn begin(&mut self) -> bool {
        if self.to_leave_out > 0 {
            self.to_leave_out -= 1;
            return false;
        }
        true
    }

    /// Notes whether a spin has found a job, and how long it took.
    pub(super) fn end(&mut self, has_found: bool, took: Duration) {
        // A spin that found a job has saved a wake-up, however long it took.
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

    /// Returns how many of `count` possible spins are made. `found` says after how long the spin
    /// with this number finds a job, or `None` if it does not.
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
