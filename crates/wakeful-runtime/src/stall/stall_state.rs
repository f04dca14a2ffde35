//! What a runtime has for its stalls.

use super::pinned_thread::{PinnedMonitor, PinnedThreads};
use super::{MonitorThread, Stall, StallConfig, StallMetrics, StallReporter};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After so many looks at nothing but sleepers a monitor rests, if that is dear.
const QUIET_LOOKS_MAX: u32 = 5;

/// The settings, the counts, and the monitor.
pub(crate) struct StallState {
    pub(crate) config: StallConfig,
    pub(crate) metrics: StallMetrics,
    pub(crate) monitor: MonitorThread,
    reporter: StallReporter,
    pub(super) pinned: PinnedThreads,
}

impl StallState {
    pub(crate) fn new(config: StallConfig) -> StallState {
        StallState {
            config,
            metrics: StallMetrics::default(),
            monitor: MonitorThread::new(),
            reporter: StallReporter::default(),
            pinned: PinnedThreads::default(),
        }
    }

    /// Whether every thread in `block_on` is between two polls.
    pub(crate) fn are_pinned_idle(&self) -> bool {
        self.pinned.are_all_idle()
    }

    /// Starts the monitor, which runs `look`, and what it needs to tell of stalls.
    pub(crate) fn start_monitor(&self, look: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        if self.config.reports() {
            self.reporter.start(self.config.clone())?;
        }
        self.monitor.start(look)
    }

    /// Tells those who want to know, some time. For the monitor.
    pub(crate) fn report(&self, stall: Stall) {
        self.reporter.report(stall);
    }

    /// The monitor has ended: there will be nothing more to tell.
    pub(crate) fn end_reports(&self) {
        self.reporter.end();
    }

    /// For the monitor, after so many looks at nothing but sleepers: rests, or waits for a tick. False if it is to end.
    pub(crate) fn sleep_or_tick(
        &self,
        quiet_looks: u32,
        tick: Duration,
        are_all_parked: impl FnOnce() -> bool,
    ) -> bool {
        if self.monitor.is_sleep_cheap() || quiet_looks % QUIET_LOOKS_MAX == 0 {
            self.monitor.sleep_until_alarm(tick, are_all_parked)
        } else {
            // Nothing waits behind those who sleep.
            self.monitor.tick(self.config.after)
        }
    }

    /// Waits for the reporter's thread to end, unless it is the caller. User code may hold it up.
    pub(crate) fn join_reporter(&self) {
        self.reporter.join();
    }

    /// Starts a monitor for a runtime that has nothing but such threads, if anybody wants to know.
    pub(crate) fn start_pinned_monitor(self: &Arc<Self>) -> io::Result<()> {
        if !self.config.reports() {
            return Ok(());
        }
        self.monitor.prepare();
        let on_drop = EndReportsOnDrop(self.clone());
        self.start_monitor(Box::new(move || {
            let stall_state = &*on_drop.0;
            let (mut monitor, mut quiet_looks) = (PinnedMonitor::default(), 0);
            loop {
                let is_busy = monitor.look(stall_state, Instant::now());
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

/// The reporter's thread on_drop when this is dropped, with the monitor, however that on_drop.
struct EndReportsOnDrop(Arc<StallState>);

impl Drop for EndReportsOnDrop {
    fn drop(&mut self) {
        self.0.end_reports();
    }
}
