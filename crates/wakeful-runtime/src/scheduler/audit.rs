//! Whether searches are worth their CPU time.
//!
//! ```text
//!   searches, a few ─▶ probe ─▶ does more get done with searches than with sleeps?
//!     ▲    ▲                      │yes                             │no
//!     │    └──── many searches ───┤                                ▼
//!     │                           │                     comparison: so many searches, so many sleeps
//!     │                           └──no── is a poll dearer, in CPU time, with searches?
//!     │                                                            │yes
//!     └──────────────────────────── many sleeps ───────────────────┘
//! ```
//!
//! In a **probe** some sleeps are strewn between searches. If what comes next is an answer to what we did, a sleep puts it off, and there are fewer polls
//! in the same time. Then a search gets more done, and is worth it. If things come at their own pace, there are as many: the peer
//! gains by a search, but no more than a wake-up's time each, and it is asked what that costs. Only then does a **comparison** do
//! any harm: two who wait for each other's answers, and sleep a lot, take longer and longer to wake up.

use super::doubling::Doubling;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use wakeful_base::cpu_time;

/// So many searches come before a probe, at least: our peer may have slept with us.
const UNCOUNTED: u32 = 8;

/// How many times the thread runs dry in a probe, at most.
const PROBE: u32 = 128;

/// Of so many, it sleeps once. What was done from then on is compared with what was done from a search on.
const PROBE_EVERY: u32 = 8;

/// So many rounds count from there: what came during a sleep makes the next search shorter.
const COUNTED_ROUNDS: u32 = 2;

/// How many searches are compared with as many sleeps.
const COMPARED: u32 = 64;

/// So many searches, or [short sleeps](super::luck), go by until the next probe, at first and at last: twice as many each time.
const VALID_FOR: (u32, u32) = (512, 16_384);

/// What to do before a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    Search,
    Sleep,
    /// This time, and so many times in all.
    SleepFor(u32),
}

pub(super) struct Audit {
    phase: Phase,
    /// How often the thread runs dry until the next phase.
    left: u32,
    /// How long the next verdict for searches will hold, and the next against.
    search_for: Doubling<u32>,
    sleep_for: Doubling<u32>,
    cpu_time: fn() -> Option<Duration>,
}

#[derive(Clone, Copy)]
enum Phase {
    Uncounted,
    Probe(Probe),
    Searches { since: Mark },
    Sleeps { searches: Cost, since: Mark },
}

/// Pairs of a search and a sleep, each with what was done from then on. Each pair has one voice: where the thread or its peer was kept from its CPU for
/// a while there are a hundred polls at once, or none for long, which would outweigh all others.
#[derive(Clone, Copy, Default)]
struct Probe {
    pairs: u32,
    /// Those in which more was done with the search, by a quarter.
    for_searches: u32,
    /// How many polls there were when one of them began, and when that was.
    begun: Option<(u64, Instant)>,
    /// What came of the search that a sleep is yet to be compared with.
    searched: Option<Rate>,
}

/// So many polls in that time.
#[derive(Clone, Copy)]
struct Rate {
    polls: u64,
    took: Duration,
}

impl Rate {
    fn is_much_quicker_than(self, other: Rate) -> bool {
        let product = |polls: u64, took: Duration| u128::from(polls) * took.as_nanos();
        4 * product(self.polls, other.took) > 5 * product(other.polls, self.took)
    }
}

impl Probe {
    /// What to do when the thread runs dry for the last time but `left`.
    fn advise(&mut self, left: u32, polls: u64, now: Instant) -> Advice {
        const SLEEP: u32 = PROBE_EVERY / 2;
        const SLEPT: u32 = SLEEP + COUNTED_ROUNDS;
        match PROBE_EVERY - 1 - left % PROBE_EVERY {
            0 => self.begun = Some((polls, now)),
            COUNTED_ROUNDS => self.searched = self.end_count(polls, now),
            SLEEP => {
                self.begun = Some((polls, now));
                return Advice::Sleep;
            }
            SLEPT => {
                let slept = self.end_count(polls, now);
                if let (Some(searched), Some(slept)) = (self.searched.take(), slept) {
                    self.pairs += 1;
                    self.for_searches += u32::from(searched.is_much_quicker_than(slept));
                }
            }
            _ => {}
        }
        Advice::Search
    }

    /// None if nothing was done.
    fn end_count(&mut self, polls: u64, now: Instant) -> Option<Rate> {
        let (before, since) = self.begun.take()?;
        let took = now.saturating_duration_since(since);
        (polls > before).then(|| Rate { polls: polls - before, took })
    }

    /// Whether three of four pairs, or all that there are, speak for searches.
    fn is_for_searches(&self) -> bool {
        4 * self.for_searches >= 3 * self.pairs
    }

