//! Threads whose tasks cannot go elsewhere: the one in `block_on` of a current-thread runtime, and those
//! that run a `LocalSet`. Their stalls can only be told of.
//!
//! Such a thread writes down what it is about to run, and the monitor reads that. It does so only where
//! somebody wants to know, so a lock is cheap enough.

use super::{Stall, StallOutcome, StallWatch, Stalled, ThreadName};
use std::cell::Cell;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;
use wakeful_base::sync::Mutex;
use wakeful_task::Id;

/// One thread, for as long as it is in `block_on`.
struct BoundThread {
    state: Mutex<ThreadState>,
    /// Which worker it is, if it is one.
    worker: Option<usize>,
    name: Option<ThreadName>,
}

#[derive(Clone, Copy)]
struct ThreadState {
    running: Running,
    /// How often that changed: the same task in another poll is another matter.
    changes: u64,
}

/// What a thread is running.
#[derive(Clone, Copy)]
enum Running {
    /// Nothing of the user's.
    Nothing,
    /// The future of `block_on`.
    Future,
    Task(Id, &'static Location<'static>),
}

impl BoundThread {
    fn state(&self) -> ThreadState {
        *self.state.lock()
    }
}

/// The threads of a runtime that are in `block_on`.
#[derive(Default)]
pub(super) struct BoundThreads(Mutex<Vec<Arc<BoundThread>>>);

impl BoundThreads {
    pub(super) fn are_all_asleep(&self) -> bool {
        self.0.lock().iter().all(|thread| matches!(thread.state().running, Running::Nothing))
    }
}

/// The calling thread's own record, and who reads it.
struct Bound<'a> {
    thread: Arc<BoundThread>,
    watch: &'a StallWatch,
}

impl Bound<'_> {
    fn run(&self, next: Running) -> Running {
        let mut state = self.thread.state.lock();
        state.changes += 1;
        let before = std::mem::replace(&mut state.running, next);
        drop(state);
        // The lock orders this with the monitor's look whether all sleep.
        if matches!(before, Running::Nothing) {
            // Workers may be awake besides.
            self.watch.monitor.note_awake(Instant::now(), || false);
        }
        before
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        self.watch.bound.0.lock().retain(|other| !Arc::ptr_eq(other, &self.thread));
    }
}

wakeful_base::per_thread! {
    static BOUND: Cell<*const Bound<'static>> = const { Cell::new(ptr::null()) };
}

struct SetBound(*const Bound<'static>);

impl Drop for SetBound {
    fn drop(&mut self) {
        BOUND.with(|bound| bound.set(self.0));
    }
}

impl StallWatch {
    /// Runs `f` with this thread under watch as one whose tasks are bound to it, if anybody wants to know. A runtime around this one
    /// never does: it has allowed its thread to block.
    pub(crate) fn while_bound<R>(&self, worker: Option<usize>, f: impl FnOnce() -> R) -> R {
        if !self.config.reports() {
            let _set = SetBound(BOUND.with(|before| before.replace(ptr::null())));
            return f();
        }
        let state = ThreadState { running: Running::Nothing, changes: 0 };
        let state = Mutex::new(state);
        let thread = Arc::new(BoundThread { state, worker, name: ThreadName::current() });
        self.bound.0.lock().push(thread.clone());
        let bound = Bound { thread, watch: self };
        let _set = SetBound(BOUND.with(|before| before.replace((&raw const bound).cast())));
        f()
    }
}

/// Runs a poll of `block_on`'s own future.
pub(crate) fn run_future<R>(f: impl FnOnce() -> R) -> R {
    run(Running::Future, f)
}

/// Runs a poll of a task.
pub(crate) fn run_task<R>(
    task: Id,
    spawned_at: &'static Location<'static>,
    f: impl FnOnce() -> R,
) -> R {
    run(Running::Task(task, spawned_at), f)
}

fn run<R>(what: Running, f: impl FnOnce() -> R) -> R {
    /// What the thread ran before, to be put back.
    struct PutBack<'a>(&'a Bound<'static>, Running);

    impl Drop for PutBack<'_> {
        fn drop(&mut self) {
            self.0.run(self.1);
        }
    }

    let bound = BOUND.with(Cell::get);
    // SAFETY: a pointer is only there while `while_bound` on this thread's stack vouches for it.
    let _put_back = unsafe { bound.as_ref() }.map(|bound| PutBack(bound, bound.run(what)));
    f()
}

/// The monitor's side.
#[derive(Default)]
pub(crate) struct BoundMonitor {
    seen: Vec<Seen>,
}

/// What a thread was running at the last look.
struct Seen {
    thread: Arc<BoundThread>,
    changes: u64,
    since: Instant,
    is_told: bool,
}

impl BoundMonitor {
    /// Looks at all of them, and tells of those that stand still. True if any of them runs something.
    pub(crate) fn look(&mut self, watch: &StallWatch, now: Instant) -> bool {
        let threads = watch.bound.0.lock().clone();
        let before = std::mem::take(&mut self.seen);
        for thread in threads {
            let ThreadState { running, changes } = thread.state();
            if matches!(running, Running::Nothing) {
                continue;
            }
            let is_same =
                |seen: &&Seen| Arc::ptr_eq(&seen.thread, &thread) && seen.changes == changes;
            let same = before.iter().find(is_same);
            let (since, is_told) = same.map_or((now, false), |seen| (seen.since, seen.is_told));
            let duration = now - since;
            let is_stall = duration >= watch.config.after;
            if is_stall {
                watch.metrics.note_duration(duration);
            }
            self.seen.push(Seen { thread: thread.clone(), changes, since, is_told: is_stall });
            if is_stall && !is_told {
                watch.metrics.note_stall();
                let what = match running {
                    Running::Task(task, spawned_at) => Stalled::Task(task, spawned_at),
                    Running::Future | Running::Nothing => Stalled::Future,
                };
                watch.tell(Stall {
                    what,
                    worker: thread.worker,
                    duration,
                    outcome: StallOutcome::Waits,
                    thread: thread.name.as_ref().map(ThreadName::describe),
                });
            }
        }
        !self.seen.is_empty()
    }
}
