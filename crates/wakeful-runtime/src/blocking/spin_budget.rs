//! Whether a pool thread without a job spins for the next one before it sleeps.
//!
//! A spin that finds a job saves a wake-up; one that finds none has wasted its time. So threads
//! spin as long as the wasted time stays below the cost of the wake-ups saved. After that they skip
//! most spins. A server that opens a file for each request has jobs too rarely for spinning: each
//! spin would find nothing. See bench/NOTES.md: "Spins before sleep".

use std::time::Duration;

/// Bounds the length of a spin: a little more than a wake-up costs. Zero under loom, which has no
/// time.
pub(super) const SPIN_MAX: Duration =
    Duration::from_micros(if cfg!(wakeful_loom) { 0 } else { 50 });

/// The estimated cost of a wake-up: the credit for a spin that saves one.
const WAKE_UP: Duration = Duration::from_micros(20);

/// Bounds the credit that successful spins can build up; also the credit at the start.
const CREDIT_MAX: Duration = SPIN_MAX.saturating_mul(8);

/// How many spins are skipped when the credit is used up. Large, so that useless spins cost little.
const SKIPPED_SPINS: u32 = 256;

/// The credit after the skipped spins: enough for two spins.
const CREDIT_AFTER_SKIPS: Duration = SPIN_MAX.saturating_mul(2);

pub(super) struct SpinBudget {
    /// How much time spins that find nothing may still take.
    credit: Duration,
    spins_to_skip: u32,
}

impl SpinBudget {
    pub(super) fn new() -> SpinBudget {
        SpinBudget { credit: CREDIT_MAX, spins_to_skip: 0 }
    }

    /// Returns whether to spin now. If not, this spin counts as skipped.
    pub(super) fn should_spin(&mut self) -> bool {
        if self.spins_to_skip > 0 {
            self.spins_to_skip -= 1;
            return false;
        }
        true
    }

    /// Records whether a spin has found a job, and how long it took.
    pub(super) fn record(&mut self, has_found: bool, took: Duration) {
        // A spin that found a job has saved a wake-up, so it never lowers the credit.
        self.credit = if has_found {
            (self.credit + WAKE_UP.saturating_sub(took)).min(CREDIT_MAX)
        } else {
            self.credit.saturating_sub(took)
        };
        if self.credit.is_zero() && !SPIN_MAX.is_zero() {
            (self.credit, self.spins_to_skip) = (CREDIT_AFTER_SKIPS, SKIPPED_SPINS);
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    /// Returns how many of `count` possible spins are made. `found` says after how long the spin
    /// with this number finds a job, or `None` if it does not.
    fn spins_made(
        budget: &mut SpinBudget,
        count: u32,
        found: impl Fn(u32) -> Option<Duration>,
    ) -> u32 {
        let spins = |&number: &u32| {
            let is_made = budget.should_spin();
            if is_made {
                let found = found(number);
                budget.record(found.is_some(), found.unwrap_or(SPIN_MAX));
            }
            is_made
        };
        (0..count).filter(spins).count() as u32
    }

    const SOON: Duration = Duration::from_micros(5);

    #[test]
    fn spins_that_find_nothing_are_mostly_skipped() {
        let mut budget = SpinBudget::new();
        assert_eq!(spins_made(&mut budget, 8, |_| None), 8);
        assert_eq!(spins_made(&mut budget, SKIPPED_SPINS, |_| None), 0);
        assert_eq!(spins_made(&mut budget, 100 * (SKIPPED_SPINS + 2), |_| None), 200);
    }

    #[test]
    fn spins_that_pay_are_never_skipped() {
        let mut budget = SpinBudget::new();
        assert_eq!(spins_made(&mut budget, 10_000, |_| Some(SOON)), 10_000);
        assert_eq!(
            spins_made(&mut budget, 10_000, |number| (number % 8 > 0).then_some(SOON)),
            10_000
        );
        assert_eq!(spins_made(&mut budget, 10_000, |_| Some(SPIN_MAX)), 10_000);
    }

    #[test]
    fn spins_that_cost_more_than_they_save_are_rare() {
        let mut budget = SpinBudget::new();
        let made = spins_made(&mut budget, 10_000, |number| (number % 3 == 0).then_some(SOON));
        assert!(made < 300, "{made}");
    }

    #[test]
    fn spins_that_pay_again_are_made_again() {
        let mut budget = SpinBudget::new();
        spins_made(&mut budget, 10_000, |_| None);
        assert!(spins_made(&mut budget, 10_000, |_| Some(SOON)) >= 10_000 - SKIPPED_SPINS);
        assert_eq!(spins_made(&mut budget, 8, |_| None), 8, "the credit has recovered");
    }
}
