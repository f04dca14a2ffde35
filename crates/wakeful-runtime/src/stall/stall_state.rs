//! The state that a runtime keeps for its stalls.

use super::pinned_thread::{PinnedMonitor, PinnedThreads};
use super::recent;
use super::{LookSchedule, MonitorThread, Stall, StallConfig, StallMetrics, StallReporter};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use wakeful_task::recording;

/// After this many looks in a row that found all threads parked, a monitor sleeps even if a sleep
/// costs more than a look. Bounds how often an idle runtime's monitor wakes up.
const QUIET_LOOKS_MAX: u32 = 5;

/// The settings, the counters, the monitor's thread, and the threads whose tasks cannot move.
pub(crate) struct StallState {
    pub(crate) config: StallConfig,
    pub(crate) metrics: StallMetrics,
    pub(crate) monitor: MonitorThread,
    reporter: StallReporter,
    pub(super) pinned: PinnedThreads,
    is_handoff_lost: AtomicBool,
    /// The id of the runtime.
    runtime: u64,
}

impl StallState {
    pub(crate) fn new(config: StallConfig, runtime: u64) -> StallState {
        StallState {
            config,
            metrics: StallMetrics::default(),
            monitor: MonitorThread::new(),
            reporter: StallReporter::default(),
            pinned: PinnedThreads::default(),
            is_handoff_lost: AtomicBool::new(false),
            runtime,
        }
    }

    /// Notes that no worker can be handed off any more. Returns true the first time.
    pub(crate) fn note_handoff_lost(&self) -> bool {
        !self.is_handoff_lost.swap(true, Relaxed)
    }

    /// Returns whether no pinned thread is in a poll.
    pub(crate) fn are_pinned_idle(&self) -> bool {
        self.pinned.are_all_idle()
    }

    /// Starts the monitor, which runs `look`. If stalls are reported, starts the thread for that
    /// first.
    pub(crate) fn start_monitor(&self, look: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        if self.config.reports() {
            self.reporter.start(self.config.clone())?;
        }
        self.monitor.start(look)
    }

    /// Returns whether a stall is reported or kept.
    pub(crate) fn wants_reports(&self) -> bool {
        self.config.reports() || recording::is_on()
    }

    /// Queues a stall to be reported by the reporter's thread, and keeps it if tasks are recorded.
    pub(crate) fn report(&self, stall: Stall) {
        if recording::is_on() {
            recent::note(self.runtime, stall.clone());
        }
        self.reporter.report(stall);
    }

    /// Ends the reports. Called when the monitor has ended, after which there are no more stalls.
    pub(crate) fn end_reports(&self) {
        self.reporter.end();
    }

    /// Sleeps or waits for a tick, after `quiet_looks` looks that found all threads parked.
    ///
    /// Called by the monitor. Returns false if it should end.
    pub(crate) fn sleep_or_tick(
        &self,
        quiet_looks: u32,
        tick: Duration,
        are_all_parked: impl FnOnce() -> bool,
    ) -> bool {
        if self.monitor.is_sleep_cheap() || quiet_looks % QUIET_LOOKS_MAX == 0 {
            self.monitor.sleep_until_alarm(tick, are_all_parked)
        } else {
            // The tick may be long: parked threads cannot be stuck.
            self.monitor.tick(self.config.after)
        }
    }

    /// Waits for the reporter's thread to end. Does nothing on that thread itself.
    ///
    /// This may take long if a callback of the user blocks.
    pub(crate) fn join_reporter(&self) {
        self.reporter.join();
    }

    /// Starts a monitor for a current-thread runtime, if stalls are to be reported.
    ///
    /// All threads of such a runtime are pinned, so there is nothing to hand off.
    pub(crate) fn start_pinned_monitor(self: &Arc<Self>) -> io::Result<()> {
        if !self.config.reports() {
            return Ok(());
        }
        self.monitor.prepare();
        let on_drop = EndReportsOnDrop(self.clone());
        self.start_monitor(Box::new(move || {
            let stall_state = &*on_drop.0;
            let (mut monitor, mut quiet_looks) = (PinnedMonitor::default(), 0);
            let mut schedule = LookSchedule::default();
            loop {
                let now = Instant::now();
                let is_late = schedule.begin_look(now);
                let is_busy = monitor.look(stall_state, now, is_late);
                schedule.plan(now, is_late, is_busy.then_some(stall_state.config.after));
                quiet_looks = if is_busy { 0 } else { quiet_looks + 1 };
                let should_continue = if is_busy {
                    stall_state.monitor.tick(stall_state.config.after)
                } else {
                    stall_state.sleep_or_tick(quiet_looks, stall_state.config.after, || {
                        stall_state.are_pinned_idle()
                    })
                };
                if !should_continue {
                    return;
                }
            }
        }))
    }
}

/// Ends the reporter's thread when the monitor ends, by a panic too.
struct EndReportsOnDrop(Arc<StallState>);

impl Drop for EndReportsOnDrop {
    fn drop(&mut self) {
        self.0.end_reports();
    }
}
