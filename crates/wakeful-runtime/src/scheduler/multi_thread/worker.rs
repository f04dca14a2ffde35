//! A worker's loop.

use super::seat::SeatCore;
use super::sitter::Sitter;
use std::time::Instant;
use wakeful_task::Runnable;

impl Sitter {
    pub(super) fn run(&self) {
        let mut busy_since = Instant::now();
        loop {
            let Some(next) = self.next() else { return };
            match next {
                Next::Run(runnable) => self.run_task(runnable),
                Next::RunFound(runnable) => self.run_found(runnable),
                Next::Maintain => self.maintain(),
                Next::Nothing => {
                    let now = self.seat().metrics.add_busy(busy_since);
                    let _polls = self.measure_polls(now);
                    self.end_haul(now);
                    let found = self.run_dry(now);
                    let just_woke = self.enter().and_then(|core| core.just_woke);
                    busy_since = just_woke.unwrap_or_else(Instant::now);
                    if let Some(runnable) = found {
                        self.end_pause(busy_since);
                        self.run_found(runnable);
                    }
                }
                Next::Stop => {
                    self.seat().metrics.add_busy(busy_since);
                    return self.stop();
                }
            }
        }
    }

    /// What to do next; none if the seat is gone.
    #[inline]
    fn next(&self) -> Option<Next> {
        let mut core = self.enter()?;
        if core.until_maintenance == 0 {
            core.until_maintenance = self.shared.config.event_interval;
            return Some(if self.shared.is_stopping() { Next::Stop } else { Next::Maintain });
        }
        core.until_maintenance -= 1;
        core.until_inject -= 1;
        if core.until_inject == 0 {
            core.until_inject = core.pace.polls_between();
            if let Some(runnable) = self.shared.inject.pop() {
                return Some(Next::run(&core, runnable));
            }
        }
        let local = core.lifo.take().or_else(|| core.queue.pop(&self.seat().queue));
        Some(match local.or_else(|| self.take_injected(&mut core)) {
            Some(runnable) => Next::run(&core, runnable),
            None if core.has_deferred() => Next::Maintain,
            None => Next::Nothing,
        })
    }

    /// No task at hand `now`: looks around, and sleeps if there is nothing.
    fn run_dry(&self, now: Instant) -> Option<Runnable> {
        let aside_for = self.steps_back();
        let found = if aside_for.is_none() { self.search(now) } else { None };
        if found.is_none() {
            self.sleep(aside_for);
        }
        found
    }

    /// Runs what a search has led to.
    #[cold]
    fn run_found(&self, runnable: Runnable) {
        self.end_search();
        self.run_task(runnable);
    }

    fn stop(&self) {
        if let Some(core) = self.enter() {
            if core.searching {
                let _nobody_searches_for_a_stopping_runtime = self.shared.idle.end_search();
            }
        }
        let metrics = &self.seat().metrics;
        if metrics.parks.get() == 0 {
            // A runtime that stops before its workers have begun lets each sleep for no time.
            metrics.parks.add(1);
            metrics.unparks.add(1);
        }
        let left = self.seat().sitting.leave(&self.stay);
        debug_assert!(left, "only a seat whose sitter polls is taken from it");
        if self.shared.worker_stopped() {
            self.shared.clear_up();
        }
    }
}

enum Next {
    Run(Runnable),
    /// The worker was searching.
    RunFound(Runnable),
    /// The driver and clearing up are due, or nobody is left but tasks that gave way to them.
    Maintain,
    Nothing,
    Stop,
}

impl Next {
    #[inline]
    fn run(core: &SeatCore, runnable: Runnable) -> Next {
        if core.searching { Next::RunFound(runnable) } else { Next::Run(runnable) }
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "worker/tests/loom.rs"]
mod loom;
