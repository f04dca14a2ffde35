//! How a seat passes from a thread that is stuck to a spare one.
//!
//! ```text
//!   stuck thread            monitor                     spare thread of the pool
//!   in user code …          (1) sees it there twice, as far
//!                               as before; something waits
//!                           (2) calls a spare  ───────▶ (3) still no further? takes the seat:
//!                                                           from here on the seat goes on
//!   … which returns                                         with all that lies on it
//!   (4) finds its seat lost:
//!       settles its task as a
//!       stranger would, and is
//!       a thread of the pool
//! ```
//!
//! Earlier that, at (1), what tasks lie on the seat out of others' reach are put in reach: if another worker
//! is free for them the seat may stay where it is.
//!
//! The seat passes in one step, (3), by the spare's own hand: no seat stands empty because a thread was
//! late, or could not be had. `lease.rs` says why the two cannot meet.
//!
//! User code is a poll mostly; what is meant besides says [`UserCode`]. What it does after (3) works as on a
//! thread outside of the runtime: what it spawns or wakes goes to the inject queue, its new timers are common
//! ones, `block_in_place` has nothing to give away. Until its task is settled that is noted as `detached`, for
//! the shutdown.

use super::MultiThread;
use super::lease::{Lease, SuspendError, SuspendedLease, UserCode};
use super::worker::Worker;
use super::worker_thread::run_with_lease;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::Ordering::*;
use wakeful_task::Id;

/// A sitter that has been in the same user code for some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stuck {
    /// How far the seat was, by which one is told from another.
    pub(super) progress: u64,
    pub(super) since: Instant,
}

/// What is found on the seat of a stuck sitter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inspection {
    /// The task whose poll or end the sitter is stuck in.
    pub(super) task: Option<(Id, &'static Location<'static>)>,
    /// Something was put in reach of the other workers.
    pub(super) is_published: bool,
    /// Something lies there that only a sitter can see to, now or soon.
    pub(super) needs_thread: bool,
}

/// When a spare thread was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandbyCall {
    Now,
    /// Earlier, and it did not come yet.
    Earlier,
}

impl MultiThread {
    /// Looks what waits on the seat of a sitter that is in user code, and got no further than that; none if
    /// it has, or is just busy with its seat. If it `publish` the seat, other workers can have its tasks
    /// from now on.
    pub(super) fn inspect(
        &self,
        index: usize,
        progress: u64,
        within: Duration,
        publish: bool,
    ) -> Option<Inspection> {
        let worker = &self.workers[index];
        let suspended = self.suspend(worker)?;
        if worker.progress() != progress {
            return None;
        }
        worker.core.with_mut(|core| {
            // SAFETY: the sitter is kept out while `suspended` lives. No user code runs in here.
            let core = unsafe { &mut *core };
            let is_published = publish && core.publish_all(&worker.queue);
            if publish {
                worker.load.open();
            }
            // While one searches nobody else is called: he must not be stuck.
            let needs_poll = !core.is_idle() || core.searching;
            let needs_thread = needs_poll || self.info.time.is_soon_due(&core.timers, within);
            let task = match suspended.user_code() {
                UserCode::Poll(task) => {
                    // SAFETY: the doubt keeps the task alive.
                    let task = unsafe { task.as_ref() };
                    Some((task.id(), task.spawned_at()))
                }
                UserCode::End(_) => core.ending,
                UserCode::Callback => None,
            };
            Some(Inspection { task, is_published, needs_thread })
        })
    }

    /// Keeps the sitter out of its seat if it is in user code. Where that is refused, nothing may be kept that it
    /// would be needed for.
    fn suspend<'a>(&self, worker: &'a Worker) -> Option<SuspendedLease<'a>> {
        let suspended = worker.lease_slot.suspend();
        if let Err(SuspendError::NoFence) = suspended {
            self.keep_no_tasks();
        }
        suspended.ok()
    }

    /// (2) Has a thread of the pool take seat `index`, unless one is on its way.
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
        self.submit_worker(job)?;
        Ok(StandbyCall::Now)
    }

    /// (3) Takes the seat from a sitter that is still stuck.
    pub(super) fn take_over(&self, index: usize, stuck: Stuck) -> Option<Arc<Lease>> {
        let (worker, lease) = (&self.workers[index], self.new_lease());
        let suspended = self.suspend(worker)?;
        if worker.progress() != stuck.progress {
            return None;
        }
        if let Some(task) = suspended.user_code().task() {
            self.begin_detached(task);
        }
        // Earlier the other can know, and say that it has come back.
        self.stalls.metrics.note_handoff();
        suspended.take_over(stuck.since, &lease);
        Some(lease)
    }
}

/// A spare thread is on its way to a seat, until dropped.
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
