//! Threads whose tasks cannot go elsewhere: the one in `block_on` of a current-thread runtime, and those
//! that run a `LocalSet`. Their stalls can only be told of.
//!
//! Such a thread writes down what it is about to run, and the monitor reads that. It does so only where
//! somebody wants to know, so a lock is cheap enough.

use super::{OsThreadId, Stall, StallOutcome, StallState, Stalled};
use std::cell::Cell;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;
use wakeful_base::sync::Mutex;
use wakeful_task::Id;

/// One thread, for as long as it is in `block_on`.
struct PinnedThread {
    state: Mutex<ThreadState>,
    /// Which worker it is, if it is one.
    worker: Option<usize>,
    os_thread: Option<OsThreadId>,
}

#[derive(Clone, Copy)]
struct ThreadState {
    running: RunningCode,
    /// How often that changed: the same task in another poll is another matter.
    changes: u64,
}

/// What a thread is running.
#[derive(Clone, Copy)]
enum RunningCode {
    /// Nothing of the user's.
    Nothing,
    /// The future of `block_on`.
    Future,
    Task(Id, &'static Location<'static>),
}

impl PinnedThread {
    fn state(&self) -> ThreadState {
        *self.state.lock()
    }
}

/// The threads of a runtime that are in `block_on`.
#[derive(Default)]
pub(super) struct PinnedThreads(Mutex<Vec<Arc<PinnedThread>>>);

impl PinnedThreads {
    pub(super) fn are_all_idle(&self) -> bool {
        self.0.lock().iter().all(|thread| matches!(thread.state().running, RunningCode::Nothing))
    }
}

/// The calling thread's own record, and who reads it.
struct PinnedRecord<'a> {
    thread: Arc<PinnedThread>,
    stall_state: &'a StallState,
}

impl PinnedRecord<'_> {
    fn switch_to(&self, next: RunningCode) -> RunningCode {
        let mut state = self.thread.state.lock();
        state.changes += 1;
        let before = std::mem::replace(&mut state.running, next);
        drop(state);
        // The lock orders this with the monitor's look whether all sleep.
        if matches!(before, RunningCode::Nothing) {
            // Workers may be awake besides.
            self.stall_state.monitor.note_unpark(Instant::now(), || false);
        }
        before
    }
}

impl Drop for PinnedRecord<'_> {
    fn drop(&mut self) {
        self.stall_state.pinned.0.lock().retain(|other| !Arc::ptr_eq(other, &self.thread));
    }
}

wakeful_base::per_thread! {
    static PINNED: Cell<*const PinnedRecord<'static>> = const { Cell::new(ptr::null()) };
}

struct SetPinned(*const PinnedRecord<'static>);

impl Drop for SetPinned {
    fn drop(&mut self) {
        PINNED.with(|pinned| pinned.set(self.0));
    }
}

impl StallState {
    /// Runs `f` with this thread under watch as one whose tasks are bound to it, if anybody wants to know. A runtime around this one
    /// never does: it has allowed its thread to block.
    pub(crate) fn while_pinned<R>(&self, worker: Option<usize>, f: impl FnOnce() -> R) -> R {
        if !self.config.reports() {
            let _set = SetPinned(PINNED.with(|before| before.replace(ptr::null())));
            return f();
        }
        let state = ThreadState { running: RunningCode::Nothing, changes: 0 };
        let state = Mutex::new(state);
        let thread = Arc::new(PinnedThread { state, worker, os_thread: OsThreadId::current() });
        self.pinned.0.lock().push(thread.clone());
        let pinned = PinnedRecord { thread, stall_state: self };
        let _set = SetPinned(PINNED.with(|before| before.replace((&raw const pinned).cast())));
        f()
    }
}

/// Runs a poll of `block_on`'s own future.
pub(crate) fn run_future<R>(f: impl FnOnce() -> R) -> R {
    run(RunningCode::Future, f)
}

/// Runs a poll of a task.
pub(crate) fn run_task<R>(
    task: Id,
    spawned_at: &'static Location<'static>,
    f: impl FnOnce() -> R,
) -> R {
    run(RunningCode::Task(task, spawned_at), f)
}

fn run<R>(what: RunningCode, f: impl FnOnce() -> R) -> R {
    /// What the thread ran before, to be put back.
    struct RestoreRunning<'a>(&'a PinnedRecord<'static>, RunningCode);

    impl Drop for RestoreRunning<'_> {
        fn drop(&mut self) {
            self.0.switch_to(self.1);
        }
    }

    let pinned = PINNED.with(Cell::get);
    // SAFETY: a pointer is only there while `while_pinned` on this thread's stack vouches for it.
    let _restore =
        unsafe { pinned.as_ref() }.map(|pinned| RestoreRunning(pinned, pinned.switch_to(what)));
    f()
}

/// The monitor's side.
#[derive(Default)]
pub(crate) struct PinnedMonitor {
    seen: Vec<SeenThread>,
}

/// What a thread was running at the last look.
struct SeenThread {
    thread: Arc<PinnedThread>,
    changes: u64,
    since: Instant,
    is_reported: bool,
}

impl PinnedMonitor {
    /// Looks at all of them, and tells of those that stand still. True if any of them runs something.
    pub(crate) fn look(&mut self, stall_state: &StallState, now: Instant) -> bool {
        let threads = stall_state.pinned.0.lock().clone();
        let before = std::mem::take(&mut self.seen);
        for thread in threads {
            let ThreadState { running, changes } = thread.state();
            if matches!(running, RunningCode::Nothing) {
                continue;
            }
            let is_same =
                |seen: &&SeenThread| Arc::ptr_eq(&seen.thread, &thread) && seen.changes == changes;
            let same = before.iter().find(is_same);
            let (since, is_reported) =
                same.map_or((now, false), |seen| (seen.since, seen.is_reported));
            let duration = now - since;
            let is_stall = duration >= stall_state.config.after;
            if is_stall {
                stall_state.metrics.note_duration(duration);
            }
            self.seen.push(SeenThread {
                thread: thread.clone(),
                changes,
                since,
                is_reported: is_stall,
            });
            if is_stall && !is_reported {
                stall_state.metrics.note_stall();
                let what = match running {
                    RunningCode::Task(task, spawned_at) => Stalled::Task(task, spawned_at),
                    RunningCode::Future | RunningCode::Nothing => Stalled::Future,
                };
                stall_state.report(Stall {
                    what,
                    worker: thread.worker,
                    duration,
                    outcome: StallOutcome::Waits,
                    thread: thread.os_thread.as_ref().map(OsThreadId::describe),
                });
            }
        }
        !self.seen.is_empty()
    }
}
