//! A build without timers.

use super::TimeConfig;
use crate::driver::WakeDriver;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct TimeHandle;
pub(crate) struct SeatTimers;
pub(crate) struct SeatInbox;
pub(crate) struct Until<'a>(PhantomData<&'a ()>);
pub(crate) struct ClockHold;
pub(crate) struct PreciseThread;

impl TimeHandle {
    pub(crate) fn new(_: TimeConfig, _: Arc<dyn WakeDriver>) -> Arc<TimeHandle> {
        Arc::new(TimeHandle)
    }

    pub(crate) fn serve(
        &self,
        _: &SeatInbox,
        _: impl FnMut(&mut dyn FnMut(&mut SeatTimers)),
    ) -> usize {
        0
    }

    pub(crate) fn is_soon_due(&self, _: &SeatTimers, _: Duration) -> bool {
        false
    }

    pub(crate) fn is_common_due(&self) -> bool {
        false
    }

    pub(crate) fn until(&self, _: &SeatTimers) -> Until<'_> {
        Until(PhantomData)
    }

    pub(crate) fn next_skip(&self, _: &SeatTimers) -> Option<u64> {
        None
    }

    pub(crate) fn skip_to(&self, _: u64) {}

    pub(crate) fn begin_end(&self) {}

    pub(crate) fn end(&self, _: &SeatInbox, _: impl FnMut(&mut dyn FnMut(&mut SeatTimers))) {}
}

impl SeatTimers {
    pub(crate) fn new(_: usize) -> SeatTimers {
        SeatTimers
    }
}

impl SeatInbox {
    pub(crate) fn new() -> SeatInbox {
        SeatInbox
    }
}

impl Until<'_> {
    pub(crate) fn in_driver(&self, wait: impl FnOnce(Option<Duration>)) {
        wait(None);
    }

    pub(crate) fn on_thread(&self) -> Option<Duration> {
        None
    }
}

impl PreciseThread {
    pub(crate) fn new() -> PreciseThread {
        PreciseThread
    }

    pub(crate) fn wait(&self, _: &Until<'_>) {}
}

impl ClockHold {
    pub(crate) fn new(_: &Arc<TimeHandle>) -> ClockHold {
        ClockHold
    }
}

#[cfg(all(test, wakeful_loom))]
impl Until<'_> {
    pub(crate) fn called() -> Until<'static> {
        Until(PhantomData)
    }
}
