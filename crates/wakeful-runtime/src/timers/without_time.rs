//! The types of `with_time.rs` in a build without the `time` feature: there are no timers.

use super::{Fired, TimeConfig};
use crate::driver::{Driver, WakeDriver};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wakeful_base::{CallWaker, WakeList};

pub(crate) struct TimeHandle;
pub(crate) struct WorkerTimers;
pub(crate) struct WorkerTimerInbox;
pub(crate) struct Until<'a>(Option<Duration>, PhantomData<&'a ()>);
pub(crate) struct ClockHold;
pub(crate) struct PreciseThread;

impl TimeHandle {
    pub(crate) fn new(_: TimeConfig, _: Arc<dyn WakeDriver>) -> Arc<TimeHandle> {
        Arc::new(TimeHandle)
    }

    pub(crate) fn now_us(&self) -> Option<u64> {
        None
    }

    pub(crate) fn serve(
        &self,
        _: &WorkerTimerInbox,
        _: impl FnMut(&mut dyn FnMut(&mut WorkerTimers)),
        _: CallWaker<'_>,
    ) -> Fired {
        Fired::default()
    }

    pub(crate) fn fire_some(&self, _: &WorkerTimerInbox, _: &mut WorkerTimers, _: &mut WakeList) {}

    pub(crate) fn is_soon_due(&self, _: &WorkerTimers, _: Duration) -> bool {
        false
    }

    pub(crate) fn is_external_due(&self) -> bool {
        false
    }

    pub(crate) fn until(&self, _: &WorkerTimers) -> Until<'_> {
        Until(None, PhantomData)
    }

    pub(crate) fn note_wait_end(&self, _: &mut WorkerTimers, _: Instant) {}

    pub(crate) fn next_skip(&self, _: &WorkerTimers) -> Option<u64> {
        None
    }

    pub(crate) fn skip_to(&self, _: u64) {}

    pub(crate) fn begin_shutdown(&self) {}

    pub(crate) fn fire_all(
        &self,
        _: &WorkerTimerInbox,
        _: impl FnMut(&mut dyn FnMut(&mut WorkerTimers)),
    ) {
    }
}

impl WorkerTimers {
    pub(crate) fn new(_: usize) -> WorkerTimers {
        WorkerTimers
    }

    pub(crate) fn note(&mut self, _: Fired) {}
}

impl WorkerTimerInbox {
    pub(crate) fn new() -> WorkerTimerInbox {
        WorkerTimerInbox
    }
}

impl Until<'_> {
    pub(crate) fn at_most(&self, at_most: Duration) -> Self {
        Until(Some(at_most), PhantomData)
    }

    pub(crate) fn in_driver(&self, driver: &mut dyn Driver, call: CallWaker<'_>) {
        driver.wait(self.0, call);
    }

    pub(crate) fn on_thread(&self) -> Option<Duration> {
        self.0
    }
}

impl PreciseThread {
    pub(crate) fn new() -> PreciseThread {
        PreciseThread
    }

    pub(crate) fn before_wait(&self, _: &Until<'_>) {}
}

impl ClockHold {
    pub(crate) fn new(_: &Arc<TimeHandle>) -> ClockHold {
        ClockHold
    }
}

#[cfg(all(test, wakeful_loom))]
impl Until<'_> {
    /// Returns no time limit: a park lasts until the worker is notified.
    pub(crate) fn until_notified() -> Until<'static> {
        Until(None, PhantomData)
    }
}
