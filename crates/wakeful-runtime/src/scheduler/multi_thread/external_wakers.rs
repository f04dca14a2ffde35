//! Wakers that are user code, taken from the driver or from timers.
//!
//! Waking a task of this runtime only queues it, so that is done at once. Any other waker is user
//! code: it may run for long, or block. It must not run while the worker is in the driver, which
//! other workers then could not use, nor while the worker counts as parked or searching, because
//! other workers then rely on it to find work. The events behind it must not wait for it either. So
//! such a waker is **set aside**, in the core:
//!
//! ```text
//!   event, timer ─▶ wake ─▶ a task of this runtime: queue it
//!                     │
//!                     └─▶ set it aside ─▶ leave the driver, end park and search
//!                            ─▶ call_external_wakers: run one after the other, as user code
//! ```
//!
//! The monitor sees a waker that blocks there, and if the worker is taken over, the wakers behind
//! it pass on with it.

use super::worker::WorkerCore;
use super::worker_thread::WorkerThread;
use std::collections::VecDeque;
use std::task::Waker;
use wakeful_base::call_now;
use wakeful_task::only_queues;

impl WorkerThread {
    /// Wakes a task for the driver or for timers, or sets aside a waker that is user code.
    #[inline]
    pub(super) fn wake(&self, waker: Waker) {
        if only_queues(&waker) { waker.wake() } else { self.set_aside(waker) }
    }

    #[cold]
    fn set_aside(&self, waker: Waker) {
        match self.enter() {
            Some(mut core) => core.external_wakers.push_back(waker),
            // Without a lease there is no core to keep it in.
            None => call_now(waker),
        }
    }

    /// Runs the wakers that were set aside, after ending the worker's search. Returns false, and
    /// changes nothing, if there are none.
    pub(super) fn call_external_wakers(&self) -> bool {
        if self.enter().is_none_or(|core| core.external_wakers.is_empty()) {
            return false;
        }
        self.end_search();
        self.call_each(|core| &mut core.external_wakers);
        true
    }

    /// Runs as many wakers of one of the core's lists as the list has now.
    pub(super) fn call_each(&self, list: impl Fn(&mut WorkerCore) -> &mut VecDeque<Waker>) {
        let count = self.enter().map_or(0, |mut core| list(&mut core).len());
        for _ in 0..count {
            // `None` if the lease was revoked: the successor runs the rest.
            let next = self.enter().and_then(|mut core| list(&mut core).pop_front());
            let Some(waker) = next else { return };
            self.run_callback(|| call_now(waker));
        }
    }

    /// Runs `f`, a callback of the runtime, as user code.
    pub(super) fn run_callback(&self, f: impl FnOnce()) {
        if let Some(core) = self.enter() {
            self.notify_for_queued(core);
        }
        self.lease.run_callback(f);
    }
}
