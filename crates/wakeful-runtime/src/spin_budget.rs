//! Whether a thread that runs out of work spins for more before it parks.
//!
//! A spin that finds work soon saves a wake-up: its latency, and system calls of two threads. A
//! spin that finds nothing has wasted its time. So each thread keeps an account: a spin that finds
//! work earns the cost of a wake-up, and every spin pays the time that it took. When the credit is
//! used up, the next spins are skipped, so that spins that find nothing cost a bounded share of the
//! time. Workers, the current-thread scheduler and the blocking pool share this code; at most one
//! worker of a runtime spins at a time, and one thread of its pool. See bench/NOTES.md: spin
//! budget.
//!
//! No thread spins where it would take CPU time from the work that it waits for: with a single CPU,
//! or under a CPU quota.

use crate::cpus;
use crate::wake_cost;
use std::sync::OnceLock;
use std::time::Duration;

/// Bounds the length of a spin where wake-ups take long because CPUs or the host are busy.
/// Otherwise a thread spins for as long as a wake-up takes: then it never loses more than twice
/// what the better choice would have cost.
const SPIN_MAX: Duration = Duration::from_micros(50);

/// Bounds the credit that finds can build up, in wake-ups, so that a thread whose spins find
/// nothing any more soon stops to spin.
const CREDIT_MAX: u32 = 8;

/// The credit at the start and after skipped spins, in wake-ups: enough for four spins.
const CREDIT_RETRY: u32 = CREDIT_MAX / 2;

/// How many spins are skipped when the credit is used up. Where CPUs are short, a thread may be
/// preempted in a spin, for milliseconds. Four spins in 1,024 times of running out of work are too
/// few to show in the p99.
const SKIPPED_SPINS: u32 = 1024;

/// A thread's account of its spins.
pub(crate) struct SpinBudget {
    /// How much time spins that find nothing may still take.
    credit: Duration,
    spins_to_skip: u32,
}

impl SpinBudget {
    pub(crate) fn new() -> SpinBudget {
        SpinBudget { credit: wake_cost::get() * CREDIT_RETRY, spins_to_skip: 0 }
    }

    /// Returns how long to spin now. If that is `None`, this spin counts as skipped.
    pub(crate) fn next_spin(&mut self) -> Option<Duration> {
        if self.spins_to_skip > 0 {
            self.spins_to_skip -= 1;
            return None;
        }
        may_spin().then(|| wake_cost::get().min(SPIN_MAX))
    }

    /// Records whether a spin has found work, and how long it took.
    pub(crate) fn record(&mut self, has_found: bool, took: Duration) {
        self.record_at(wake_cost::get(), has_found, took);
    }

    fn record_at(&mut self, wake_cost: Duration, has_found: bool, took: Duration) {
        let earned = if has_found { wake_cost } else { Duration::ZERO };
        self.credit = (self.credit + earned).saturating_sub(took).min(wake_cost * CREDIT_MAX);
        if self.credit.is_zero() {
            (self.credit, self.spins_to_skip) = (wake_cost * CREDIT_RETRY, SKIPPED_SPINS);
        }
    }
}

/// Returns whether threads of this process may spin. Loom models do not: they have no time.
fn may_spin() -> bool {
    static MAY_SPIN: OnceLock<bool> = OnceLock::new();
    !cfg!(wakeful_loom) && *MAY_SPIN.get_or_init(|| cpus::cpus() > 1 && !cpus::has_quota())
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    const WAKE_COST: Duration = Duration::from_micros(20);
    const SPIN: Duration = WAKE_COST;

    /// Returns how many of `count` possible spins are made. `found` says after how long the spin
    /// with this number finds work, or `None` if it does not.
    fn spins_made(
        budget: &mut SpinBudget,
        count: u32,
        found: impl Fn(u32) -> Option<Duration>,
    ) -> u32 {
        let mut made = 0;
        for number in 0..count {
            if budget.spins_to_skip > 0 {
                budget.spins_to_skip -= 1;
                continue;
            }
            made += 1;
            let found = found(number);
            budget.record_at(WAKE_COST, found.is_some(), found.unwrap_or(SPIN));
        }
        made
    }

    const SOON: Duration = Duration::from_micros(5);

    fn budget() -> SpinBudget {
        SpinBudget { credit: WAKE_COST * CREDIT_RETRY, spins_to_skip: 0 }
    }

    #[test]
    fn spins_that_find_nothing_are_mostly_skipped() {
        let round = SKIPPED_SPINS + CREDIT_RETRY;
        assert_eq!(spins_made(&mut budget(), 100 * round, |_| None), 100 * CREDIT_RETRY);
    }

    #[test]
    fn spins_that_pay_are_never_skipped() {
        let mut budget = budget();
        assert_eq!(spins_made(&mut budget, 10_000, |_| Some(SOON)), 10_000);
        let mostly = |number| (number % 8 > 0).then_some(SOON);
        assert_eq!(spins_made(&mut budget, 10_000, mostly), 10_000);
    }

    #[test]
    fn spins_that_cost_more_than_they_save_are_rare() {
        let sometimes = |number| (number % 4 == 0).then_some(SOON);
        let made = spins_made(&mut budget(), 10_000, sometimes);
        assert!(made < 1_000, "{made}");
    }

    #[test]
    fn spins_that_pay_again_are_made_again() {
        let mut budget = budget();
        spins_made(&mut budget, 10_000, |_| None);
        assert!(spins_made(&mut budget, 10_000, |_| Some(SOON)) >= 10_000 - SKIPPED_SPINS);
    }
}
