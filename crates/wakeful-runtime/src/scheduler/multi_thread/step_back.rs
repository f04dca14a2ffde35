//! A worker that is not needed where no CPU is free for it.
//!
//! With more threads that want to run than there are CPUs, a worker with next to nothing to do is in the way
//! of those that have something: of the others, and of the very program that waits for our answers. Waiting in
//! the driver it would be woken by each event that comes while the others work, and take the CPU of who caused
//! it for a single task; and when it is through it would take some more from a queue that its owner gets to
//! soon. So it **steps back**: it does not search, takes nothing, and sleeps outside of the driver until it
//! is called, or for a while (the crowd may have gone, and then it is welcome: [`Absence`]), provided that
//!
//! - another worker is awake, whose polls are so short that it looks at the driver soon, and
//! - no queue is so long that somebody should be called all the same ([`Load::is_worth_a_cpu`]).
//!
//! Who is the last to fall asleep always goes into the driver: it sees that by the count of sleepers, which it
//! has added itself to ([`Idle`](super::idle)). One that is awake and does not look at the driver, against what its
//! polls were like before, is the monitor's to see; it calls a sleeper, and who then runs dry finds polls that
//! are long ([`Load::open`]). So without the hand-off nobody steps back.
//!
//! [`Load::is_worth_a_cpu`]: super::share::Load::is_worth_a_cpu
//! [`Load::open`]: super::share::Load::open

use super::seat::Seat;
use super::sitter::Sitter;
use crate::timers::Until;
use std::cell::Cell;
use std::ptr;
use std::thread;
use std::time::Duration;

/// So soon must another worker look at the driver.
const LOOKS_WITHIN_NS: u64 = 2_000_000;

/// For how long a worker that steps back stays away, unless it is called.
///
/// Who else wants to run may want to for a moment only, and then the CPU is idle until the worker comes back; where it
/// is always so, each look takes the CPU from who needs it. So at first it gives way once, and each time it stays away
/// for twice as long as the last, or, once there was room, for half as long.
pub(super) struct Absence(Cell<Duration>);

const ABSENT_MIN: Duration = Duration::from_micros(50);
const ABSENT_MAX: Duration = Duration::from_millis(5);

impl Absence {
    pub(super) fn new() -> Absence {
        Absence(Cell::new(Duration::ZERO))
    }

    fn begin(&self) -> Duration {
        self.0.replace((2 * self.0.get()).clamp(ABSENT_MIN, ABSENT_MAX))
    }

    fn was_needless(&self) {
        let half = self.0.get() / 2;
        self.0.set(if half < ABSENT_MIN { Duration::ZERO } else { half });
    }
}

impl Sitter {
    /// Whether this worker, which has nothing to do, steps back.
    pub(super) fn steps_back(&self) -> bool {
        let shared = &self.shared;
        let steps_back = shared.may_keep_tasks()
            && shared.seats.iter().any(|seat| self.is_at_work(seat))
            && !shared.has_work_for_all()
            && shared.crowd.is_overfull();
        if !steps_back {
            self.absence.was_needless();
        }
        steps_back
    }

    /// Whether another worker sits on `seat`, who is awake and looks at the driver soon.
    fn is_at_work(&self, seat: &Seat) -> bool {
        let polls = self.shared.config.event_interval as usize;
        !ptr::eq(seat, self.seat())
            && !seat.sleep.is_asleep()
            && seat.load.gets_through(polls, LOOKS_WITHIN_NS)
    }

    /// Sleeps outside of the driver until called, until a timer of its own is due, or for a while.
    pub(super) fn sleep_aside(&self, until: &Until<'_>) {
        let absent = self.absence.begin();
        if absent.is_zero() {
            return thread::yield_now();
        }
        self.parker.park_timeout(until.on_thread().map_or(absent, |left| left.min(absent)));
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_the_way_again_and_again_stays_away_for_longer() {
        let absence = Absence::new();
        assert!(absence.begin().is_zero());
        assert_eq!(absence.begin(), ABSENT_MIN);
        assert_eq!(absence.begin(), 2 * ABSENT_MIN);
        for _ in 0..100 {
            absence.begin();
        }
        assert_eq!(absence.begin(), ABSENT_MAX);
        absence.was_needless();
        assert_eq!(absence.begin(), ABSENT_MAX / 2);
        for _ in 0..100 {
            absence.was_needless();
        }
        assert!(absence.begin().is_zero());
    }
}
