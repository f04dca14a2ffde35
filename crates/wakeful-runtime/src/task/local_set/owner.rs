//! The owning thread's side of a `LocalSet`: spawning and running its tasks.

use super::current;
use super::tasks::{Core, LocalTasks, TaskList};
use crate::config::UnhandledPanic;
use crate::stall;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use wakeful_base::budget;
use wakeful_base::call_now;
use wakeful_base::enter::{Entered, EnteredGuard, entered, set_entered};
use wakeful_task::{Finishing, Id, JoinHandle, Outcome, Polled, Runnable, Running, new_task};

/// How many tasks run in one poll of the set.
const TASKS_PER_POLL_MAX: u32 = 61;

/// Every so many turns the remote queue goes before the local one.
const REMOTE_FIRST_INTERVAL: u8 = 31;

/// A reference to the tasks that never leaves the thread they belong to.
pub(super) struct Owner {
    pub(super) tasks: Arc<LocalTasks>,
    _not_send: PhantomData<*const ()>,
}

impl Owner {
    /// A new set of tasks, owned by the calling thread.
    pub(super) fn new() -> Owner {
        Owner { tasks: LocalTasks::new(), _not_send: PhantomData }
    }

    /// Runs `f` with the core. No user code may run in it.
    pub(super) fn with_core<R>(&self, f: impl FnOnce(&mut Core) -> R) -> R {
        // SAFETY: not being `Send`, we are on the thread that made the tasks.
        unsafe { self.tasks.with_core(f) }
    }

    /// Takes a task in. It runs when the set is polled.
    pub(super) fn spawn<F>(
        &self,
        future: F,
        id: Id,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        // The cell's reference; `release_cell` gives it back.
        std::mem::forget(self.tasks.clone());
        let home = NonNull::from(&self.tasks.fresh);
        // SAFETY: the reference above keeps the home; only this thread polls and cancels the tasks.
        let (runnable, join) = unsafe { new_task(future, home, id, spawned_at) };
        self.admit(runnable);
        join
    }

    /// Not generic, so that a spawn's code is small.
    fn admit(&self, runnable: Runnable) {
        // SAFETY: not being `Send`, we are on the thread that made the tasks.
        let Some(mut core) = (unsafe { self.tasks.try_core() }) else {
            self.tasks.push_remote(runnable);
            return self.wake_poller();
        };
        if core.is_closed {
            drop(core);
            return runnable.cancel().complete();
        }
        core.queue.push_back(runnable);
        let is_being_polled = core.is_being_polled;
        drop(core);
        if !is_being_polled {
            self.wake_poller();
        }
    }

    /// Wakes the task that polls the set. A panic of its waker goes no further: the caller spawns or
    /// drops something else.
    fn wake_poller(&self) {
        if let Some(waker) = self.tasks.poller.take() {
            call_now(waker);
        }
    }

