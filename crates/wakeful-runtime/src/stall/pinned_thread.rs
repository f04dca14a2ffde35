//! Pinned threads: their tasks cannot move to another thread, so their stalls can only be reported.
//!
//! These are the thread in `block_on` of a current-thread runtime, and threads that run a
//! `LocalSet`. A pinned thread records what it is about to run ([`run_task`], [`run_future`]), and
//! the monitor reads the record ([`PinnedMonitor`]). Threads keep a record only if stalls are
//! reported, so a lock is cheap enough.

use super::{OsThread, PollWatch, Stall, StallOutcome, StallState, Stalled};
use std::cell::Cell;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;
use wakeful_base::sync::Mutex;
use wakeful_task::Id;

/// The record of one thread, while it is in `block_on`.
struct PinnedThread {
    state: Mutex<ThreadState>,
    /// The thread's worker, if it has one.
    worker: Option<usize>,
    os_thread: Option<OsThread>,
}

#[derive(Clone, Copy)]
struct ThreadState {
    running: RunningCode,
    /// How often `running` has changed: tells two polls of the same task apart.
    changes: u64,
}

/// What a thread is running.
#[derive(Clone, Copy)]
enum RunningCode {
    /// No user code.
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

/// The calling thread's own record, and the state whose monitor reads it.
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
        // The lock orders this before or after the monitor's check whether all threads are idle.
        if matches!(before, RunningCode::Nothing) {
            // Not alone: other workers may be awake too.
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
    /// Runs `f` while the monitor watches this thread as a pinned one, if stalls are reported.
    ///
    /// Code in `f` is never recorded for an outer runtime on the same thread: that runtime has
    /// allowed its thread to block.
    pub(crate) fn while_pinned<R>(&self, worker: Option<usize>, f: impl FnOnce() -> R) -> R {
        if !self.config.reports() {
            let _set = SetPinned(PINNED.with(|before| before.replace(ptr::null())));
            return f();
        }
        let state = ThreadState { running: RunningCode::Nothing, changes: 0 };
        let state = Mutex::new(state);
        let thread = Arc::new(PinnedThread { state, worker, os_thread: OsThread::current() });
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
    /// Restores what the thread was running before.
    struct RestoreRunning<'a>(&'a PinnedRecord<'static>, RunningCode);

    impl Drop for RestoreRunning<'_> {
        fn drop(&mut self) {
            self.0.switch_to(self.1);
        }
    }

    let pinned = PINNED.with(Cell::get);
    // SAFETY: `PINNED` is only set by `while_pinned` on this thread, to a record in its stack
    // frame, and is restored before that record is dropped (`SetPinned` is declared after it). The
    // reference is used only until `run` returns, and `run` is called from within that frame.
    let _restore =
        unsafe { pinned.as_ref() }.map(|pinned| RestoreRunning(pinned, pinned.switch_to(what)));
    f()
}

/// The monitor's side: what it saw at its last look.
#[derive(Default)]
pub(crate) struct PinnedMonitor {
    seen: Vec<SeenThread>,
}

/// What a thread was running at the last look.
struct SeenThread {
    thread: Arc<PinnedThread>,
    changes: u64,
    since: Instant,
    watch: PollWatch,
    is_reported: bool,
}

impl PinnedMonitor {
    /// Looks at all pinned threads, and reports those that are stalled unless the look `is_late`.
    /// Returns whether any of them runs user code.
    pub(crate) fn look(&mut self, stall_state: &StallState, now: Instant, is_late: bool) -> bool {
        let stall_after = stall_state.config.after;
        let threads = stall_state.pinned.0.lock().clone();
        let mut before = std::mem::take(&mut self.seen);
        for thread in threads {
            let ThreadState { running, changes } = thread.state();
            if matches!(running, RunningCode::Nothing) {
                continue;
            }
            let os_thread = thread.os_thread.as_ref();
            let is_same =
                |seen: &SeenThread| Arc::ptr_eq(&seen.thread, &thread) && seen.changes == changes;
            let mut seen = match before.iter().position(is_same) {
                Some(at) => before.swap_remove(at),
                None => SeenThread {
                    thread: thread.clone(),
                    changes,
                    since: now,
                    watch: PollWatch::begin(os_thread, now),
                    is_reported: false,
                },
            };
            let duration = now - seen.since;
            if is_late {
                seen.watch.restart(os_thread, now);
            } else if duration >= stall_after {
                seen.watch.check(os_thread, now, stall_after);
            }
            if seen.watch.is_stalled() {
                stall_state.metrics.note_duration(duration);
                if !std::mem::replace(&mut seen.is_reported, true) {
                    stall_state.metrics.note_stall();
                    stall_state.report(Stall {
                        what: match running {
                            RunningCode::Task(task, spawned_at) => Stalled::Task(task, spawned_at),
                            RunningCode::Future | RunningCode::Nothing => Stalled::Future,
                        },
                        worker: thread.worker,
                        duration,
                        outcome: StallOutcome::Waits,
                        thread: os_thread.map(OsThread::describe),
                    });
                }
            }
            self.seen.push(seen);
        }
        !self.seen.is_empty()
    }
}
