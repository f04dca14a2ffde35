//! Where a worker sleeps: in the driver if that is free, else on its own thread.

use crate::driver::{Driver, WakeDriver};
use crate::timers::Until;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{Mutex, TryMutex};
use wakeful_base::{CallWaker, Unparker};

/// The runtime's driver, which any worker may wait in and nobody owns.
pub(super) struct SharedDriver {
    driver: TryMutex<Box<dyn Driver>>,
    waker: Arc<dyn WakeDriver>,
}

impl SharedDriver {
    pub(super) fn new(driver: Box<dyn Driver>, waker: Arc<dyn WakeDriver>) -> SharedDriver {
        SharedDriver { driver: TryMutex::new(driver), waker }
    }

    /// Looks what happened, without waiting, unless somebody is in the driver already.
    pub(super) fn look(&self, call: CallWaker<'_>) {
        if let Some(mut driver) = self.driver.try_lock() {
            driver.wait(Some(Duration::ZERO), call);
        }
    }
}

/// One seat's sleep: `AWAKE`, then where its sitter sleeps, then `NOTIFIED` by who wants it up.
pub(super) struct ParkState {
    state: AtomicUsize,
    /// How to wake the thread that sits here now.
    unparker: Mutex<Option<Unparker>>,
}

/// How a sleep was.
pub(super) struct ParkOutcome {
    /// It was in the driver, and the sleeper has seen what that had.
    pub(super) was_in_driver: bool,
    pub(super) was_notified: bool,
}

const AWAKE: usize = 0;
const IN_DRIVER: usize = 1;
const ON_THREAD: usize = 2;
const NOTIFIED: usize = 3;

impl ParkState {
    pub(super) fn new() -> ParkState {
        ParkState { state: AtomicUsize::new(AWAKE), unparker: Mutex::new(None) }
    }

    /// A new thread sits here.
    pub(super) fn set_unparker(&self, unparker: Unparker) {
        *self.unparker.lock() = Some(unparker);
    }

    /// Sleeps until called, `until` its time has come, or until the driver has something; `on_thread` without
    /// one, or if it is not free. A call before this ends it at once. Wakers are called by `call`, while others still
    /// count on the sleeper and its place in the driver.
    pub(super) fn park(
        &self,
        driver: Option<&SharedDriver>,
        until: &Until<'_>,
        call: CallWaker<'_>,
        on_thread: impl FnOnce(),
    ) -> ParkOutcome {
        let mut was_in_driver = false;
        if let Some(mut driver) = driver.and_then(|shared| shared.driver.try_lock()) {
            was_in_driver = self.enter(IN_DRIVER);
            if was_in_driver {
                until.in_driver(&mut **driver, call);
            }
        } else if self.enter(ON_THREAD) {
            on_thread();
        }
        // A call that came meanwhile ends here: what it was made for has to be seen from now on.
        let was_notified = self.state.swap(AWAKE, AcqRel) == NOTIFIED;
        ParkOutcome { was_in_driver, was_notified }
    }

    /// Whether the sitter sleeps, and was not called yet.
    pub(super) fn is_parked(&self) -> bool {
        matches!(self.state.load(Relaxed), IN_DRIVER | ON_THREAD)
    }

    pub(super) fn is_in_driver(&self) -> bool {
        self.state.load(Relaxed) == IN_DRIVER
    }

    fn enter(&self, place: usize) -> bool {
        self.state.compare_exchange(AWAKE, place, AcqRel, Acquire).is_ok()
    }

    /// Wakes the sitter, or lets its next sleep end at once.
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
