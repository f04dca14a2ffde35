//! The lazy start of the monitor.
//!
//! Starting a thread costs more than many short-lived runtimes, such as those of tests, do in their
//! whole life. So the workers start the monitor, once it might be needed:
//!
//! ```text
//!   watcher ──▶ is there work? ──no──▶ parks, `stall_after` at most ──▶ ends its watch, proceeds
//!                   │ yes                                                  │
//!                   └──────────────────────────────────────────────────────┘
//!                                                       the last watcher starts the monitor
//! ```
//!
//! The first two workers **watch** before they run anything. While one of them watches there is no
//! monitor, but a watch lasts for `stall_after` at most, so a stuck worker is looked at soon. Two
//! watchers suffice for any number of workers: in most short-lived runtimes one of the two is still
//! parked at the end.
//!
//! A runtime with thread hooks or stall reports has no watch: its monitor is started with it.

use super::monitor;
use super::park_state::ParkOutcome;
use super::worker_thread::{CoreSection, WorkerThread};
use crate::blocking::Pool;
use crate::config::Config;
use crate::timers::Until;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// How many workers watch at most. With only one, a single task could start the monitor.
const WATCHERS_MAX: usize = 2;

/// The watch of a runtime. Std's atomics even under loom: the models have no monitor.
pub(super) struct LazyMonitor {
    watchers: usize,
    watching: AtomicUsize,
}

impl LazyMonitor {
    pub(super) fn new(workers: usize, config: &Config, pool: &Pool) -> LazyMonitor {
        // A hook is user code, in which a watcher might get stuck.
        let has_hooks =
            pool.has_start_hook() || config.before_park.is_some() || config.after_unpark.is_some();
        let is_enabled = config.stall.is_watched() && !config.stall.reports() && !has_hooks;
        let watchers = if is_enabled { workers.min(WATCHERS_MAX) } else { 0 };
        LazyMonitor { watchers, watching: watchers.into() }
    }

    /// Returns whether there is a watch. If not, the monitor is started with the runtime.
    pub(super) fn is_enabled(&self) -> bool {
        self.watchers > 0
    }

    /// Ends the watch of one watcher. Returns true if it was the last.
    fn remove_watcher(&self) -> bool {
        self.watching.fetch_sub(1, AcqRel) == 1
    }
}

impl WorkerThread {
    /// Watches before the thread runs anything, if its worker is one of the watchers.
    pub(super) fn watch(&self) {
        let scheduler = &self.scheduler;
        if self.index >= scheduler.lazy_monitor.watchers {
            return;
        }
        self.is_watching.set(true);
        // No user code may run before the watch ends: no monitor would see the thread stuck in it.
        if !scheduler.has_visible_work() {
            self.park_if_idle();
        }
        self.leave_watch();
    }

    /// Parks a watcher until there is something to do. The watch may end meanwhile; the metrics
    /// count that as one park.
    pub(super) fn wait_on_watch(&self, until: &Until<'_>) -> ParkOutcome {
        let outcome = self.wait(&until.at_most(self.scheduler.stalls.config.after));
        self.leave_watch();
        let is_idle = |core: CoreSection<'_>| core.is_idle() && core.external_wakers.is_empty();
        if !outcome.was_notified
            && self.worker().queue.is_empty()
            && self.enter().is_some_and(is_idle)
        {
            self.wait(until)
        } else {
            outcome
        }
    }

    fn leave_watch(&self) {
        let scheduler = &self.scheduler;
        // A runtime that is stopping needs no monitor.
        if self.is_watching.take()
            && !scheduler.is_stopping()
            && scheduler.lazy_monitor.remove_watcher()
        {
            // Without a monitor, tasks wait behind polls that block, as on other runtimes.
            if let Err(error) = monitor::start(scheduler) {
                scheduler.lose_handoff(&format!("the monitor's thread cannot be started: {error}"));
            }
        }
    }
}
