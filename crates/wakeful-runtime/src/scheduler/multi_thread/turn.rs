//! A task's turn: its poll, and what becomes of it.

use super::seat::{ENDED_ELSEWHERE_MAX, Home, Place, SeatCore};
use super::sitter::{CoreSection, Sitter};
use super::stay::UserCode;
use crate::config;
use wakeful_base::budget::{self, Budget};
use wakeful_task::{FinishingTask, Polled, Runnable, RunningTask, TaskRef};

impl Sitter {
    /// Polls a task, and those that it woke last.
    pub(super) fn run_task(&self, mut runnable: Runnable) {
        let _budget = budget::replace(Budget::INITIAL);
        let mut row = 0;
        loop {
            self.poll(runnable);
            let Some(mut core) = self.enter() else { return };
            let row_max = core.pace.row_max();
            let woken = if row < row_max { core.lifo.take() } else { None };
            match woken {
                Some(woken) if budget::has_remaining() => {
                    row += 1;
                    core.lifo_enabled = row < row_max;
                    drop(core);
                    runnable = woken;
                }
                woken => {
                    self.end_row(&mut core, row, woken);
                    break;
                }
            }
        }
        if self.shared.idle.is_anybody_idle() {
            self.share_work();
        }
    }

    /// After `row` more polls than the first. A task that was `woken` and has no budget left waits for its turn.
    #[inline]
    fn end_row(&self, core: &mut SeatCore, row: u32, woken: Option<Runnable>) {
        let (seat, metrics) = (self.seat(), &self.seat().metrics);
        if let Some(woken) = woken {
            core.queue.push(&seat.queue, woken);
        }
        core.lifo_enabled = self.has_slot(core);
        core.count_row(row);
        metrics.note_budget();
        metrics.progress.add(u64::from(budget::paid()));
    }

    /// Polls one task and sees to what becomes of it. User code runs in here.
    #[inline]
    fn poll(&self, runnable: Runnable) {
        let metrics = &self.seat().metrics;
        metrics.polls.add(1);
        self.stay.begin_user_code(UserCode::Poll(runnable.task()));
        let hooks = &self.shared.config.hooks;
        let polled = if hooks.before_poll.is_none() && hooks.after_poll.is_none() {
            runnable.run()
        } else {
            self.poll_with_hooks(runnable)
        };
        match polled {
            Polled::Pending(running) => self.settle(running),
            Polled::Ended(ended) => self.end(ended),
        }
    }

    #[cold]
    fn poll_with_hooks(&self, runnable: Runnable) -> Polled {
        let hooks = &self.shared.config.hooks;
        config::call_for(&hooks.before_poll, &runnable);
        let polled = runnable.run();
        // SAFETY: whatever became of it, we have the reference that keeps it alive.
        config::call_for(&hooks.after_poll, unsafe { polled.task().as_ref() });
        polled
    }

    /// Lets a task wait, or queues it again if it was woken during its poll.
    #[inline]
    fn settle(&self, running: RunningTask) {
        self.stay.end_user_code();
        let yields = self.yielding.take();
        let Some(mut core) = self.enter() else {
            return self.shared.settle_seatless(running, yields);
        };
        // SAFETY: all tasks of this scheduler have a `Home`.
        let home = unsafe { running.home::<Home>() };
        // SAFETY: a live task's home is valid.
        if unsafe { home.as_ref() }.place == Place::Fresh {
            // SAFETY: our seat's home lives as long as the one it replaces; a fresh task is in no list.
            unsafe {
                running.set_home(self.seat().home.as_ptr());
                core.owned.push_front(running.task());
            }
        }
        if yields {
            core.yielded.push(running.requeue());
        } else if let Some(again) = running.idle() {
            self.seat().metrics.local_schedules.add(1);
            core.queue.push(&self.seat().queue, again);
        }
    }

