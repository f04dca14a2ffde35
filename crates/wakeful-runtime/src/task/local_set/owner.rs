//! The owning thread's side of a `LocalSet`: spawning and running tasks.

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
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;
use wakeful_base::budget;
use wakeful_base::call_now;
use wakeful_base::enter::{Entered, EnteredGuard, entered, set_entered};
use wakeful_task::{
    FinishingTask, Id, JoinHandle, Outcome, Polled, Runnable, RunningTask, new_task, recording,
};

/// The limit on tasks that run in one poll of the set; the same as Tokio's.
///
/// It lets the runtime's other tasks run in between.
const TASKS_PER_POLL_MAX: u32 = 61;

/// The number of tasks after which the remote queue goes before the local one; the same as Tokio's.
///
/// It keeps a busy local queue from starving the remote one.
const REMOTE_FIRST_INTERVAL: u8 = 31;

/// A reference to the set's tasks that never leaves their thread.
pub(super) struct Owner {
    pub(super) tasks: Arc<LocalTasks>,
    _not_send: PhantomData<*const ()>,
}

impl Owner {
    /// Creates an empty set of tasks that the calling thread owns.
    pub(super) fn new(id: u64) -> Owner {
        Owner { tasks: LocalTasks::new(id), _not_send: PhantomData }
    }

    /// Runs `f` with the core. `f` must not run user code.
    pub(super) fn with_core<R>(&self, f: impl FnOnce(&mut Core) -> R) -> R {
        // SAFETY: an `Owner` is neither `Send` nor `Sync`, so this is the thread that created it in
        // `new`, which owns the tasks.
        unsafe { self.tasks.with_core(f) }
    }

