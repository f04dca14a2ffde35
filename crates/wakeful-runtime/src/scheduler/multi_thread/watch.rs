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
use super::sitter::{CoreSection, Sitter};
use super::sleep::Slept;
use crate::blocking::Pool;
use crate::config::Config;
use crate::timers::Until;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// How many of the workers watch, at most.
const WATCHERS_MAX: usize = 2;

/// A runtime's watch. Not the models': there is no monitor in them.
pub(super) struct Watch {
    watchers: usize,
    watching: AtomicUsize,
}

impl Watch {
    pub(super) fn new(workers: usize, config: &Config, pool: &Pool) -> Watch {
        // A hook is code of the user's, which a watcher might get stuck in.
        let has_hooks =
            pool.has_start_hook() || config.before_park.is_some() || config.after_unpark.is_some();
        let is_on = config.stall.is_watched() && !config.stall.reports() && !has_hooks;
        let watchers = if is_on { workers.min(WATCHERS_MAX) } else { 0 };
        Watch { watchers, watching: watchers.into() }
    }

    /// Whether there is one. If not, the monitor is to be there from the first.
    pub(super) fn is_on(&self) -> bool {
        self.watchers > 0
    }

    /// How many have not run anything yet.
    pub(super) fn watching(&self) -> usize {
        self.watching.load(Relaxed)
    }

    /// A watcher leaves. True if it was the last.
    fn leave(&self) -> bool {
        self.watching.fetch_sub(1, AcqRel) == 1
    }
}

impl Sitter {
    /// For who is the first on its seat: watches, if that is its task.
    pub(super) fn watch(&self) {
        let shared = &self.shared;
        if self.index >= shared.watch.watchers {
            return;
        }
        self.watches.set(true);
        // No user code before the watch is over: nobody would see us stuck there.
        if !shared.has_visible_work() {
            self.fall_asleep(None, false);
        }
        self.leave_watch();
    }

    /// Rests until there is something to do. The watch may end meanwhile; for whoever counts sleeps this is one.
    pub(super) fn rest_on_watch(&self, until: &Until<'_>) -> Slept {
        let slept = self.rest(None, &until.at_most(self.shared.stalls.config.after));
        self.leave_watch();
        let is_idle = |core: CoreSection<'_>| core.is_idle() && core.foreign.is_empty();
        if !slept.was_called && self.seat().queue.is_empty() && self.enter().is_some_and(is_idle) {
            self.rest(None, until)
        } else {
            slept
        }
    }

    fn leave_watch(&self) {
        let shared = &self.shared;
        // A runtime that ends goes without.
        if self.watches.take() && !shared.is_stopping() && shared.watch.leave() {
            // Without a monitor tasks wait behind polls that block, as on other runtimes.
            if monitor::start(shared).is_err() {
                shared.keep_no_tasks();
            }
        }
    }
}
