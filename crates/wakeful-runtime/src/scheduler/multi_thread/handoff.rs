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
//! Before that, at (1), what tasks lie on the seat out of others' reach are put in reach: if another worker
//! is free for them the seat may stay where it is.
//!
//! The seat passes in one step, (3), by the spare's own hand: no seat stands empty because a thread was
//! late, or could not be had. `stay.rs` says why the two cannot meet.
//!
//! User code is a poll mostly; what is meant besides says [`UserCode`]. What it does after (3) works as on a
//! thread outside of the runtime: what it spawns or wakes goes to the inject queue, its new timers are common
//! ones, `block_in_place` has nothing to give away. Until its task is settled that is noted as `away`, for
//! the shutdown.

use super::MultiThread;
use super::seat::Seat;
use super::sitter::sit_as;
use super::stay::{InDoubt, NoDoubt, Stay, UserCode};
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
pub(super) struct Found {
    /// The task whose poll or end the sitter is stuck in.
    pub(super) task: Option<(Id, &'static Location<'static>)>,
    /// Something was put in reach of the other workers.
    pub(super) is_relieved: bool,
    /// Something lies there that only a sitter can see to, now or soon.
    pub(super) wants_sitter: bool,
}

/// When a spare thread was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    Now,
    /// Earlier, and it did not come yet.
    Before,
}

impl MultiThread {
    /// Looks what waits on the seat of a sitter that is in user code, and got no further than that; none if
    /// it has, or is just busy with its seat. If it `relieves` the seat, other workers can have its tasks
    /// from now on.
    pub(super) fn inspect(
        &self,
        index: usize,
        progress: u64,
        within: Duration,
        relieves: bool,
    ) -> Option<Found> {
        let seat = &self.seats[index];
        let in_doubt = self.doubt(seat)?;
        if seat.progress() != progress {
            return None;
        }
        seat.core.with_mut(|core| {
            // SAFETY: the sitter is kept out while `in_doubt` lives. No user code runs in here.
            let core = unsafe { &mut *core };
            let is_relieved = relieves && core.share_all(&seat.queue);
            if relieves {
                seat.load.open();
            }
            // While one searches nobody else is called: he must not be stuck.
            let is_wanted = !core.is_idle() || core.searching;
            let wants_sitter = is_wanted || self.info.time.is_soon_due(&core.timers, within);
            let task = match in_doubt.what() {
                UserCode::Poll(task) => {
                    // SAFETY: the doubt keeps the task alive.
                    let task = unsafe { task.as_ref() };
                    Some((task.id(), task.spawned_at()))
                }
                UserCode::End(_) => core.ending,
                UserCode::Callback => None,
            };
            Some(Found { task, is_relieved, wants_sitter })
        })
    }

    /// Keeps the sitter out of its seat if it is in user code. Where that is refused, nothing may be kept that it
    /// would be needed for.
    fn doubt<'a>(&self, seat: &'a Seat) -> Option<InDoubt<'a>> {
        let in_doubt = seat.sitting.doubt();
        if let Err(NoDoubt::NoFence) = in_doubt {
            self.keep_no_tasks();
        }
        in_doubt.ok()
    }

    /// (2) Has a thread of the pool take seat `index`, unless one is on its way.
    pub(super) fn call_spare(self: &Arc<Self>, index: usize, stuck: Stuck) -> io::Result<Called> {
        if self.seats[index].spare_called.swap(true, AcqRel) {
            return Ok(Called::Before);
        }
        let called = SpareCalled { shared: self.clone(), index };
        let job = Box::new(move || called.come(stuck));
        self.submit_seat(job)?;
        Ok(Called::Now)
    }

    /// (3) Takes the seat from a sitter that is still stuck.
    pub(super) fn take_seat(&self, index: usize, stuck: Stuck) -> Option<Arc<Stay>> {
        let (seat, stay) = (&self.seats[index], self.new_stay());
        let in_doubt = self.doubt(seat)?;
        if seat.progress() != stuck.progress {
            return None;
        }
        if let Some(task) = in_doubt.what().task() {
            self.begin_away(task);
        }
        // Before the other can know, and say that it has come back.
        self.stalls.metrics.note_handoff();
        in_doubt.take_seat(stuck.since, &stay);
        Some(stay)
    }
}

/// A spare thread is on its way to a seat, until dropped.
struct SpareCalled {
    shared: Arc<MultiThread>,
    index: usize,
}

impl SpareCalled {
    fn come(self, stuck: Stuck) {
        let Some(stay) = self.shared.take_seat(self.index, stuck) else { return };
        let (shared, index) = (self.shared.clone(), self.index);
        drop(self);
        sit_as(shared, index, stay);
    }
}

impl Drop for SpareCalled {
    fn drop(&mut self) {
        self.shared.seats[self.index].spare_called.store(false, Release);
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "handoff/tests/loom.rs"]
mod loom;