    /// Spawns a task, which runs when the set is polled.
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
        // The reference of the task's cell; `release_cell` gives it back.
        std::mem::forget(self.tasks.clone());
        let home = NonNull::from(&self.tasks.unlisted);
        // SAFETY: the reference above keeps `unlisted`, a field of `LocalTasks`, valid until
        // `release_cell`. The future need not be `Send`, since only `Owner`s poll and cancel tasks,
        // and they are on this thread.
        let (runnable, join) = unsafe { new_task(future, home, id, spawned_at) };
        self.admit(runnable);
        join
    }

    /// Queues a new task. Not generic, so that each instance of `spawn` is small.
    fn admit(&self, runnable: Runnable) {
        self.tasks.record(&runnable);
        if recording::has_observers() {
            runnable.record_spawn();
        }
        // SAFETY: an `Owner` is neither `Send` nor `Sync`, so this is the owning thread.
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

    /// Wakes the task that polls the set.
    ///
    /// A panic of its waker is caught: the caller is spawning or dropping something unrelated.
    fn wake_poller(&self) {
        if let Some(waker) = self.tasks.poller.take() {
            call_now(waker);
        }
    }

    /// Begins a poll of the set. `waker` is woken when a task becomes ready after the poll.
    pub(super) fn begin_poll(self: &Rc<Self>, waker: &Waker) -> PollGuard<'_> {
        // Before `enter`: if the clone of `waker` wakes a task and then panics, no poll follows
        // that would run the task, so the previous poller is woken.
        // SAFETY: only one thread may call `arm`. An `Owner` is neither `Send` nor `Sync`, so that
        // is the owning thread.
        unsafe { self.tasks.poller.arm(waker) };
        self.enter()
    }

    /// Puts this thread into the set until the guard is dropped.
    ///
    /// Meanwhile `spawn_local` uses the set, `block_in_place` panics, and queueing a task does not
    /// wake the poller.
    pub(super) fn enter(self: &Rc<Self>) -> PollGuard<'_> {
        self.tasks.is_being_polled.store(true, Relaxed);
        PollGuard {
            _current: current::enter(self.clone()),
            // A thread that drives no runtime may block: that delays only this set.
            _no_block_in_place: (entered() == Entered::MayBlockInPlace)
                .then(|| set_entered(Entered::Bound)),
            was_being_polled: self
                .with_core(|core| std::mem::replace(&mut core.is_being_polled, true)),
            owner: self,
        }
    }

    /// Runs ready tasks, up to the limit of one poll. Returns whether there may be more.
    ///
    /// # Panics
    /// Panics if a task has panicked and the set is configured to shut down then.
    pub(super) fn run_tasks(&self) -> bool {
        // SAFETY: an `Owner` is neither `Send` nor `Sync`, so this is the owning thread.
        unsafe { self.tasks.walk_if_requested() };
        for _ in 0..TASKS_PER_POLL_MAX {
            let Some(runnable) = self.next() else {
                // Checked only here: a panic that shuts down the set leaves no tasks.
                assert!(
                    !self.with_core(|core| core.has_panicked),
                    "a spawned task panicked and the LocalSet is configured to shutdown on unhandled \
                     panic; to let it continue, leave `LocalSet::unhandled_panic` at `Ignore`"
                );
                return false;
            };
            budget::with_initial(|| self.poll_task(runnable));
        }
        true
    }

    /// Returns whether no task is left, provided that none is ready.
    pub(super) fn is_empty(&self) -> bool {
        // Tasks that are not in the list have never waited, so they are in a queue or have ended.
        self.with_core(|core| core.owned.is_empty())
    }

    /// Wakes the poller if tasks are ready, for a poll that returns without running them.
    ///
    /// Another future that drives the set then runs them.
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
            // If the local queue is empty, this check decides that the poll may return `Pending`.
            // It comes after `arm`, so a push that it does not see finds the waker: no wake-up is
            // lost.
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

    /// Polls one task and settles or ends it. Runs user code.
    fn poll_task(&self, runnable: Runnable) {
        let task = runnable.task();
        self.with_core(|core| core.polling.push(task));
        let polled = stall::run_task(runnable.id(), runnable.spawned_at(), || {
            // The set has no other way for a task to yield than its waker.
            if recording::has_observers() {
                runnable.run_observed(|| false)
            } else {
                runnable.run()
            }
        });
        self.with_core(|core| core.polling.pop());
        match polled {
            Polled::Pending(running) => self.settle(running),
            Polled::Ended(ended) => self.end(ended),
        }
    }

    /// Leaves a pending task to its waker, or queues it again if it was woken during its poll.
    fn settle(&self, running: RunningTask) {
        let cancelled = self.with_core(|core| {
            if core.is_closed {
                return Some(running);
            }
            // SAFETY: `spawn` makes all tasks of a set with a `TaskList`, and the cell's reference
            // keeps it valid while the task, which `running` refers to, is alive.
            if !unsafe { running.home::<TaskList>().as_ref() }.is_listed {
                // SAFETY: `listed` and the `unlisted` that it replaces are fields of the same
                // `LocalTasks`, so the cell's reference keeps both valid. A task whose home is
                // `unlisted` is in no list; it is alive, and `end` or `drop_all` removes it from
                // the list before it is freed.
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
        // The set was closed during the poll. `drop_all` skipped this task because it was being
        // polled.
        if let Some(running) = cancelled {
            self.end(running.cancel());
        }
    }

    /// Removes a task that has ended from the list and completes it. Runs user code.
    pub(super) fn end(&self, ended: FinishingTask) {
        // SAFETY: `ended` holds the scheduler's reference, which keeps the task alive.
        let id = unsafe { ended.task().as_ref() }.id().as_u64();
        let shuts_down = self.with_core(|core| {
            // SAFETY: `ended` keeps the task alive. It is in this set's list, or in none if it has
            // never waited or `drop_all` has taken it out.
            unsafe { core.owned.remove(ended.task()) };
            let is_fatal = ended.outcome() == Outcome::Panic
                && core.on_panic == UnhandledPanic::ShutdownRuntime
                && !core.is_closed;
            core.has_panicked |= is_fatal;
            is_fatal
        });
        self.tasks.remove_record(id);
        ended.complete();
        if shuts_down {
            self.drop_all();
        }
    }
}

/// A guard that keeps the thread in a set until it is dropped.
pub(super) struct PollGuard<'a> {
    owner: &'a Owner,
    was_being_polled: bool,
    _current: current::LocalEnterGuard,
    _no_block_in_place: Option<EnteredGuard>,
}

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        self.owner.with_core(|core| core.is_being_polled = self.was_being_polled);
        self.owner.tasks.is_being_polled.store(self.was_being_polled, Relaxed);
    }
}
