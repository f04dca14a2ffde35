//! Wakers that somebody else made, when the driver or timers have to call them.
//!
//! To wake a task is to queue it, and done on the spot. Any other waker is code of the user's: it may take long, or
//! not return. Who calls it must be neither in the driver, which others could then not use, nor counted as one who
//! sleeps or searches, for whom others leave it to find work; and what comes behind it must not wait for it. So
//! such a waker is **put aside**, on the seat:
//!
//! ```text
//!   an event, a timer ─▶ wake ─▶ a task's: queued
//!                          │
//!                          └─▶ put aside ─▶ out of the driver, sleep and search over ─▶ call_external_wakers: one after the
//!                                                                                       other, as user code
//! ```
//!
//! There the monitor sees one that is stuck, and if the seat passes on, those behind it do so too.

use super::worker::WorkerCore;
use super::worker_thread::WorkerThread;
use std::collections::VecDeque;
use std::task::Waker;
use wakeful_base::call_now;
use wakeful_task::only_queues;

impl WorkerThread {
    /// Wakes a task for the driver or for timers; a waker that is more than that is put aside.
    #[inline]
    pub(super) fn wake(&self, waker: Waker) {
        if only_queues(&waker) { waker.wake() } else { self.defer_external(waker) }
    }

    #[cold]
    fn defer_external(&self, waker: Waker) {
        match self.enter() {
            Some(mut core) => core.external_wakers.push_back(waker),
            // There is no seat that it could keep.
            None => call_now(waker),
        }
    }

    /// Calls the wakers that were put aside. If there were any, the worker does not count as searching any more.
    pub(super) fn call_external_wakers(&self) -> bool {
        if self.enter().is_none_or(|core| core.external_wakers.is_empty()) {
            return false;
        }
        self.end_search();
        self.call_each(|core| &mut core.external_wakers);
        true
    }

    /// Calls the wakers in one of the seat's lists, as many as are there now.
    pub(super) fn call_each(&self, list: impl Fn(&mut WorkerCore) -> &mut VecDeque<Waker>) {
        let count = self.enter().map_or(0, |mut core| list(&mut core).len());
        for _ in 0..count {
            // None if the seat is gone, and they with it.
            let next = self.enter().and_then(|mut core| list(&mut core).pop_front());
            let Some(waker) = next else { return };
            self.lease.run_callback(|| call_now(waker));
        }
    }
}