    /// Whether it will not be, whatever comes.
    fn is_against_searches(&self) -> bool {
        4 * (self.pairs - self.for_searches) > PROBE / PROBE_EVERY
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    cpu_ns: u64,
    polls: u64,
}

impl Cost {
    /// Whether a poll costs more than in `other`, and by more than chance; false if there were none.
    fn is_more_than(self, other: Cost) -> bool {
        let product = |ns: u64, polls: u64| u128::from(ns) * u128::from(polls);
        other.polls > 0
            && 25 * product(self.cpu_ns, other.polls) > 26 * product(other.cpu_ns, self.polls)
    }
}

/// A point in a thread's life.
#[derive(Clone, Copy)]
struct Mark {
    cpu_time: Duration,
    polls: u64,
    thread: ThreadId,
}

impl Mark {
    /// What the thread has done from then to `now`; none if it is not the same.
    fn until(self, now: Mark) -> Option<Cost> {
        let cpu_time = now.cpu_time.checked_sub(self.cpu_time)?;
        let polls = now.polls.checked_sub(self.polls)?;
        let cpu_ns = u64::try_from(cpu_time.as_nanos()).ok()?;
        (self.thread == now.thread).then_some(Cost { cpu_ns, polls })
    }
}

impl Audit {
    pub(super) fn new() -> Audit {
        Audit {
            phase: Phase::Uncounted,
            left: UNCOUNTED,
            search_for: Doubling::new(VALID_FOR),
            sleep_for: Doubling::new(VALID_FOR),
            cpu_time: cpu_time::of_this_thread,
        }
    }

    /// Searches were in vain, and there are none for a while: what is done meanwhile does not count.
    pub(super) fn interrupt(&mut self) {
        match &mut self.phase {
            Phase::Uncounted => {}
            Phase::Probe(probe) => probe.begun = None,
            Phase::Searches { .. } | Phase::Sleeps { .. } => {
                (self.phase, self.left) = (Phase::Uncounted, UNCOUNTED);
            }
        }
    }

    /// What to do `now`, by a thread that has made so many polls.
    pub(super) fn advise(&mut self, polls: u64, now: Instant) -> Advice {
        if self.left == 0 {
            if let Some(sleeps) = self.next_phase(polls) {
                return Advice::SleepFor(sleeps);
            }
        }
        self.left -= 1;
        match &mut self.phase {
            Phase::Uncounted | Phase::Searches { .. } => Advice::Search,
            Phase::Probe(probe) => {
                let advice = probe.advise(self.left, polls, now);
                if probe.is_against_searches() {
                    self.left = 0;
                }
                advice
            }
            Phase::Sleeps { .. } => Advice::Sleep,
        }
    }

