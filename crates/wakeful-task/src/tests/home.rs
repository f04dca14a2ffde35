//! A scheduler for tests: a queue, a list of live tasks, and counters.

use crate::{
    FinishingTask, Id, JoinHandle, Outcome, OwnedLink, Polled, Runnable, Schedule, TaskRef,
    new_task,
};
use std::collections::VecDeque;
use std::future::Future;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use wakeful_base::list::List;

/// A home. Every cell that has it as its home owns one count of its `Arc`.
///
/// Its fields are std's even under loom, so that a model sees no ordering but that of the state
/// word, and has fewer interleavings to try. No lock is held across an operation of loom.
/// `schedule` relies on the test having a count as well, and does not `retain` the task.
pub(crate) struct TestHome {
    queue: Mutex<VecDeque<Runnable>>,
    owned: Mutex<OwnedTasks>,
    schedule_calls: AtomicUsize,
    cells_made: AtomicUsize,
    cells_freed: AtomicUsize,
}

struct OwnedTasks(List<OwnedLink>);

// SAFETY: the nodes are accessed only under the lock around the list.
unsafe impl Send for OwnedTasks {}

// SAFETY: each cell has a count of the home's `Arc`, which `release_cell` drops.
unsafe impl Schedule for TestHome {
    unsafe fn schedule(home: NonNull<TestHome>, runnable: Runnable) {
        // SAFETY: the test owns a count of the home's `Arc`.
        let home = unsafe { home.as_ref() };
        home.schedule_calls.fetch_add(1, SeqCst);
        lock(&home.queue).push_back(runnable);
    }

    unsafe fn release_cell(home: NonNull<TestHome>) {
        // SAFETY: the count that the cell had.
        let home = unsafe { Arc::from_raw(home.as_ptr().cast_const()) };
        home.cells_freed.fetch_add(1, SeqCst);
    }
}

/// The result of running an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunResult {
    /// The task is idle.
    Idle,
    /// The task was woken during the poll and is in the queue again.
    Again,
    Ended(Outcome),
}

/// How the scheduler's reference is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The task leaves the list, then `complete`.
    AtOnce,
    /// `complete_keeping_ref`, then the task leaves the list, then the reference is released.
    KeepingRef,
}

pub(crate) const ENDINGS: [Ending; 2] = [Ending::AtOnce, Ending::KeepingRef];

impl TestHome {
    pub(crate) fn new() -> Arc<TestHome> {
        Arc::new(TestHome {
            queue: Mutex::default(),
            owned: Mutex::new(OwnedTasks(List::new())),
            schedule_calls: AtomicUsize::new(0),
            cells_made: AtomicUsize::new(0),
            cells_freed: AtomicUsize::new(0),
        })
    }

    /// Returns a pointer for a cell, with a count of its own.
    pub(crate) fn for_a_cell(self: &Arc<Self>) -> NonNull<TestHome> {
        self.cells_made.fetch_add(1, SeqCst);
        NonNull::new(Arc::into_raw(self.clone()).cast_mut()).expect("an Arc is not null")
    }

    /// Creates a task, and returns its first entry.
    #[track_caller]
    pub(crate) fn task<F>(self: &Arc<Self>, future: F) -> (Runnable, JoinHandle<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (home, here) = (self.for_a_cell(), Location::caller());
        // SAFETY: the cell has its count of the home; the future and its output are `Send`.
        let (runnable, join) = unsafe { new_task(future, home, Id::next(), here) };
        let task = runnable.into_raw();
        // SAFETY: the task is alive and in no list. It does not move, and `end` removes it before
        // it is freed.
        unsafe { lock(&self.owned).0.push_back(task) };
        // SAFETY: from `into_raw` just now.
        (unsafe { Runnable::from_raw(task) }, join)
    }

    /// Creates a task whose first entry is in the queue.
    #[track_caller]
    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, join) = self.task(future);
        lock(&self.queue).push_back(runnable);
        join
    }

    pub(crate) fn pop(&self) -> Option<Runnable> {
        lock(&self.queue).pop_front()
    }

    /// Runs an entry as a worker would.
    pub(crate) fn run(&self, runnable: Runnable, ending: Ending) -> RunResult {
        match runnable.run() {
            Polled::Pending(running) => match running.idle() {
                None => RunResult::Idle,
                Some(again) => {
                    lock(&self.queue).push_back(again);
                    RunResult::Again
                }
            },
            Polled::Ended(finishing) => self.end(finishing, ending),
        }
    }

    pub(crate) fn end(&self, finishing: FinishingTask, ending: Ending) -> RunResult {
        let (task, outcome) = (finishing.task(), finishing.outcome());
        match ending {
            Ending::AtOnce => {
                self.disown(task);
                finishing.complete();
            }
            Ending::KeepingRef => {
                let done = finishing.complete_keeping_ref();
                self.disown(done.task());
                drop(done);
            }
        }
        RunResult::Ended(outcome)
    }

    fn disown(&self, task: TaskRef) {
        // SAFETY: the scheduler's reference, which the caller has, keeps the task alive. `task` put
        // it into this list.
        let was_in = unsafe { lock(&self.owned).0.remove(task) };
        assert!(was_in, "a task ends once");
    }

    /// Runs the next entry.
    #[track_caller]
    pub(crate) fn run_one(&self) -> RunResult {
        let runnable = self.pop().expect("there is an entry in the queue");
        self.run(runnable, Ending::AtOnce)
    }

    /// Runs entries until there are none.
    pub(crate) fn run_all(&self) {
        while let Some(runnable) = self.pop() {
            self.run(runnable, Ending::AtOnce);
        }
    }

    /// Claims an idle task, if there is one.
    #[cfg(not(wakeful_loom))]
    pub(crate) fn claim_any(&self) -> Option<crate::RunningTask> {
        let mut owned = lock(&self.owned);
        let (mut claimed, mut passed) = (None, Vec::new());
        while let Some(task) = owned.0.pop_front() {
            passed.push(task);
            // SAFETY: the task was in the list until just now, and tasks are removed under the lock
            // only.
            claimed = unsafe { crate::RunningTask::claim_idle(task) };
            if claimed.is_some() {
                break;
            }
        }
        for task in passed {
            // SAFETY: as before; the task goes back to its list.
            unsafe { owned.0.push_back(task) };
        }
        claimed
    }

    /// Ends every task that is idle or in the queue. The end of one may wake another.
    #[cfg(not(wakeful_loom))]
    pub(crate) fn shut_down(&self) {
        loop {
            if let Some(runnable) = self.pop() {
                self.end(runnable.cancel(), Ending::AtOnce);
            } else if let Some(running) = self.claim_any() {
                self.end(running.cancel(), Ending::KeepingRef);
            } else {
                return;
            }
        }
    }

    /// Returns how often a wake-up or an abort scheduled an entry.
    pub(crate) fn schedule_calls(&self) -> usize {
        self.schedule_calls.load(SeqCst)
    }

    pub(crate) fn queued(&self) -> usize {
        lock(&self.queue).len()
    }

    pub(crate) fn cells_freed(&self) -> usize {
        self.cells_freed.load(SeqCst)
    }

    /// Checks that every cell was freed, once.
    #[track_caller]
    pub(crate) fn assert_all_freed(self: &Arc<Self>) {
        assert_eq!(self.queued(), 0, "an entry is left");
        assert!(lock(&self.owned).0.is_empty(), "a task never ended");
        assert_eq!(self.cells_freed(), self.cells_made.load(SeqCst), "cells freed and made");
        assert_eq!(Arc::strong_count(self), 1, "a cell still has the home");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
