//! Whether it pays to look around for a while before going to sleep.
//!
//! A search that finds something spares a wake-up; one that finds nothing has cost its time and spared nothing.
//! So a thread keeps accounts: it goes on with searches as long as these cost no more than the wake-ups they spare,
//! and after that tries again from time to time, but only where sleeps are so short that there was something to be found. So it begins, too.
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
pub(super) const SEARCH_MAX: Duration = without_loom(Duration::from_micros(40));

/// The same for a worker: with 40 its answers come, by chance of the timing, just when it is dearest to wake the peer.
pub(super) const WORKER_SEARCH_MAX: Duration = without_loom(Duration::from_micros(30));

/// The same beside others that are awake.
pub(super) const SEARCH_BESIDE_MAX: Duration = without_loom(WAKE_UP);

const fn without_loom(length: Duration) -> Duration {
    if cfg!(wakeful_loom) { Duration::ZERO } else { length }
}

/// What can be saved up for worse times: eight searches in vain, a worker's ten.
const CREDIT_MAX: Duration = Duration::from_micros(320);

/// So many are left out in the beginning: many a thread does so little that it would search as long as it works.
const LEFT_OUT_AT_FIRST: u32 = 2;

/// So many searches are left out once the credit is used up, at first and at last: twice as many each time.
const PAUSE: (u32, u32) = (64, 1024);

/// What there is after that: enough for some in a row. The first may fail just because we slept before, and our
/// peer with us.
const CREDIT_AFTER_PAUSE: Duration = Duration::from_micros(160);

/// Of the searches that are left out, only those count after which there was something to do so soon: by then a peer has answered, though it slept
/// as we did. Where it takes longer, a search would have been in vain.
const SOON: Duration = WAKE_UP.saturating_mul(4);

/// Who is up again so soon has not slept: there was something to do before.
const AT_ONCE: Duration = Duration::from_micros(10);

pub(super) struct Luck {
    credit: Duration,
    /// Searches to be left out, once there is no credit.
    to_leave_out: u32,
    /// When it was asked whether to search, if nothing has been found since.
    ran_dry: Option<Instant>,
    /// The last sleep was none: a look would have spared it.
    was_no_sleep: bool,
    pause: Doubling<u32>,
    audit: Audit,
}

impl Luck {
    pub(super) fn new() -> Luck {
        Luck {
            credit: Duration::ZERO,
            to_leave_out: LEFT_OUT_AT_FIRST,
            ran_dry: None,
            was_no_sleep: false,
            pause: Doubling::new(PAUSE),
            audit: Audit::new(),
        }
    }

    /// Whether to look at the driver `now`, by a thread that has done so `looks` times since it ran dry, and has made so many polls.
    pub(super) fn may_look(&mut self, looks: u32, polls: u64, now: Instant) -> bool {
        match looks {
            0 => self.begins(now),
            1 => self.should_continue(polls, now),
            _ => true,
        }
    }

    /// What a first look finds needs neither a search nor a sleep. So there is one even while searches are left out, if it would have spared the last sleep.
    fn begins(&mut self, now: Instant) -> bool {
        self.ran_dry = Some(now);
        if self.leaves_out() {
            return self.was_no_sleep;
        }
        if self.credit.is_zero() {
            self.credit = CREDIT_AFTER_PAUSE;
        }
        true
    }

    fn leaves_out(&self) -> bool {
        self.credit.is_zero() && self.to_leave_out > 0
    }

    fn should_continue(&mut self, polls: u64, now: Instant) -> bool {
        if self.leaves_out() {
            return false;
        }
        match self.audit.advise(polls, now) {
            Advice::Search => true,
            Advice::Sleep => false,
            Advice::SleepFor(count) => {
                (self.credit, self.to_leave_out) = (Duration::ZERO, count);
                false
            }
        }
    }

    /// The thread is up again `now`. That it has slept is known from nothing having been found.
    pub(super) fn note_sleep(&mut self, now: Instant) {
        let slept = self.ran_dry.take().map(|dry| now.saturating_duration_since(dry));
        let is_within = |limit| slept.is_some_and(|slept| slept < limit);
        self.was_no_sleep = is_within(AT_ONCE);
        self.to_leave_out = self.to_leave_out.saturating_sub(u32::from(is_within(SOON)));
    }

