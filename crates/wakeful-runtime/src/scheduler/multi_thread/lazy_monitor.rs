//! Who sees to it that a runtime gets its monitor.
//!
//! A thread costs more than many a runtime does in its whole life: one that is made for a test, say. So the monitor is
//! started by the workers, once it might be missed:
//!
//! ```text
//!   watcher ──▶ is there work? ──no──▶ sleeps, for `stall_after` at most ──▶ leaves the watch, works or sleeps on
//!                   │ yes                                                      │
//!                   └──────────────────────────────────────────────────────────┘ the last to leave starts the monitor
//! ```
//!
//! The first two workers **watch** before they run anything. As long as one of them does, whoever gets stuck is looked
//! at: the watch ends after `stall_after` at the latest. Two are enough, whatever the number of workers, and most runtimes
//! that are gone sooner than that leave one of them asleep.
//!
//! Where threads have hooks to call, or somebody wants to know of stalls, there is no watch: the monitor is there from the
//! first.

use super::monitor;
use super::park_state::ParkOutcome;
use super::worker_thread::{CoreSection, WorkerThread};
use crate::blocking::Pool;
use crate::config::Config;
use crate::timers::Until;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// How many of the workers watch, at most.
const WATCHERS_MAX: usize = 2;

/// A runtime's watch. Not the models': there is no monitor in them.
pub(super) struct LazyMonitor {
    watchers: usize,
    watching: AtomicUsize,
}

impl LazyMonitor {
    pub(super) fn new(workers: usize, config: &Config, pool: &Pool) -> LazyMonitor {
        // A hook is code of the user's, which a watcher might get stuck in.
        let has_hooks =
            pool.has_start_hook() || config.before_park.is_some() || config.after_unpark.is_some();
        let is_enabled = config.stall.is_watched() && !config.stall.reports() && !has_hooks;
        let watchers = if is_enabled { workers.min(WATCHERS_MAX) } else { 0 };
        LazyMonitor { watchers, watching: watchers.into() }
    }

    /// Whether there is one. If not, the monitor is to be there from the first.
    pub(super) fn is_enabled(&self) -> bool {
        self.watchers > 0
    }

    /// How many have not run anything yet.
    pub(super) fn watching(&self) -> usize {
        self.watching.load(Relaxed)
    }

    /// A watcher leaves. True if it was the last.
    fn remove_watcher(&self) -> bool {
        self.watching.fetch_sub(1, AcqRel) == 1
    }
}

impl WorkerThread {
    /// For who is the first on its seat: watches, if that is its task.
    pub(super) fn watch(&self) {
        let scheduler = &self.scheduler;
        if self.index >= scheduler.lazy_monitor.watchers {
            return;
        }
        self.is_watching.set(true);
        // No user code before the watch is over: nobody would see us stuck there.
        if !scheduler.has_visible_work() {
            self.park_if_idle(None, false);
        }
        self.leave_watch();
    }

    /// Rests until there is something to do. The watch may end meanwhile; for whoever counts sleeps this is one.
    pub(super) fn wait_on_watch(&self, until: &Until<'_>) -> ParkOutcome {
        let outcome = self.wait(None, &until.at_most(self.scheduler.stalls.config.after));
        self.leave_watch();
        let is_idle = |core: CoreSection<'_>| core.is_idle() && core.external_wakers.is_empty();
        if !outcome.was_notified
            && self.worker().queue.is_empty()
            && self.enter().is_some_and(is_idle)
        {
            self.wait(None, until)
        } else {
            outcome
        }
    }

    fn leave_watch(&self) {
        let scheduler = &self.scheduler;
        // A runtime that ends goes without.
        if self.is_watching.take()
            && !scheduler.is_stopping()
            && scheduler.lazy_monitor.remove_watcher()
        {
            // Without a monitor tasks wait behind polls that block, as on other runtimes.
            if monitor::start(scheduler).is_err() {
                scheduler.keep_no_tasks();
            }
        }
    }
}
