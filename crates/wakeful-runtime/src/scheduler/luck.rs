//! Whether it pays to look around for a while before going to sleep.
//!
//! A search that finds something spares a wake-up; one that finds nothing has cost its time and spared nothing.
//! So a thread keeps accounts: it goes on with searches as long as these cost no more than the wake-ups they spare,
//! and after that tries again from time to time, but only where so little time goes by between two sleeps that there was something to be found.
//!
//! What is spared is not the thread's alone: its peer gets the answer sooner. Where the peer asks again only when it has one, more gets done
//! for it; where requests come at their own pace, as they do to most servers that are not busy, CPU time is all that changes hands. So from time
//! to time searches are [compared](super::audit) with sleeps, and left out if the work takes more CPU time with them.

use super::audit::{Advice, Audit};
use super::doubling::Doubling;
use std::time::{Duration, Instant};

/// How often it looks at the driver meanwhile: each look that comes later than the answer to what was sent adds to
/// what the peer waits.
pub(super) const LOOK_EVERY: Duration = Duration::from_micros(1);

/// What a wake-up costs: the thread itself, who wakes it, and who waits for it.
pub(super) const WAKE_UP: Duration = Duration::from_micros(20);

/// How long a thread that ran dry looks around before it sleeps, if no other is awake. An answer from a peer that has slept takes a wake-up longer, and is to
/// be met by a search all the same: else we sleep too, and have the peer wait for us the next time, and so on. Models do not wait.
pub(super) const SEARCH_MAX: Duration = without_loom(WAKE_UP.saturating_mul(2));

/// The same beside others that are awake.
pub(super) const SEARCH_BESIDE_MAX: Duration = without_loom(WAKE_UP);

const fn without_loom(length: Duration) -> Duration {
    if cfg!(wakeful_loom) { Duration::ZERO } else { length }
}

/// What can be saved up for worse times, and is there in the beginning: eight searches in vain.
const CREDIT_MAX: Duration = Duration::from_micros(320);

/// So many searches are left out once the credit is used up, at first and at last: twice as many each time.
const PAUSE: (u32, u32) = (64, 1024);

/// Only those count that come so soon after the last: by then a peer would have answered, though it has slept as we have.
/// Where more time goes by, a search would have been in vain.
const SOON: Duration = WAKE_UP.saturating_mul(4);

/// What there is after that: enough for some in a row. The first may fail just because we slept before, and our
/// peer with us.
const CREDIT_AFTER_PAUSE: Duration = Duration::from_micros(160);

pub(super) struct Luck {
    credit: Duration,
    /// Searches to be left out, once there is no credit.
    to_leave_out: u32,
    ran_dry: Option<Instant>,
    pause: Doubling<u32>,
    audit: Audit,
}

impl Luck {
    pub(super) fn new() -> Luck {
        Luck {
            credit: CREDIT_MAX,
            to_leave_out: 0,
            ran_dry: None,
            pause: Doubling::new(PAUSE),
            audit: Audit::new(),
        }
    }

    /// Whether to look at the driver `now`, by a thread that has done so `looks` times since it ran dry, and has made so many polls.
    pub(super) fn may_look(&mut self, looks: u32, polls: u64, now: Instant) -> bool {
        match looks {
            0 => self.begins(now),
            1 => self.goes_on(polls, now),
            _ => true,
        }
    }

    /// False while searches are left out. Else there is a first look in any case: what it finds needs neither a search nor a sleep.
    fn begins(&mut self, now: Instant) -> bool {
        let before = self.ran_dry.replace(now);
        if self.credit.is_zero() {
            let is_soon = before.is_some_and(|before| now.duration_since(before) < SOON);
            self.to_leave_out -= u32::from(is_soon);
            if self.to_leave_out > 0 {
                return false;
            }
            self.credit = CREDIT_AFTER_PAUSE;
        }
        true
    }

    fn goes_on(&mut self, polls: u64, now: Instant) -> bool {
        match self.audit.advise(polls, now) {
            Advice::Search => true,
            Advice::Sleep => false,
            Advice::SleepFor(count) => {
                (self.credit, self.to_leave_out) = (Duration::ZERO, count);
                false
            }
        }
    }

