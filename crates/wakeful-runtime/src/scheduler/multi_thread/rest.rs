//! How a worker falls asleep, and wakes up.

use super::sitter::Sitter;
use super::sleep::Slept;
use crate::config::{self, Callback};
use crate::timers::Until;
use std::mem::take;
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::sync::hint;

impl Sitter {
    /// Sleeps until there is something to do: in the driver if that is free, unless it steps back, `aside_for` so long.
    pub(super) fn sleep(&self, aside_for: Option<Duration>) {
        self.clear_ended();
        let was_timer = self.serve_timers();
        self.call_foreign();
        self.call_hook(&self.shared.config.before_park);
        if self.fall_asleep(aside_for, was_timer) {
            self.call_hook(&self.shared.config.after_unpark);
        }
    }

    /// The sleep itself, unless there is something to do by now. No user code runs in here. False if the seat is lost.
    pub(super) fn fall_asleep(&self, aside_for: Option<Duration>, was_timer: bool) -> bool {
        let Some(mut core) = self.enter() else { return false };
        core.gathered.skip_search = was_timer;
        // What is in the own queue is not to be left there, however little it is.
        if core.is_idle() && self.seat().queue.is_empty() {
            let searching = take(&mut core.searching);
            let until = self.shared.info.time.until(&core.timers, || self.shared.lent_until());
            drop(core);
            self.sleep_unless_work(searching, aside_for, &until);
        }
        true
    }

    fn call_hook(&self, hook: &Option<Callback>) {
        if hook.is_some() {
            self.stay.call_back(|| config::call(hook));
        }
    }

    fn sleep_unless_work(
        &self,
        was_searching: bool,
        aside_for: Option<Duration>,
        until: &Until<'_>,
    ) {
        let (shared, seat) = (&*self.shared, self.seat());
        shared.idle.begin_sleep(self.index, was_searching);
        // Somebody has to be in the driver: the last one awake does not step back.
        let aside_for = aside_for.filter(|_| !shared.idle.are_all_asleep());
        let sees_work = match aside_for {
            Some(_) => shared.has_work_for_all(),
            None => shared.has_visible_work(),
        };
        let mut was_in_driver = false;
        if !sees_work && !shared.is_stopping() {
            shared.stalls.monitor.note_asleep(|| shared.are_all_asleep());
            seat.metrics.parks.add(1);
            self.precise.wait(until);
            let slept = match self.watches.get() {
                true => self.rest_on_watch(until),
                false => self.rest(aside_for, until),
            };
            was_in_driver = slept.was_in_driver;
            seat.metrics.unparks.add(1);
        } else {
            // What is seen and was not found is in somebody's hands just now.
            hint::spin_loop();
        }
        let now = Instant::now();
        let searching = shared.idle.end_sleep(self.index, sees_work);
        shared.stalls.monitor.note_awake(now, || shared.is_one_awake());
        let was_timer = self.serve_timers();
        let mut core = self.enter().expect("a seat is not taken from a sitter that sleeps");
        core.searching = searching;
        // Woken by a timer, if only to see that it is not its time yet: nobody has work for us.
        let is_idle = core.is_idle() && seat.queue.is_empty();
        core.gathered.skip_search = !searching && (was_timer || is_idle);
        core.skip_look = was_in_driver || aside_for.is_some();
        self.measure_anew(&mut core, now);
        // Whatever woke us, stopping among it, is looked at first; wakers of others' are called then.
        core.until_maintenance = 0;
        core.just_woke = Some(now);
    }

    /// Rests where it may, until called or until there is something to do.
    pub(super) fn rest(&self, aside_for: Option<Duration>, until: &Until<'_>) -> Slept {
        let (driver, sleep) = (&self.shared.driver, &self.seat().sleep);
        let call = &mut |waker: Waker| self.wake(waker);
        self.gather(|| {
            if let Some(aside_for) = aside_for {
                sleep.sleep(None, until, call, || self.sleep_aside(until, aside_for))
            } else {
                sleep.sleep(Some(driver), until, call, || self.sleep_on_thread(until))
            }
        })
    }
}
