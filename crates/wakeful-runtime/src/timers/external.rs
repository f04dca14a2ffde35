//! The external timers: those of threads that run no worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::task::Waker;
use wakeful_base::sync::{Mutex, MutexGuard};
use wakeful_base::{CallWaker, WakeList, call_now};
use wakeful_reactor::time::{ArmedTimer, NextWake, OwnerId, Timers};

use crate::driver::WakeDriver;

/// Tells the external timers apart from those of workers, which are numbered from zero.
pub(super) const EXTERNAL: OwnerId = OwnerId(u32::MAX);

/// The error of arming a timer after the runtime has shut down.
#[derive(Debug)]
pub(crate) struct ShutDown;

pub(super) struct ExternalTimers {
    state: Mutex<ExternalTimersState>,
    /// The first deadline, to be checked without the lock; `u64::MAX` if there is none. Written
    /// under the lock.
    next_ns: AtomicU64,
    driver: Arc<dyn WakeDriver>,
}

struct ExternalTimersState {
    timers: Option<Timers>,
    is_closed: bool,
    /// The time until which a worker waits in the driver; `NOT_WAITING` if none waits, or if it was
    /// woken.
    driver_waits_until_ns: u64,
}

const NOT_WAITING: u64 = 0;

impl ExternalTimersState {
    fn timers(&mut self) -> &mut Timers {
        self.timers.get_or_insert_with(|| Timers::new(EXTERNAL))
    }
}

impl ExternalTimers {
    pub(super) fn new(driver: Arc<dyn WakeDriver>) -> ExternalTimers {
        let state = ExternalTimersState {
            timers: None,
            is_closed: false,
            driver_waits_until_ns: NOT_WAITING,
        };
        ExternalTimers { state: Mutex::new(state), next_ns: AtomicU64::new(u64::MAX), driver }
    }

    pub(super) fn arm(
        &self,
        deadline_ns: u64,
        waker: Option<Waker>,
    ) -> Result<ArmedTimer, ShutDown> {
        let mut state = self.state.lock();
        if state.is_closed {
            drop(state);
            return Err(ShutDown);
        }
        let timer = state.timers().arm(deadline_ns, waker);
        self.note_deadline(state, deadline_ns);
        Ok(timer)
    }

    /// Arms an external timer for another deadline. It keeps its waker. Returns false, and changes
    /// nothing, if the runtime has shut down.
    pub(super) fn rearm(&self, timer: &mut ArmedTimer, deadline_ns: u64) -> bool {
        let mut state = self.state.lock();
        if state.is_closed {
            return false;
        }
        state.timers().rearm(timer, deadline_ns);
        self.note_deadline(state, deadline_ns);
        true
    }

    /// Makes sure that a timer that was just armed fires in time.
    fn note_deadline(&self, mut state: MutexGuard<'_, ExternalTimersState>, deadline_ns: u64) {
        if deadline_ns < self.next_ns.load(Relaxed) {
            self.next_ns.store(deadline_ns, Relaxed);
        }
        if deadline_ns < state.driver_waits_until_ns {
            // One wake-up is enough: that worker recomputes its timeout before it waits again.
            state.driver_waits_until_ns = NOT_WAITING;
            drop(state);
            self.driver.wake();
        }
    }

    /// Removes an external timer and returns its waker, to be kept or dropped outside any lock.
    #[must_use = "the waker may be needed again"]
    pub(super) fn disarm(&self, timer: ArmedTimer) -> Option<Waker> {
        self.state.lock().timers().disarm(timer)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next_ns.load(Relaxed) == u64::MAX
    }

    /// Fires the timers that are due; `call` calls their wakers.
    pub(super) fn fire(&self, now_ns: u64, call: CallWaker<'_>) {
        if self.next_ns.load(Relaxed) <= now_ns {
            self.fire_with(|timers, wakers| timers.fire(now_ns, wakers), call);
        }
    }

    /// Fires all timers, and accepts no more.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.fire_with(Timers::fire_all, &mut call_now);
    }

    fn fire_with(
        &self,
        mut fire: impl FnMut(&mut Timers, &mut WakeList) -> bool,
        call: CallWaker<'_>,
    ) {
        loop {
            let mut wakers = WakeList::new();
            let mut state = self.state.lock();
            let Some(timers) = &mut state.timers else { return };
            let has_more = fire(timers, &mut wakers);
            self.next_ns.store(timers.next_ns().unwrap_or(u64::MAX), Relaxed);
            drop(state);
            wakers.take_all(&mut *call);
            if !has_more {
                return;
            }
        }
    }

    /// Returns the first deadline.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let next_ns = self.next_ns.load(Relaxed);
        (next_ns != u64::MAX).then_some(next_ns)
    }

    /// Notes that the caller is going to wait in the driver, until `own` at most. Returns until
    /// when it may wait. A thread that arms an earlier timer after this call ends the wait.
    pub(super) fn begin_wait(&self, own: Option<NextWake>) -> NextWake {
        let mut state = self.state.lock();
        let external_ns = self.next_ns.load(Relaxed);
        let until = own.filter(|own| own.at_ns <= external_ns);
        let until = until.unwrap_or(NextWake::exact(external_ns));
        state.driver_waits_until_ns = until.at_ns;
        until
    }

    pub(super) fn end_wait(&self) {
        self.state.lock().driver_waits_until_ns = NOT_WAITING;
    }
}
