//! What a runtime has for its stalls.

use super::bound_thread::{BoundMonitor, BoundThreads};
use super::{MonitorThread, Stall, StallConfig, StallMetrics, Teller};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After so many looks at nothing but sleepers a monitor rests, if that is dear.
const QUIET_LOOKS_MAX: u32 = 5;

/// The settings, the counts, and the monitor.
pub(crate) struct StallWatch {
    pub(crate) config: StallConfig,
    pub(crate) metrics: StallMetrics,
    pub(crate) monitor: MonitorThread,
    teller: Teller,
    pub(super) bound: BoundThreads,
}

impl StallWatch {
    pub(crate) fn new(config: StallConfig) -> StallWatch {
        StallWatch {
            config,
            metrics: StallMetrics::default(),
            monitor: MonitorThread::new(),
            teller: Teller::default(),
            bound: BoundThreads::default(),
        }
    }

    /// Whether every thread in `block_on` is between two polls.
    pub(crate) fn are_bound_asleep(&self) -> bool {
        self.bound.are_all_asleep()
    }

    /// Starts the monitor, which runs `look`, and what it needs to tell of stalls.
    pub(crate) fn start(&self, look: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        if self.config.reports() {
            self.teller.start(self.config.clone())?;
        }
        self.monitor.start(look)
    }

    /// Tells those who want to know, some time. For the monitor.
    pub(crate) fn tell(&self, stall: Stall) {
        self.teller.tell(stall);
    }

    /// The monitor has ended: there will be nothing more to tell.
    pub(crate) fn end_telling(&self) {
        self.teller.end();
    }

    /// For the monitor, after so many looks at nothing but sleepers: rests, or waits for a tick. False if it is to end.
    pub(crate) fn rest_after(
        &self,
        quiet_looks: u32,
        tick: Duration,
        all_sleep: impl FnOnce() -> bool,
    ) -> bool {
        if self.monitor.has_cheap_rests() || quiet_looks % QUIET_LOOKS_MAX == 0 {
            self.monitor.rest(tick, all_sleep)
        } else {
            // Nothing waits behind those who sleep.
            self.monitor.tick(self.config.after)
        }
    }

    /// Waits for the reporter's thread to end, unless it is the caller. User code may hold it up.
    pub(crate) fn join_reporter(&self) {
        self.teller.join();
    }

    /// Starts a monitor for a runtime that has nothing but such threads, if anybody wants to know.
    pub(crate) fn start_bound(self: &Arc<Self>) -> io::Result<()> {
        if !self.config.reports() {
            return Ok(());
        }
        self.monitor.prepare();
        let ends = EndsTelling(self.clone());
        self.start(Box::new(move || {
            let watch = &*ends.0;
            let (mut monitor, mut quiet_looks) = (BoundMonitor::default(), 0);
            loop {
                let is_busy = monitor.look(watch, Instant::now());
                quiet_looks = if is_busy { 0 } else { quiet_looks + 1 };
                let goes_on = if is_busy {
                    watch.monitor.tick(watch.config.after)
                } else {
                    watch.rest_after(quiet_looks, watch.config.after, || watch.are_bound_asleep())
                };
                if !goes_on {
                    return;
                }
            }
        }))
    }
}

/// The reporter's thread ends when this is dropped, with the monitor, however that ends.
struct EndsTelling(Arc<StallWatch>);

impl Drop for EndsTelling {
    fn drop(&mut self) {
        self.0.end_telling();
    }
}