    /// With how many sleeps it begins, if these are no part of an audit.
    fn next_phase(&mut self, polls: u64) -> Option<u32> {
        let mark = || {
            let cpu_time = (self.cpu_time)()?;
            Some(Mark { cpu_time, polls, thread: thread::current().id() })
        };
        let next = match &mut self.phase {
            Phase::Uncounted => Some((Phase::Probe(Probe::default()), PROBE)),
            Phase::Probe(probe) => {
                let since = mark().filter(|_| !probe.is_for_searches());
                since.map(|since| (Phase::Searches { since }, COMPARED))
            }
            Phase::Searches { since } => mark().and_then(|now| {
                let searches = since.until(now)?;
                Some((Phase::Sleeps { searches, since: now }, COMPARED))
            }),
            Phase::Sleeps { searches, since } => {
                let sleeps = mark().and_then(|now| since.until(now));
                if sleeps.is_some_and(|sleeps| searches.is_more_than(sleeps)) {
                    (self.phase, self.left) = (Phase::Uncounted, UNCOUNTED);
                    self.search_for.begin_anew();
                    return Some(self.sleep_for.take());
                }
                None
            }
        };
        (self.phase, self.left) = next.unwrap_or_else(|| {
            self.sleep_for.begin_anew();
            (Phase::Uncounted, self.search_for.take())
        });
        None
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;

    std::thread_local! {
        static CPU_NS: Cell<u64> = const { Cell::new(0) };
    }

    /// What comes of running dry once: so many polls, after such a time, which cost so much.
    #[derive(Clone, Copy)]
    struct Round {
        polls: u64,
        took: Duration,
        cpu_ns: u64,
    }

    const fn round(polls: u64, took_us: u64, cpu_ns: u64) -> Round {
        Round { polls, took: Duration::from_micros(took_us), cpu_ns }
    }

    /// A thread whose CPU time is what the test says.
    struct Work {
        audit: Audit,
        polls: u64,
        now: Instant,
        /// Sleeps that it was told of.
        to_sleep: u32,
    }

    impl Work {
        fn new() -> Work {
            let cpu_time = || Some(Duration::from_nanos(CPU_NS.get()));
            let audit = Audit { cpu_time, ..Audit::new() };
            Work { audit, polls: 0, now: Instant::now(), to_sleep: 0 }
        }

        /// How often it searches in `count` rounds.
        fn go_on(&mut self, count: u32, search: Round, sleep: Round) -> u32 {
            let mut searched = 0;
            for _ in 0..count {
                let advice = match self.to_sleep {
                    0 => self.audit.advise(self.polls, self.now),
                    _ => Advice::SleepFor(self.to_sleep),
                };
                self.to_sleep = if let Advice::SleepFor(count) = advice { count - 1 } else { 0 };
                let round = if advice == Advice::Search { search } else { sleep };
                searched += u32::from(advice == Advice::Search);
                self.polls += round.polls;
                self.now += round.took;
                CPU_NS.set(CPU_NS.get() + round.cpu_ns);
            }
            searched
        }
    }

    /// A poll costs 5 µs, a sleep as much, a search 10.
    const SEARCH: Round = round(1, 20, 15_000);
    const SLEEP_IN_A_STREAM: Round = round(2, 40, 15_000);
    const SLEEP_BETWEEN_ANSWERS: Round = round(1, 40, 10_000);

    #[test]
    fn where_one_answer_leads_to_the_next_searches_go_on() {
        let searched = Work::new().go_on(100_000, SEARCH, SLEEP_BETWEEN_ANSWERS);
        assert!(searched > 99_000, "{searched}");
    }

    #[test]
    fn where_things_come_anyhow_they_go_on_if_they_cost_little() {
        let searched = Work::new().go_on(100_000, round(1, 20, 7_600), SLEEP_IN_A_STREAM);
        assert!(searched > 98_000, "{searched}");
    }

    #[test]
    fn where_things_come_anyhow_and_searches_cost_more_they_are_left_out() {
        let searched = Work::new().go_on(100_000, SEARCH, SLEEP_IN_A_STREAM);
        assert!((300..1_500).contains(&searched), "{searched}: tried later and later");
    }

    #[test]
    fn one_round_with_much_to_do_is_not_mistaken_for_many() {
        let mut work = Work::new();
        let mut go_on = |once: Round, sleep| -> u32 {
            let rounds =
                (0..100).map(|_| work.go_on(999, SEARCH, sleep) + work.go_on(1, once, once));
            rounds.sum()
        };
        // Kept from its CPU, and then at once.
        let searched = go_on(round(100, 2_000, 500_000), SLEEP_IN_A_STREAM);
        assert!(searched < 8_000, "{searched}");
        let searched = go_on(round(100, 0, 500_000), SLEEP_BETWEEN_ANSWERS);
        assert!(searched > 80_000, "{searched}");
    }

    #[test]
    fn what_came_during_a_sleep_is_no_reason_to_search() {
        let mut work = Work::new();
        let mut was_asleep = false;
        let mut searched = 0;
        for _ in 0..100_000 {
            // A stream with a poll every 20 µs; after a sleep the worker is 15 µs behind, which the next search makes good.
            let search = round(1, if was_asleep { 5 } else { 20 }, 15_000);
            let has_searched =
                work.go_on(1, search, round(2, if was_asleep { 40 } else { 55 }, 15_000));
            was_asleep = has_searched == 0;
            searched += has_searched;
        }
        assert!(searched < 4_000, "{searched}");
    }

    #[test]
    fn other_times_are_noticed() {
        let mut work = Work::new();
        work.go_on(100_000, SEARCH, SLEEP_IN_A_STREAM);
        let searched = work.go_on(100_000, SEARCH, SLEEP_BETWEEN_ANSWERS);
        assert!(searched > 80_000, "{searched}");
        work.go_on(20_000, SEARCH, SLEEP_IN_A_STREAM);
        let searched = work.go_on(100_000, SEARCH, SLEEP_IN_A_STREAM);
        assert!(searched < 4_000, "{searched}");
    }

    #[test]
    fn without_a_clock_or_without_polls_nothing_is_concluded() {
        let mut work = Work::new();
        work.audit.cpu_time = || None;
        assert!(work.go_on(100_000, SEARCH, SLEEP_IN_A_STREAM) > 99_000);
        let mut audit = Audit::new();
        assert!(
            (0..10_000).all(|_| !matches!(audit.advise(0, Instant::now()), Advice::SleepFor(_)))
        );
    }

    #[test]
    fn what_is_done_while_there_are_no_searches_does_not_count() {
        let mut work = Work::new();
        for _ in 0..1_000 {
            work.go_on(50, SEARCH, SLEEP_BETWEEN_ANSWERS);
            work.audit.interrupt();
            work.polls += 1_000;
            assert_eq!(work.to_sleep, 0);
        }
    }

    #[test]
    fn what_another_thread_has_used_is_not_compared() {
        let mark = |ns, thread| Mark { cpu_time: Duration::from_nanos(ns), polls: ns, thread };
        let (own, other) = (thread::current().id(), thread::spawn(|| ()).thread().id());
        assert_eq!(mark(1, own).until(mark(11, own)), Some(Cost { cpu_ns: 10, polls: 10 }));
        assert_eq!(mark(1, own).until(mark(11, other)), None);
        assert_eq!(mark(11, own).until(mark(1, own)), None);
    }
}
