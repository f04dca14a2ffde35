//! How a worker falls asleep, and wakes up.

use super::park_state::ParkOutcome;
use super::worker_thread::WorkerThread;
use crate::config::{self, Callback};
use crate::timers::Until;
use std::mem::take;
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::sync::hint;

impl WorkerThread {
    /// Sleeps until there is something to do: in the driver if that is free, unless it steps back, `aside_for` so long.
    pub(super) fn park(&self, aside_for: Option<Duration>) {
        self.clear_ended();
        let was_timer = self.serve_timers();
        self.call_external_wakers();
        self.call_hook(&self.scheduler.config.before_park);
        if self.park_if_idle(aside_for, was_timer) {
            self.call_hook(&self.scheduler.config.after_unpark);
        }
    }

    /// The sleep itself, unless there is something to do by now. No user code runs in here. False if the seat is lost.
    pub(super) fn park_if_idle(&self, aside_for: Option<Duration>, was_timer: bool) -> bool {
        let Some(mut core) = self.enter() else { return false };
        core.gathered.skip_search = was_timer;
        // What is in the own queue is not to be left there, however little it is.
        if core.is_idle() && self.worker().queue.is_empty() {
            let searching = take(&mut core.searching);
            let until =
                self.scheduler.info.time.until(&core.timers, || self.scheduler.lent_until());
            drop(core);
            self.park_unless_work(searching, aside_for, &until);
        }
        true
    }

    fn call_hook(&self, hook: &Option<Callback>) {
        if hook.is_some() {
            self.lease.call_back(|| config::call(hook));
        }
    }

    fn park_unless_work(
        &self,
        was_searching: bool,
        aside_for: Option<Duration>,
        until: &Until<'_>,
    ) {
        let (scheduler, worker) = (&*self.scheduler, self.worker());
        scheduler.idle.begin_park(self.index, was_searching);
        // Somebody has to be in the driver: the last one awake does not step back.
        let aside_for = aside_for.filter(|_| !scheduler.idle.are_all_parked());
        let sees_work = match aside_for {
            Some(_) => scheduler.has_work_for_all(),
            None => scheduler.has_visible_work(),
        };
        let mut was_in_driver = false;
        if !sees_work && !scheduler.is_stopping() {
            scheduler.stalls.monitor.note_park(|| scheduler.are_all_parked());
            worker.metrics.parks.add(1);
            self.precise.before_wait(until);
            let outcome = match self.is_watching.get() {
                true => self.wait_on_watch(until),
                false => self.wait(aside_for, until),
            };
            was_in_driver = outcome.was_in_driver;
            worker.metrics.unparks.add(1);
        } else {
            // What is seen and was not found is in somebody's hands just now.
            hint::spin_loop();
        }
        let now = Instant::now();
        let searching = scheduler.idle.end_park(self.index, sees_work);
        scheduler.stalls.monitor.note_unpark(now, || scheduler.is_only_one_awake());
        let was_timer = self.serve_timers();
        let mut core = self.enter().expect("a seat is not taken from a sitter that sleeps");
        core.searching = searching;
        // Woken by a timer, if only to see that it is not its time yet: nobody has work for us.
        let is_idle = core.is_idle() && worker.queue.is_empty();
        core.gathered.skip_search = !searching && (was_timer || is_idle);
        core.skip_look = was_in_driver || aside_for.is_some();
        self.measure_anew(&mut core, now);
        // Whatever woke us, stopping among it, is looked at first; wakers of others' are called then.
        core.until_maintenance = 0;
        core.just_woke = Some(now);
    }

    /// Rests where it may, until called or until there is something to do.
    pub(super) fn wait(&self, aside_for: Option<Duration>, until: &Until<'_>) -> ParkOutcome {
        let (driver, park_state) = (&self.scheduler.driver, &self.worker().park_state);
        let call = &mut |waker: Waker| self.wake(waker);
        self.gather(|| {
            if let Some(aside_for) = aside_for {
                park_state.park(None, until, call, || self.sleep_aside(until, aside_for))
            } else {
                park_state.park(Some(driver), until, call, || self.park_on_thread(until))
            }
        })
    }
}