    /// What came of a search with so many looks, and how long it took.
    pub(super) fn note(&mut self, looks: u32, has_found: bool, took: Duration) {
        if looks <= 1 {
            return;
        }
        let spared = if has_found { WAKE_UP } else { Duration::ZERO };
        self.credit = (self.credit + spared).saturating_sub(took).min(CREDIT_MAX);
        if self.credit == CREDIT_MAX {
            self.pause.begin_anew();
        } else if self.credit.is_zero() {
            self.to_leave_out = self.pause.take();
            self.audit.interrupt();
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    /// How many of `count` searches are tried, each of which finds something within a time or, with none, in vain.
    fn tries(luck: &mut Luck, count: u32, found: impl Fn(u32) -> Option<Duration>) -> u32 {
        tries_every(SOON / 2, luck, count, found)
    }

    /// The same with so much time between them.
    fn tries_every(
        every: Duration,
        luck: &mut Luck,
        count: u32,
        found: impl Fn(u32) -> Option<Duration>,
    ) -> u32 {
        let mut tried = 0;
        let begun = luck.ran_dry.unwrap_or_else(Instant::now) + every;
        for search in 0..count {
            let now = begun + every * search;
            // Without polls there is nothing to compare.
            if (0..2).all(|looks| luck.may_look(looks, 0, now)) {
                let found = found(search);
                luck.note(2, found.is_some(), found.unwrap_or(SEARCH_MAX));
                tried += 1;
            }
        }
        tried
    }

    const QUICKLY: Duration = Duration::from_micros(10);

    #[test]
    fn what_never_succeeds_is_tried_now_and_then() {
        let mut luck = Luck::new();
        assert_eq!(tries(&mut luck, 8, |_| None), 8);
        assert_eq!(tries(&mut luck, 63, |_| None), 0);
        assert_eq!(tries(&mut luck, 4, |_| None), 4);
        tries(&mut luck, 10_000, |_| None);
        let round = PAUSE.1 - 1 + 4;
        assert_eq!(tries(&mut luck, 100 * round, |_| None), 400);
    }

    #[test]
    fn what_mostly_succeeds_is_tried_but_for_comparison() {
        let found = |search| (search % 8 > 0).then_some(QUICKLY);
        assert!(tries(&mut Luck::new(), 10_000, found) > 9_000);
    }

    #[test]
    fn what_costs_more_than_it_spares_is_tried_rarely() {
        let tried = tries(&mut Luck::new(), 10_000, |search| (search % 4 == 0).then_some(QUICKLY));
        assert!(tried < 2000, "{tried}");
    }

    #[test]
    fn where_much_time_goes_by_nothing_is_tried_again() {
        let mut luck = Luck::new();
        assert_eq!(tries_every(SOON, &mut luck, 10_000, |_| None), 8);
        assert_eq!(tries(&mut luck, 63, |_| None), 0);
        assert!(tries(&mut luck, 1_000, |_| Some(QUICKLY)) > 900);
    }

    #[test]
    fn better_times_are_noticed() {
        let mut luck = Luck::new();
        tries(&mut luck, 10_000, |_| None);
        tries(&mut luck, PAUSE.1 + 8, |_| Some(QUICKLY));
        assert!(tries(&mut luck, 10_000, |_| Some(QUICKLY)) > 9_000);
        assert_eq!(
            tries(&mut luck, 8 + 63 + 4, |_| None),
            12,
            "as if there had been no worse ones"
        );
    }

    #[test]
    fn what_was_there_from_the_first_is_no_luck() {
        let mut luck = Luck::new();
        let first_looks = |count: u32, luck: &mut Luck| -> u32 {
            let rounds = (0..count).map(|_| {
                let is_tried = luck.may_look(0, 0, Instant::now());
                luck.note(1, true, Duration::ZERO);
                u32::from(is_tried)
            });
            rounds.sum()
        };
        assert_eq!(first_looks(10_000, &mut luck), 10_000);
        assert_eq!(tries(&mut luck, 8, |_| None), 8);
        assert_eq!(first_looks(63, &mut luck), 0);
        assert_eq!(first_looks(1_000, &mut luck), 1_000);
        assert_eq!(tries(&mut luck, 60, |_| None), 4, "nothing was won by them");
    }

    #[test]
    fn a_search_without_end_costs_no_more_than_there_is() {
        let mut luck = Luck::new();
        luck.note(2, true, Duration::MAX);
        assert!(!luck.may_look(0, 0, Instant::now()));
    }
}
