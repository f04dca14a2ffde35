//! A worker that parks outside the driver lends its timers to the worker in the driver.
//! `timers/lent.rs` explains when and why.
//!
//! Between lending and taking back, the thread runs no user code, and the lease of a parked worker
//! is not revoked. So no timer is armed on a worker whose timers are lent.

use super::MultiThread;
use super::worker::Worker;
use super::worker_thread::WorkerThread;
use crate::timers::{Fired, Until, WorkerTimers};
use std::mem::replace;
use wakeful_base::CallWaker;
use wakeful_base::sync::atomic::Ordering::Relaxed;

impl WorkerThread {
    /// Parks on the thread until notified or until `until`. Lends the timers meanwhile if the
    /// worker in the driver can serve them.
    pub(super) fn park_on_thread(&self, until: &Until<'_>) {
        if until.should_lend() && self.lend_timers() {
            until.notify_driver();
            self.park_while_served();
            self.take_timers_back();
        } else {
            match until.on_thread() {
                None => self.parker.park(),
                Some(timeout) => self.parker.park_timeout(timeout),
            }
        }
    }

    /// Lends the worker's timers. Returns false if the lease is revoked.
    fn lend_timers(&self) -> bool {
        let Some(mut core) = self.enter() else { return false };
        let timers = replace(&mut core.timers, WorkerTimers::new(self.index));
        self.worker().lent_timers.lend(timers);
        self.scheduler.lenders.fetch_add(1, Relaxed);
        true
    }

    /// Parks until notified, or until lent timers are late because no other worker serves them.
    fn park_while_served(&self) {
        let (worker, time) = (self.worker(), &self.scheduler.info.time);
        while worker.park_state.is_parked() {
            match worker.lent_timers.until_late(time) {
                None => self.parker.park(),
                Some(left) if left.is_zero() => return,
                Some(left) => self.parker.park_timeout(left),
            }
        }
    }

    fn take_timers_back(&self) {
        self.scheduler.lenders.fetch_sub(1, Relaxed);
        let timers = self.worker().lent_timers.take_back();
        let mut core = self.enter().expect("the lease of a parked worker is not revoked");
        core.timers = timers.expect("only their owner takes lent timers back");
    }
}

impl MultiThread {
    /// Returns when the first of the lent timers is due.
    pub(super) fn lent_until(&self) -> Option<u64> {
        if self.lenders.load(Relaxed) == 0 {
            return None;
        }
        self.workers.iter().filter_map(|worker| worker.lent_timers.next_ns()).min()
    }

    /// Fires the lent timers that are due. Wakers are passed to `call`.
    pub(super) fn serve_lent_timers(&self, call: CallWaker<'_>) -> Fired {
        if self.lenders.load(Relaxed) == 0 {
            return Fired::default();
        }
        let time = &self.info.time;
        let serve = |worker: &Worker| {
            time.serve(&worker.left_timers, |f| worker.lent_timers.with(f), &mut *call)
        };
        let due = self.workers.iter().filter(|worker| worker.lent_timers.is_due(time));
        due.map(serve).fold(Fired::default(), Fired::and)
    }
}
