//! A build without timers.

use super::{Fired, TimeConfig};
use crate::driver::{Driver, WakeDriver};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wakeful_base::CallWaker;

pub(crate) struct TimeHandle;
pub(crate) struct SeatTimers;
pub(crate) struct SeatInbox;
pub(crate) struct LentTimers;
pub(crate) struct Until<'a>(Option<Duration>, PhantomData<&'a ()>);
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
        _: CallWaker<'_>,
    ) -> Fired {
        Fired::default()
    }

    pub(crate) fn is_soon_due(&self, _: &SeatTimers, _: Duration) -> bool {
        false
    }

    pub(crate) fn is_common_due(&self) -> bool {
        false
    }

    pub(crate) fn until(&self, _: &SeatTimers, _: impl FnOnce() -> Option<u64>) -> Until<'_> {
        Until(None, PhantomData)
    }

    pub(crate) fn note_wait_end(&self, _: &mut SeatTimers, _: Instant) {}

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

    pub(crate) fn note(&mut self, _: Fired) {}
}

impl SeatInbox {
    pub(crate) fn new() -> SeatInbox {
        SeatInbox
    }
}

impl LentTimers {
    pub(crate) fn new() -> LentTimers {
        LentTimers
    }

    pub(crate) fn lend(&self, _: SeatTimers) {}

    pub(crate) fn take_back(&self) -> Option<SeatTimers> {
        None
    }

    pub(crate) fn with(&self, _: &mut dyn FnMut(&mut SeatTimers)) {}

    pub(crate) fn next_ns(&self) -> Option<u64> {
        None
    }

    pub(crate) fn is_due(&self, _: &TimeHandle) -> bool {
        false
    }

    pub(crate) fn until_late(&self, _: &TimeHandle) -> Option<Duration> {
        None
    }
}

impl Until<'_> {
    pub(crate) fn at_most(&self, at_most: Duration) -> Self {
        Until(Some(at_most), PhantomData)
    }

    pub(crate) fn in_driver(&self, driver: &mut dyn Driver, call: CallWaker<'_>) {
        driver.wait(self.0, call);
    }

    pub(crate) fn is_for_driver(&self) -> bool {
        false
    }

    pub(crate) fn tell_driver(&self) {}

    pub(crate) fn on_thread(&self) -> Option<Duration> {
        self.0
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
        Until(None, PhantomData)
    }
}
