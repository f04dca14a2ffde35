//! A worker that is not needed where no CPU is free for it.
//!
//! With more threads that want to run than there are CPUs, a worker with next to nothing to do is in the way
//! of those that have something: of the others, and of the very program that waits for our answers. Waiting in
//! the driver it would be woken by each event that comes while the others work, and take the CPU of who caused
//! it for a single task; and when it is through it would take some more from a queue that its owner gets to
//! soon. So it **steps back**: it does not search, takes nothing, and sleeps outside of the driver until it
//! is called, or for [`STEPS_BACK_FOR`] (the crowd may have gone, and then it is welcome), provided that
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

use super::worker::Worker;
use super::worker_thread::WorkerThread;
use crate::timers::Until;
use std::ptr;
use std::time::Duration;

/// So soon must another worker look at the driver.
const LOOKS_WITHIN_NS: u64 = 2_000_000;

/// After that a worker that has stepped back looks whether it still should, at first and at last: many a crowd is gone in no time.
pub(super) const STEPS_BACK_FOR: (Duration, Duration) =
    (Duration::from_micros(500), Duration::from_millis(5));

impl WorkerThread {
    /// For how long this worker, which has nothing to do, steps back at most, if it does.
    pub(super) fn steps_back(&self) -> Option<Duration> {
        let scheduler = &self.scheduler;
        let is_needed = !scheduler.may_keep_tasks()
            || !scheduler.workers.iter().any(|worker| self.is_at_work(worker))
            || scheduler.has_work_for_all();
        let away_for = self.stays_away();
        if is_needed {
            return None;
        }
        away_for.or_else(|| {
            let is_crowded = scheduler.crowd.is_overfull(scheduler.idle.awake());
            let mut core = self.enter()?;
            if !is_crowded {
                core.steps_back_for.begin_anew();
            }
            is_crowded.then(|| core.steps_back_for.take())
        })
    }

    /// Whether another worker sits on `worker`, who is awake and looks at the driver soon.
    fn is_at_work(&self, worker: &Worker) -> bool {
        let polls = self.scheduler.config.event_interval as usize;
        !ptr::eq(worker, self.worker())
            && !worker.park_state.is_parked()
            && worker.load.finishes_within(polls, LOOKS_WITHIN_NS)
    }

    /// Sleeps outside of the driver until called, until a timer of its own is due, or for so long.
    pub(super) fn sleep_aside(&self, until: &Until<'_>, aside_for: Duration) {
        let left = until.on_thread().unwrap_or(aside_for);
        self.parker.park_timeout(left.min(aside_for));
    }
}
