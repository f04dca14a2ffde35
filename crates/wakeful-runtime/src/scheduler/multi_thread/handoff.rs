//! The hand-off: how a worker passes from a thread that is stuck to a standby thread.
//!
//! ```text
//!   stuck thread              monitor                        standby thread of the pool
//!   in user code …            (1) sees it in the same user
//!                                 code twice, with work left
//!                             (2) calls a standby ─────────▶ (3) still the same user code?
//!                                                                revokes the lease and runs
//!   … which returns                                              the worker from here on
//!   (4) finds its lease revoked,
//!       settles its task as a
//!       thread outside the runtime
//!       would, returns to the pool
//! ```
//!
//! Before that, at (1), the monitor publishes the worker's local tasks, so that other workers can
//! steal them. If another worker is free for them, the worker need not change threads.
//!
//! The worker passes in one step, (3), which the standby thread takes itself: a standby that is
//! late, or that could not be started, leaves no worker without a thread. `lease.rs` says why the
//! two threads cannot touch the core at the same time.
//!
//! User code is a poll in most cases; [`UserCode`] lists the others. After (3) its calls work as on
//! a thread outside the runtime: tasks that it spawns or wakes go to the injection queue, its new
//! timers are external timers, and `block_in_place` has no lease to release. Until its task is
//! settled, the task is noted as `detached`, for the shutdown.

use super::MultiThread;
use super::lease::{Lease, SuspendError, SuspendedLease, UserCode, suspend_all};
use super::worker::{Worker, WorkerCore};
use super::worker_thread::run_with_lease;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::Ordering::*;
use wakeful_base::{WakeList, call_now, diagnostics};
use wakeful_task::{Id, only_queues};

/// A worker thread that has been in the same user code for some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stuck {
    /// The worker's progress. It has changed if the thread runs other user code by now.
    pub(super) progress: u64,
    pub(super) since: Instant,
}

/// Why there is no hand-off if a heavy fence fails.
pub(super) const FENCE_REFUSED: &str = "the kernel refuses `membarrier`";

/// How many leases are suspended with one fence, at most. Bounds how long a thread whose lease is
/// suspended waits for the inspections of other workers.
const SUSPENDED_MAX: usize = 64;

/// A worker to inspect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suspect {
    pub(super) index: usize,
    /// The worker's progress when its user code was seen.
    pub(super) progress: u64,
    /// A timer counts as something left if it is due within this time.
    pub(super) within: Duration,
}

/// What an inspection of a stalled worker found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inspection {
    /// The task whose poll or end the thread is stuck in.
    pub(super) task: Option<(Id, &'static Location<'static>)>,
    /// Some tasks were published for other workers.
    pub(super) is_published: bool,
    /// Something is left, now or soon, that only the worker's own thread can serve.
    pub(super) needs_thread: bool,
}

/// When the standby thread of a worker was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandbyCall {
    Now,
    /// Before; it has not arrived yet.
    Earlier,
}

impl MultiThread {
    /// Inspects workers whose threads are stuck in user code. Returns one element for each: `None`
    /// if the worker has made progress since, or its thread may be in a core section.
    ///
    /// With `publish`, other workers can steal the tasks of these workers from now on, and due
    /// timers of these workers are fired.
    pub(super) fn inspect_all(
        &self,
        suspects: &[Suspect],
        publish: bool,
    ) -> Vec<Option<Inspection>> {
        let mut found = Vec::with_capacity(suspects.len());
        for suspects in suspects.chunks(SUSPENDED_MAX) {
            // As large as needed, so that nothing is allocated while leases are suspended.
            let mut due = Vec::with_capacity(suspects.len() * WakeList::CAPACITY);
            let slots = suspects.iter().map(|suspect| &self.workers[suspect.index].lease_slot);
            let Some(suspended) = self.note_refused_fence(suspend_all(slots)) else {
                found.extend(suspects.iter().map(|_| None));
                continue;
            };
            let inspect = |(suspect, suspended): (&Suspect, Option<SuspendedLease<'_>>)| {
                self.inspect(suspect, suspended?, publish, &mut due)
            };
            found.extend(suspects.iter().zip(suspended).map(inspect));
            // No lease is suspended any more: a waker may drop a task of a runtime that shuts down.
            due.into_iter().for_each(call_now);
        }
        found
    }

