//! Where a worker parks: in the driver if that is free, else on its own thread.

use crate::driver::{Driver, WakeDriver};
use crate::timers::Until;
use crate::wake_cost::WakeStamp;
use std::sync::Arc;
use std::time::Instant;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{Mutex, TryMutex};
use wakeful_base::{CachePadded, CallWaker, Unparker};

/// The runtime's driver. Any worker may wait in it, one at a time. Looks need no lock: see
/// [`IoHandle::look`](crate::driver::IoHandle::look).
pub(super) struct SharedDriver {
    driver: CachePadded<TryMutex<Box<dyn Driver>>>,
    waker: Arc<dyn WakeDriver>,
}

impl SharedDriver {
    pub(super) fn new(driver: Box<dyn Driver>, waker: Arc<dyn WakeDriver>) -> SharedDriver {
        SharedDriver { driver: CachePadded::new(TryMutex::new(driver)), waker }
    }
}

/// The park state of one worker: `AWAKE`, then where its thread is parked, then `NOTIFIED` by the
/// thread that unparks it.
pub(super) struct ParkState {
    state: AtomicUsize,
    /// When the worker was last notified, for the cost of a wake-up.
    notified: WakeStamp,
    /// Unparks the thread that runs this worker now.
    unparker: Mutex<Option<Unparker>>,
}

/// How a park ended.
pub(super) struct ParkOutcome {
    /// The worker was in the driver, and has seen all events that the driver had.
    pub(super) was_in_driver: bool,
    pub(super) was_notified: bool,
}

const AWAKE: usize = 0;
const IN_DRIVER: usize = 1;
const ON_THREAD: usize = 2;
const NOTIFIED: usize = 3;

impl ParkState {
    pub(super) fn new() -> ParkState {
        ParkState {
            state: AtomicUsize::new(AWAKE),
            notified: WakeStamp::new(),
            unparker: Mutex::new(None),
        }
    }

    /// Sets the unparker of the thread that runs this worker from now on.
    pub(super) fn set_unparker(&self, unparker: Unparker) {
        *self.unparker.lock() = Some(unparker);
    }

    /// Parks until notified, until `until`, or until the driver has an event. Without a driver, or
    /// if another worker is in it, `on_thread` is called to park. A notification that came before
    /// this call ends it at once.
    ///
    /// Wakers are passed to `call`, while this worker still counts as parked and occupies the
    /// driver. So `call` must not run user code.
    pub(super) fn park(
        &self,
        driver: Option<&SharedDriver>,
        until: &Until<'_>,
        call: CallWaker<'_>,
        on_thread: impl FnOnce(),
    ) -> ParkOutcome {
        // A stamp from before is of a wake-up that found this worker awake.
        self.notified.clear();
        let mut was_in_driver = false;
        let mut has_waited = false;
        if let Some(mut driver) = driver.and_then(|shared| shared.driver.try_lock()) {
            was_in_driver = self.enter(IN_DRIVER);
            if was_in_driver {
                has_waited = true;
                until.in_driver(&mut **driver, call);
            }
        } else if self.enter(ON_THREAD) {
            has_waited = true;
            on_thread();
        }
        // This acquires what the notifying thread wrote before: the worker sees the work from here
        // on.
        let was_notified = self.state.swap(AWAKE, AcqRel) == NOTIFIED;
        if has_waited && was_notified {
            self.notified.measure(Instant::now());
        }
        ParkOutcome { was_in_driver, was_notified }
    }

    /// Returns whether the worker is parked and not yet notified.
    pub(super) fn is_parked(&self) -> bool {
        matches!(self.state.load(Relaxed), IN_DRIVER | ON_THREAD)
    }

    /// Returns whether the worker is parked in the driver and not yet notified.
    pub(super) fn is_in_driver(&self) -> bool {
        self.state.load(Relaxed) == IN_DRIVER
    }

    /// Marks the worker as parked. Returns false if it was notified before.
    fn enter(&self, place: usize) -> bool {
        self.state.compare_exchange(AWAKE, place, AcqRel, Acquire).is_ok()
    }

    /// As [`unpark`](Self::unpark), and measures how long it takes.
    pub(super) fn unpark_for_work(&self, driver: &SharedDriver) {
        self.notified.set();
        self.unpark(driver);
    }

    /// Unparks the worker, or makes its next park return at once.
    pub(super) fn unpark(&self, driver: &SharedDriver) {
        match self.state.swap(NOTIFIED, AcqRel) {
            IN_DRIVER => driver.waker.wake(),
            ON_THREAD => {
                if let Some(unparker) = &*self.unparker.lock() {
                    unparker.unpark();
                }
            }
            _ => {}
        }
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "park_state/tests/loom.rs"]
mod loom;