    /// Begins a poll of the set, to be woken through `waker` when there is more to do.
    pub(super) fn begin_poll(self: &Rc<Self>, waker: &Waker) -> PollGuard<'_> {
        let guard = self.enter();
        // SAFETY: not being `Send`, we are always on the one thread.
        unsafe { self.tasks.poller.arm(waker) };
        guard
    }

    /// Lets this thread act for the set: `spawn_local` goes there, `block_in_place` is forbidden, and
    /// what is queued needs no call to the poller.
    pub(super) fn enter(self: &Rc<Self>) -> PollGuard<'_> {
        PollGuard {
            _current: current::enter(self.clone()),
            // A thread that drives nothing may block as it likes, there is only the set to stall.
            _no_block_in_place: (entered() == Entered::MayBlockInPlace)
                .then(|| set_entered(Entered::Bound)),
            was_being_polled: self
                .with_core(|core| std::mem::replace(&mut core.is_being_polled, true)),
            owner: self,
        }
    }

    /// Runs tasks that are ready, as many as may go in one poll. True if there may be more.
    ///
    /// # Panics
    /// If a task panicked, now or earlier, and the set was told to end by that.
    pub(super) fn run_tasks(&self) -> bool {
        for _ in 0..TASKS_PER_POLL_MAX {
            let Some(runnable) = self.next() else {
                // There are no tasks after a panic that ended the set.
                assert!(
                    !self.with_core(|core| core.has_panicked),
                    "a spawned task panicked and the LocalSet is configured to shutdown on unhandled \
                     panic; to have it go on, leave `LocalSet::unhandled_panic` at `Ignore`"
                );
                return false;
            };
            budget::with_initial(|| self.poll_task(runnable));
        }
        true
    }

    /// Whether there is no task left, given that none is ready.
    pub(super) fn is_empty(&self) -> bool {
        // Those that never waited are in a queue, or were run.
        self.with_core(|core| core.owned.is_empty())
    }

    /// A poll ends without having run tasks: sees to it that those that are ready get their turn, if
    /// anybody else drives the set.
    pub(super) fn wake_poller_if_ready(&self) {
        if self.with_core(|core| !core.queue.is_empty()) {
            self.wake_poller();
        }
    }

    fn next(&self) -> Option<Runnable> {
        let remote = &self.tasks.remote;
        self.with_core(|core| {
            let is_remote_first = core.tick % REMOTE_FIRST_INTERVAL == 0;
            core.tick = core.tick.wrapping_add(1);
            // With nothing left here this look at the remote queue is what decides that we may rest:
            // it comes after `arm`, so that a push that it does not see finds the waker.
            if (is_remote_first || core.queue.is_empty()) && !remote.is_empty() {
                let limit = |len| if is_remote_first { 1 } else { len };
                let mut first = None;
                remote.pop_many(limit, |runnable| {
                    if first.is_none() {
                        first = Some(runnable);
                    } else {
                        core.queue.push_back(runnable);
                    }
                });
                if first.is_some() {
                    return first;
                }
            }
            core.queue.pop_front()
        })
    }

    /// Polls one task and sees to what becomes of it. User code runs in here.
    fn poll_task(&self, runnable: Runnable) {
        let task = runnable.task();
        self.with_core(|core| core.polling.push(task));
        let polled = stall::run_task(runnable.id(), runnable.spawned_at(), || runnable.run());
        self.with_core(|core| core.polling.pop());
        match polled {
            Polled::Pending(running) => self.suspend_or_requeue(running),
            Polled::Ended(ended) => self.end(ended),
        }
    }

    /// Lets a task wait, or queues it again if it was woken during its poll.
    fn suspend_or_requeue(&self, running: Running) {
        let cancelled = self.with_core(|core| {
            if core.is_closed {
                return Some(running);
            }
            // SAFETY: all tasks of a set have a `TaskList`, valid as long as they live.
            if !unsafe { running.home::<TaskList>().as_ref() }.is_listed {
                // SAFETY: the other home lives as long as the one it replaces; a fresh task is in no
                // list.
                unsafe {
                    running.set_home(NonNull::from(&self.tasks.listed));
                    core.owned.push_front(running.task());
                }
            }
            if let Some(again) = running.idle() {
                core.queue.push_back(again);
            }
            None
        });
        // The set was closed during the poll, which kept the task from being dropped with the others.
        if let Some(running) = cancelled {
            self.end(running.cancel());
        }
    }

    /// Takes leave of a task that has ended. User code runs in here.
    pub(super) fn end(&self, ended: Finishing) {
        let shuts_down = self.with_core(|core| {
            // SAFETY: in our list or in none.
            unsafe { core.owned.remove(ended.task()) };
            let is_fatal = ended.outcome() == Outcome::Panic
                && core.on_panic == UnhandledPanic::ShutdownRuntime
                && !core.is_closed;
            core.has_panicked |= is_fatal;
            is_fatal
        });
        ended.complete();
        if shuts_down {
            self.drop_all();
        }
    }
}

/// The thread acts for a set until this is dropped.
pub(super) struct PollGuard<'a> {
    owner: &'a Owner,
    was_being_polled: bool,
    _current: current::LocalEnterGuard,
    _no_block_in_place: Option<EnteredGuard>,
}

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        self.owner.with_core(|core| core.is_being_polled = self.was_being_polled);
    }
}