    fn inspect(
        &self,
        suspect: &Suspect,
        suspended: SuspendedLease<'_>,
        publish: bool,
        due: &mut Vec<Waker>,
    ) -> Option<Inspection> {
        let worker = &self.workers[suspect.index];
        if worker.progress() != suspect.progress {
            return None;
        }
        worker.core.with_mut(|core| {
            // SAFETY: the holder cannot enter a core section while `suspended` exists, and the
            // slot's lock keeps other threads out. No user code runs in here.
            let core = unsafe { &mut *core };
            let is_published = publish && core.publish_all(&worker.queue);
            if is_published {
                core.owes_notify |= self.idle.set_queued(suspect.index);
            }
            if publish {
                self.fire_timers_of(worker, core, due);
            }
            // While a worker counts as searching no other is notified, so it must not be stuck.
            let has_work = !core.is_idle() || core.searching;
            let has_due_timers = self.info.time.is_soon_due(&core.timers, suspect.within);
            if has_due_timers {
                // If the poll returns by itself, the timers come before other tasks.
                core.until_maintenance = 0;
            }
            let needs_thread = has_work || has_due_timers;
            let task = match suspended.user_code() {
                UserCode::Poll(task) => {
                    // SAFETY: the task being polled is alive while the lease is suspended.
                    let task = unsafe { task.as_ref() };
                    Some((task.id(), task.spawned_at()))
                }
                UserCode::End(_) => core.ending,
                UserCode::Callback => None,
            };
            Some(Inspection { task, is_published, needs_thread })
        })
    }

    /// Fires due timers of a worker whose thread does not get to it: it blocks, computes, or waits
    /// for a CPU. The wakers are moved to `due`, but for those that are user code, which the
    /// worker's next thread calls.
    fn fire_timers_of(&self, worker: &Worker, core: &mut WorkerCore, due: &mut Vec<Waker>) {
        let mut fired = WakeList::new();
        self.info.time.fire_some(&worker.left_timers, &mut core.timers, &mut fired);
        fired.take_all(|waker| match only_queues(&waker) {
            true => due.push(waker),
            false => core.external_wakers.push_back(waker),
        });
    }

    /// Returns what was suspended, if anything. If the fence failed, no lease can be revoked any
    /// more.
    fn note_refused_fence<T>(&self, suspended: Result<T, SuspendError>) -> Option<T> {
        if let Err(SuspendError::NoFence) = suspended {
            self.lose_handoff(FENCE_REFUSED);
        }
        suspended.ok()
    }

    /// Notes that no worker can be handed off any more, and says so on standard error, once.
    #[cold]
    pub(super) fn lose_handoff(&self, why: &str) {
        if self.stalls.note_handoff_lost() {
            diagnostics::print(format_args!(
                "hand-off is off: {why}. Tasks still run, but from now on a task that blocks its \
                 worker delays the tasks queued behind it"
            ));
        }
    }

    /// (2) Calls a thread of the pool to take over worker `index`, unless one is on its way.
    pub(super) fn call_standby(
        self: &Arc<Self>,
        index: usize,
        stuck: Stuck,
    ) -> io::Result<StandbyCall> {
        if self.workers[index].standby_called.swap(true, AcqRel) {
            return Ok(StandbyCall::Earlier);
        }
        let standby = StandbyJob { scheduler: self.clone(), index };
        let job = Box::new(move || standby.run(stuck));
        // This is the monitor's thread, which no user code may hold up.
        self.submit_worker(job, false)?;
        Ok(StandbyCall::Now)
    }

    /// (3) Takes over the worker if its thread is still stuck. Returns the calling thread's lease.
    pub(super) fn take_over(&self, index: usize, stuck: Stuck) -> Option<Arc<Lease>> {
        let (worker, lease) = (&self.workers[index], self.new_lease());
        let suspended = self.note_refused_fence(worker.lease_slot.suspend())?;
        if worker.progress() != stuck.progress {
            return None;
        }
        if let Some(task) = suspended.user_code().task() {
            self.begin_detached(task, Some(suspended.lease().clone()));
        }
        // Before the lease is revoked: the stuck thread may then return at once and count its end.
        self.stalls.metrics.note_handoff();
        suspended.take_over(stuck.since, &lease);
        Some(lease)
    }
}

/// A standby thread on its way to a worker, until dropped.
struct StandbyJob {
    scheduler: Arc<MultiThread>,
    index: usize,
}

impl StandbyJob {
    fn run(self, stuck: Stuck) {
        let Some(lease) = self.scheduler.take_over(self.index, stuck) else { return };
        let (scheduler, index) = (self.scheduler.clone(), self.index);
        drop(self);
        run_with_lease(scheduler, index, lease);
    }
}

impl Drop for StandbyJob {
    fn drop(&mut self) {
        self.scheduler.workers[self.index].standby_called.store(false, Release);
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "handoff/tests/loom.rs"]
mod loom;
