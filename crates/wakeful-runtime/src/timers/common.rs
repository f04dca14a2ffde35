//! Timers of threads without a seat.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::task::Waker;
use wakeful_base::WakeList;
use wakeful_base::shield::shield;
use wakeful_base::sync::Mutex;
use wakeful_reactor::time::{ArmedTimer, OwnerId, Timers};

use crate::driver::WakeDriver;

/// How the common timers are told from those of seats.
pub(super) const COMMON: OwnerId = OwnerId(u32::MAX);

/// The runtime has shut down, and takes no timers any more.
#[derive(Debug)]
pub(crate) struct ShutDown;

pub(super) struct CommonTimers {
    state: Mutex<CommonState>,
    /// When to look, for those who do so now and then; `u64::MAX` for never. Written under the lock.
    next_ns: AtomicU64,
    driver: Arc<dyn WakeDriver>,
}

struct CommonState {
    timers: Option<Timers>,
    is_closed: bool,
    /// Somebody waits in the driver, until then; zero: nobody, or he is on his way out.
    waits_until_ns: u64,
}

impl CommonState {
    fn timers(&mut self) -> &mut Timers {
        self.timers.get_or_insert_with(|| Timers::new(COMMON))
    }
}

impl CommonTimers {
    pub(super) fn new(driver: Arc<dyn WakeDriver>) -> CommonTimers {
        let state = CommonState { timers: None, is_closed: false, waits_until_ns: 0 };
        CommonTimers { state: Mutex::new(state), next_ns: AtomicU64::new(u64::MAX), driver }
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
        if deadline_ns < self.next_ns.load(Relaxed) {
            self.next_ns.store(deadline_ns, Relaxed);
        }
        let wakes_driver = deadline_ns < state.waits_until_ns;
        if wakes_driver {
            // Once is enough: who waits there will look when to wait for next.
            state.waits_until_ns = 0;
        }
        drop(state);
        if wakes_driver {
            self.driver.wake();
        }
        Ok(timer)
    }

    /// Takes out one of the common timers. The waker is to be dropped by the caller.
    #[must_use = "it may be wanted again"]
    pub(super) fn disarm(&self, timer: ArmedTimer) -> Option<Waker> {
        self.state.lock().timers().disarm(timer)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next_ns.load(Relaxed) == u64::MAX
    }

    /// Fires what is due.
    pub(super) fn fire(&self, now_ns: u64) {
        if self.next_ns.load(Relaxed) <= now_ns {
            self.fire_with(|timers, wakers| timers.fire(now_ns, wakers));
        }
    }

    /// Fires everything, and takes no more.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.fire_with(Timers::fire_all);
    }

    fn fire_with(&self, mut fire: impl FnMut(&mut Timers, &mut WakeList) -> bool) {
        loop {
            let mut wakers = WakeList::new();
            let mut state = self.state.lock();
            let has_more = fire(state.timers(), &mut wakers);
            self.next_ns.store(state.timers().next_ns().unwrap_or(u64::MAX), Relaxed);
            drop(state);
            shield(|| wakers.wake_all());
            if !has_more {
                return;
            }
        }
    }

    /// When to look next.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let next_ns = self.next_ns.load(Relaxed);
        (next_ns != u64::MAX).then_some(next_ns)
    }

    /// The caller is going to wait in the driver until `own_ns` at most. Returns until when it may: who
    /// arms an earlier timer from now on ends the wait.
    pub(super) fn begin_wait(&self, own_ns: Option<u64>) -> u64 {
        let mut state = self.state.lock();
        let until_ns = own_ns.unwrap_or(u64::MAX).min(self.next_ns.load(Relaxed));
        state.waits_until_ns = until_ns;
        until_ns
    }

    pub(super) fn end_wait(&self) {
        self.state.lock().waits_until_ns = 0;
    }
}
