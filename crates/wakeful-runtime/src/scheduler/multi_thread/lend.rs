//! A worker that sleeps lends its timers to the one that waits in the driver; `timers/lent.rs` says when and why.
//!
//! No user code runs on a thread between the lending and the taking back, and no seat is taken from a
//! sitter that sleeps: so nobody arms a timer on a seat whose timers are lent.

use super::MultiThread;
use super::worker::Worker;
use super::worker_thread::WorkerThread;
use crate::timers::{Fired, Until, WorkerTimers};
use std::mem::replace;
use wakeful_base::CallWaker;
use wakeful_base::sync::atomic::Ordering::Relaxed;

impl WorkerThread {
    /// Sleeps on the thread until called or `until` its time has come.
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

    fn lend_timers(&self) -> bool {
        let Some(mut core) = self.enter() else { return false };
        let timers = replace(&mut core.timers, WorkerTimers::new(self.index));
        self.worker().lent_timers.lend(timers);
        self.scheduler.lenders.fetch_add(1, Relaxed);
        true
    }

    /// Sleeps until called, or until timers that are lent are late.
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
        let mut core = self.enter().expect("a seat is not taken from a sitter that sleeps");
        core.timers = timers.expect("lent timers are taken back once");
    }
}

impl MultiThread {
    /// When the first of the timers that are lent is due.
    pub(super) fn lent_until(&self) -> Option<u64> {
        if self.lenders.load(Relaxed) == 0 {
            return None;
        }
        self.workers.iter().filter_map(|worker| worker.lent_timers.next_ns()).min()
    }

    /// Fires those that are due of the timers that are lent; wakers are called by `call`.
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