    /// Takes leave of a task that has ended. User code runs in here.
    #[inline]
    fn end(&self, ended: FinishingTask) {
        // SAFETY: all tasks of this scheduler have a `Home`, valid as long as they live.
        let place = unsafe { ended.home::<Home>().as_ref() }.place;
        self.yielding.set(false);
        match (self.enter(), place) {
            (Some(mut core), Place::Seat(index)) if index != self.index => {
                self.begin_end(&mut core, &ended, Some(ended.task()));
                core.ended_elsewhere = core.ended_elsewhere.wrapping_add(1);
                let is_much = core.ended_elsewhere % ENDED_ELSEWHERE_MAX == 0;
                self.seat().metrics.ended.add(1);
                drop(core);
                return self.end_elsewhere(ended, index, is_much);
            }
            (Some(mut core), Place::Seat(_) | Place::Fresh) => {
                self.begin_end(&mut core, &ended, None);
                if place != Place::Fresh {
                    // SAFETY: it is in our list.
                    unsafe { core.owned.remove(ended.task()) };
                }
                self.seat().metrics.ended.add(1);
                drop(core);
                self.call_terminate_hook(&ended);
                ended.complete();
            }
            (Some(mut core), Place::Common) => {
                self.begin_end(&mut core, &ended, None);
                drop(core);
                self.shared.end_seatless(ended);
            }
            (None, _) => {
                self.stay.begin_user_code(UserCode::End(None));
                self.shared.end_seatless(ended);
            }
        }
        self.stay.end_user_code();
    }

    /// Ends a task that is in the list of another seat, and leaves it there to be taken out.
    fn end_elsewhere(&self, ended: FinishingTask, index: usize, is_much: bool) {
        self.call_terminate_hook(&ended);
        let done = ended.complete_keeping_ref();
        self.stay.end_user_code();
        let Some(core) = self.enter() else {
            return self.shared.push_ended_seatless(index, done);
        };
        // While we sit here nobody clears up.
        self.shared.seats[index].push_ended(done);
        drop(core);
        if is_much {
            self.shared.call_for_ended();
        }
    }

    /// Whether what is woken now comes next anyhow. Then it is the slot's, even when that had its share:
    /// in the queue a thief would take it, and two tasks that wake each other would go to and fro.
    fn is_next_in_line(&self, core: &SeatCore) -> bool {
        let has_queued = core.queue.held_back() > 0 || !self.seat().queue.is_empty();
        self.has_slot(core) && core.lifo.is_none() && !has_queued
    }

    #[inline]
    fn has_slot(&self, core: &SeatCore) -> bool {
        self.shared.config.lifo_slot && core.pace.has_rows()
    }

    /// From here on, what is run is about the end of a task: who sees us stuck there is told of which.
    #[inline]
    fn begin_end(&self, core: &mut SeatCore, ended: &FinishingTask, listed: Option<TaskRef>) {
        // SAFETY: the scheduler's reference keeps the task alive.
        let task = unsafe { ended.task().as_ref() };
        core.ending = Some((task.id(), task.spawned_at()));
        self.stay.begin_user_code(UserCode::End(listed));
    }

    fn call_terminate_hook(&self, ended: &FinishingTask) {
        // SAFETY: the scheduler's reference keeps the task alive.
        config::call_for(&self.shared.config.hooks.terminate, unsafe { ended.task().as_ref() });
    }

    /// Puts a woken or new task next in line.
    #[inline]
    pub(super) fn push_woken(&self, mut core: CoreSection<'_>, runnable: Runnable) {
        self.seat().metrics.local_schedules.add(1);
        let is_next = core.lifo_enabled || self.is_next_in_line(&core);
        let behind = if is_next { core.lifo.replace(runnable) } else { Some(runnable) };
        if let Some(count) = self.woken.get() {
            self.woken.set(Some(count + 1));
        }
        let Some(behind) = behind else { return };
        core.queue.push(&self.seat().queue, behind);
        drop(core);
        if self.woken.get().is_none() && self.should_call_for(self.seat().queue.len()) {
            self.shared.wake_worker();
        }
    }
}
