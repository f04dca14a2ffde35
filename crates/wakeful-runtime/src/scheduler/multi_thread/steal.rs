//! The search for work: in the injection queue, in the run queues of other workers, in the driver.

use super::worker::WorkerCore;
use super::worker_thread::WorkerThread;
use crate::scheduler::luck::{LOOK_EVERY, SEARCH_BESIDE_MAX, WORKER_SEARCH_MAX};
use std::mem::take;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use wakeful_base::sync::hint;
use wakeful_task::Runnable;

/// How many entries a worker takes from the injection queue at once, at most. It bounds how long
/// one worker holds the queue's lock, and how many tasks wait behind one worker.
const INJECT_BATCH_MAX: usize = 64;

impl WorkerThread {
    /// Takes a worker's share of the injection queue. Returns one entry to run, and puts the others
    /// into the worker's run queue.
    pub(super) fn take_injected(&self, core: &mut WorkerCore) -> Option<Runnable> {
        let inject = &self.scheduler.inject;
        if inject.is_empty() {
            return None;
        }
        let share = |len: usize| (len / self.scheduler.worker_count() + 1).min(INJECT_BATCH_MAX);
        let mut first = None;
        inject.pop_many(share, |runnable| {
            if first.is_none() {
                first = Some(runnable);
            } else {
                core.queue.push(&self.worker().queue, runnable);
            }
        });
        first
    }

    /// Searches for tasks, starting at `started`, and spins for a while if that has paid off
    /// recently.
    pub(super) fn search(&self, started: Instant) -> Option<Runnable> {
        let mut core = self.enter()?;
        if take(&mut core.gathered.skip_search) && !core.searching {
            return None;
        }
        core.gathered.end();
        if !core.searching {
            core.searching = self.scheduler.idle.begin_search();
        }
        if !core.searching {
            return None;
        }
        let (mut now, mut next_look) = (started, started);
        // Other workers that are awake may produce work at any moment, and no worker would unpark
        // this one for it soon. So a worker beside others always spins for a while.
        let stuck_or_watching =
            self.scheduler.stalled.load(Relaxed) + self.scheduler.lazy_monitor.watching();
        let is_alone = self.scheduler.idle.awake() <= 1 + stuck_or_watching;
        let time_max = if is_alone { WORKER_SEARCH_MAX } else { SEARCH_BESIDE_MAX };
        let mut looks = 0_u32;
        loop {
            let found = self.steal(&mut core, now).or_else(|| self.take_injected(&mut core));
            let took = now.duration_since(started);
            if found.is_some() || self.scheduler.is_stopping() || took >= time_max {
                if is_alone {
                    core.luck.note(looks, found.is_some(), took);
                }
                return found;
            }
            if now >= next_look {
                let polls = self.worker().metrics.polls.get();
                if is_alone && !core.luck.may_look(looks, polls, now) {
                    return None;
                }
                looks += 1;
                next_look = now + LOOK_EVERY;
                drop(core);
                self.gather(|| self.scheduler.driver.look(&mut |waker| self.wake(waker)));
                let has_ended_search = self.call_external_wakers();
                core = self.enter()?;
                let woken = core.lifo.take().or_else(|| core.queue.pop(&self.worker().queue));
                if woken.is_some() || has_ended_search {
                    if is_alone {
                        core.luck.note(looks, true, took);
                    }
                    return woken;
                }
            } else {
                for _ in 0..16 {
                    hint::spin_loop();
                }
            }
            now = Instant::now();
        }
    }

    /// Steals from another worker whose queue is worth it, beginning with a random one. Returns one
    /// task to run, and puts the others into the run queue.
    pub(super) fn steal(&self, core: &mut WorkerCore, now: Instant) -> Option<Runnable> {
        let workers = self.scheduler.worker_count();
        let start = core.rng.below(workers as u32) as usize;
        let own = self.worker();
        for i in 0..workers {
            let index = (start + i) % workers;
            if index == self.index {
                continue;
            }
            let victim = &self.scheduler.workers[index];
            if !victim.is_worth_taking() && self.scheduler.retreats.leaving() != Some(index) {
                continue;
            }
            if let Some((runnable, count)) = victim.queue.steal_into(&own.queue, &mut core.queue) {
                own.metrics.steal_operations.add(1);
                own.metrics.steals.add(count as u64);
                self.begin_haul(core, index, count, now);
                return Some(runnable);
            }
        }
        None
    }

    /// Ends the search, because work was found, and unparks another worker if there is more.
    pub(super) fn end_search(&self) {
        let Some(mut core) = self.enter() else { return };
        if !core.searching {
            return;
        }
        core.searching = false;
        let own_are_few = core.gathered.is_on();
        drop(core);
        if !own_are_few {
            self.scheduler.end_search();
        } else if self.scheduler.idle.end_search() && self.scheduler.has_work_besides(self.index) {
            self.scheduler.notify_parked();
        }
    }
}
