//! What is due every so many turns, or before a worker sleeps.

use super::MultiThread;
use super::seat::SeatCore;
use super::sitter::Sitter;
use crate::timers::SeatTimers;
use std::mem::take;
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::CallWaker;
use wakeful_base::sync::atomic::Ordering::Relaxed;

/// How long a worker with short polls goes on without a look at the driver, which is a system call. What it may find
/// waits no longer than that, and tasks that give way to it go on, where nobody else has anything to do. Models look each
/// time: each of their runs has to be the same.
const LOOK_EVERY: Duration = Duration::from_micros(if cfg!(wakeful_loom) { 0 } else { 10 });

impl Sitter {
    /// What is due every so many polls: a look at the driver unless the last was a moment ago, and clearing up.
    pub(super) fn maintain(&self) {
        let Some(mut core) = self.enter() else { return };
        let now = core.just_woke.take().unwrap_or_else(Instant::now);
        let skip_look = take(&mut core.skip_look);
        let looks = now >= core.next_look;
        if looks {
            core.next_look = now + LOOK_EVERY;
        }
        drop(core);
        let polls = self.measure_polls(now);
        if looks && !skip_look {
            self.gather(|| self.shared.driver.look(&mut |waker| self.wake(waker)));
            self.serve_timers();
        }
        self.call_foreign();
        self.wake_deferred();
        self.share_backlog(now);
        self.clear_ended();
        if let Some(polls) = polls {
            self.heed_retreats(polls, now);
        }
    }

    pub(super) fn wake_deferred(&self) {
        let Some(mut core) = self.enter() else { return };
        let SeatCore { yielded, queue, .. } = &mut *core;
        if yielded.len() > 1 && !self.shared.retreats.is_anybody_away() {
            self.seat().load.favour();
        }
        self.seat().metrics.local_schedules.add(yielded.len() as u64);
        queue.push_all(&self.seat().queue, yielded);
        drop(core);
        self.call_each(|core| &mut core.deferred);
    }

    /// Fires the timers that are due. True if any of the seat's own, or of those that are lent, did.
    pub(super) fn serve_timers(&self) -> bool {
        let call = &mut |waker: Waker| self.wake(waker);
        let with_own = |f: &mut dyn FnMut(&mut SeatTimers)| {
            if let Some(mut core) = self.enter() {
                f(&mut core.timers);
            }
        };
        let fired = self.gather(|| {
            let own = self.shared.info.time.serve(&self.seat().left_timers, with_own, call);
            self.shared.serve_lent_timers(call).and(own)
        });
        if fired.count > 0 {
            if let Some(mut core) = self.enter() {
                core.timers.note(fired);
            }
        }
        if self.shared.vacant.load(Relaxed) > 0 {
            self.shared.serve_vacant_timers(call);
        }
        fired.count > 0
    }

    pub(super) fn clear_ended(&self) {
        let seat = self.seat();
        if seat.has_ended() {
            let ended = self.enter().map(|mut core| seat.take_ended(&mut core));
            drop(ended);
        }
    }
}

impl MultiThread {
    /// Fires the timers of seats that were given away and are not taken yet: there may be no thread to be had.
    #[cold]
    fn serve_vacant_timers(&self, call: CallWaker<'_>) {
        for seat in &self.seats {
            let with_own = |f: &mut dyn FnMut(&mut SeatTimers)| {
                seat.with_vacant_core(|core| f(&mut core.timers));
            };
            self.info.time.serve(&seat.left_timers, with_own, call);
        }
    }
}