    /// What came of a search with so many looks, and how long it took.
    pub(super) fn note(&mut self, looks: u32, has_found: bool, took: Duration) {
        if has_found {
            self.ran_dry = None;
        }
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

    /// A thread that runs dry, and a clock of its own.
    struct Thread {
        luck: Luck,
        now: Instant,
        /// How long it sleeps, and how long it is busy then.
        sleeps: Duration,
        works: Duration,
    }

    impl Thread {
        fn new() -> Thread {
            let (sleeps, works) = (SOON / 2, Duration::ZERO);
            Thread { luck: Luck::new(), now: Instant::now(), sleeps, works }
        }

        /// How many of `count` searches are tried, each of which finds something within a time or, with none, in vain.
        fn tries(&mut self, count: u32, found: impl Fn(u32) -> Option<Duration>) -> u32 {
            let mut tried = 0;
            for search in 0..count {
                // Without polls there is nothing to compare.
                let mut found_after = None;
                if (0..2).all(|looks| self.luck.may_look(looks, 0, self.now)) {
                    found_after = found(search);
                    let took = found_after.unwrap_or(SEARCH_MAX);
                    self.luck.note(2, found_after.is_some(), took);
                    tried += 1;
                }
                self.now += found_after.unwrap_or(self.sleeps);
                if found_after.is_none() {
                    self.luck.note_sleep(self.now);
                }
                self.now += self.works;
            }
            tried
        }

        /// How many of `count` first looks are made, each of which finds something.
        fn first_looks(&mut self, count: u32) -> u32 {
            let mut made = 0;
            for _ in 0..count {
                if self.luck.may_look(0, 0, self.now) {
                    self.luck.note(1, true, Duration::ZERO);
                    made += 1;
                } else {
                    self.now += self.sleeps;
                    self.luck.note_sleep(self.now);
                }
            }
            made
        }
    }

    const QUICKLY: Duration = Duration::from_micros(10);

    #[test]
    fn what_never_succeeds_is_tried_now_and_then() {
        let mut thread = Thread::new();
        assert_eq!(thread.tries(LEFT_OUT_AT_FIRST, |_| None), 0);
        assert_eq!(thread.tries(4, |_| None), 4);
        assert_eq!(thread.tries(63, |_| None), 0);
        assert_eq!(thread.tries(4, |_| None), 4);
        thread.tries(10_000, |_| None);
        let round = PAUSE.1 - 1 + 4;
        assert_eq!(thread.tries(100 * round, |_| None), 400);
    }

    #[test]
    fn what_mostly_succeeds_is_tried_but_for_comparison() {
        let found = |search| (search % 8 > 0).then_some(QUICKLY);
        assert!(Thread::new().tries(10_000, found) > 9_000);
    }

    #[test]
    fn what_costs_more_than_it_spares_is_tried_rarely() {
        let tried = Thread::new().tries(10_000, |search| (search % 4 == 0).then_some(QUICKLY));
        assert!(tried < 2000, "{tried}");
    }

    #[test]
    fn where_it_sleeps_for_long_nothing_is_tried_again() {
        let mut thread = Thread { sleeps: SOON, ..Thread::new() };
        assert_eq!(thread.tries(10_000, |_| None), 0);
        thread.sleeps = SOON / 2;
        assert_eq!(thread.tries(LEFT_OUT_AT_FIRST, |_| None), 0);
        thread.tries(4, |_| None);
        thread.sleeps = SOON;
        assert_eq!(thread.tries(10_000, |_| None), 0);
        thread.sleeps = SOON / 2;
        assert_eq!(thread.tries(63, |_| None), 0);
        assert!(thread.tries(1_000, |_| Some(QUICKLY)) > 900);
    }

    #[test]
    fn how_long_it_works_does_not_matter() {
        let mut thread = Thread { works: 2 * SOON, ..Thread::new() };
        assert_eq!(thread.tries(LEFT_OUT_AT_FIRST + 4 + 63 + 4, |_| None), 8);
    }

    #[test]
    fn better_times_are_noticed() {
        let mut thread = Thread::new();
        thread.tries(10_000, |_| None);
        thread.tries(PAUSE.1 + 8, |_| Some(QUICKLY));
        assert!(thread.tries(10_000, |_| Some(QUICKLY)) > 9_000);
        assert_eq!(thread.tries(8 + 63 + 4, |_| None), 12, "as if there had been no worse ones");
    }

    #[test]
    fn what_was_there_from_the_first_is_no_luck() {
        let mut thread = Thread::new();
        assert_eq!(thread.tries(LEFT_OUT_AT_FIRST, |_| None), 0);
        assert_eq!(thread.first_looks(10_000), 10_000);
        assert_eq!(thread.tries(4, |_| None), 4);
        assert_eq!(thread.first_looks(63), 0);
        assert_eq!(thread.first_looks(1_000), 1_000);
        assert_eq!(thread.tries(60, |_| None), 4, "nothing was won by them");
    }

    #[test]
    fn a_look_that_would_have_spared_a_sleep_is_made_even_while_searches_are_left_out() {
        let mut thread = Thread { sleeps: AT_ONCE / 2, ..Thread::new() };
        assert_eq!(thread.tries(LEFT_OUT_AT_FIRST + 4, |_| None), 4);
        assert_eq!(thread.first_looks(1_000), 1_000);
        assert_eq!(thread.tries(60, |_| None), 0, "a look is not a search");
        thread.sleeps = AT_ONCE;
        assert_eq!(thread.tries(1, |_| None), 0);
        assert_eq!(thread.first_looks(2), 0, "the last was a sleep");
    }

    #[test]
    fn a_search_without_end_costs_no_more_than_there_is() {
        let mut luck = Luck { credit: CREDIT_MAX, to_leave_out: 0, ..Luck::new() };
        luck.note(2, true, Duration::MAX);
        assert!(!luck.may_look(0, 0, Instant::now()));
    }
}
