//! Who sits on a seat, and how he gets at what lies there.

use super::MultiThread;
use super::lease::Lease;
use super::worker::{Worker, WorkerCore};
use crate::scheduler::context::allow_defer;
use crate::timers::PreciseThread;
use std::cell::Cell;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Instant;
use wakeful_base::Parker;
use wakeful_base::catch_panic::abort_on_unwind;
use wakeful_base::enter::{Entered, set_entered};

/// A thread on a seat, or one that was.
pub(super) struct WorkerThread {
    pub(super) scheduler: Arc<MultiThread>,
    pub(super) index: usize,
    /// The seat, which `scheduler` keeps: every poll needs it, and the way there is long.
    worker: NonNull<Worker>,
    pub(super) lease: Arc<Lease>,
    /// It wants to give way. Of the thread, not of the seat, which may be lost before the poll returns.
    pub(super) yielding: Cell<bool>,
    /// While it gathers: how many tasks were woken.
    pub(super) batch_woken: Cell<Option<usize>>,
    /// It is on watch, and has not run anything yet.
    pub(super) is_watching: Cell<bool>,
    pub(super) precise: PreciseThread,
    pub(super) parker: Parker,
}

wakeful_base::per_thread! {
    static WORKER_THREAD: Cell<*const WorkerThread> = const { Cell::new(ptr::null()) };
}

/// A core section: access to what lies on the seat. No user code may run while one is open.
pub(super) struct CoreSection<'a> {
    thread: &'a WorkerThread,
}

impl Deref for CoreSection<'_> {
    type Target = WorkerCore;

    fn deref(&self) -> &WorkerCore {
        // SAFETY: only the sitter of a seat opens sections, one at a time, and `lease.rs` says why nobody
        // else gets at the core meanwhile.
        self.thread.worker().core.with(|core| unsafe { &*core })
    }
}

impl DerefMut for CoreSection<'_> {
    fn deref_mut(&mut self) -> &mut WorkerCore {
        // SAFETY: as above.
        self.thread.worker().core.with_mut(|core| unsafe { &mut *core })
    }
}

impl Drop for CoreSection<'_> {
    #[inline]
    fn drop(&mut self) {
        self.thread.lease.end_section();
    }
}

/// Has a thread of the pool sit on seat `index`.
pub(super) fn start(scheduler: &Arc<MultiThread>, index: usize) -> io::Result<()> {
    let started = scheduler.clone();
    scheduler.submit_worker(Box::new(move || run_vacant(started, index, WorkerThread::watch)))
}

/// Sits on a seat on which nobody sits, until it is lost or the runtime stops.
pub(super) fn run_worker(scheduler: Arc<MultiThread>, index: usize) {
    run_vacant(scheduler, index, |_| ());
}

fn run_vacant(scheduler: Arc<MultiThread>, index: usize, before_loop: fn(&WorkerThread)) {
    let lease = scheduler.new_lease();
    scheduler.workers[index].lease_slot.acquire(&lease);
    run_loop_with(scheduler, index, lease, before_loop);
}

/// As [`run_worker`], by a thread whose `lease` has begun.
pub(super) fn run_with_lease(scheduler: Arc<MultiThread>, index: usize, lease: Arc<Lease>) {
    run_loop_with(scheduler, index, lease, |_| ());
}

fn run_loop_with(
    scheduler: Arc<MultiThread>,
    index: usize,
    lease: Arc<Lease>,
    before_loop: fn(&WorkerThread),
) {
    let _entered = set_entered(Entered::MayBlockInPlace);
    let parker = Parker::new();
    scheduler.workers[index].park_state.set_unparker(parker.unparker());
    scheduler.workers[index].metrics.record_thread();
    let thread = WorkerThread {
        worker: NonNull::from(&scheduler.workers[index]),
        scheduler,
        index,
        lease,
        yielding: Cell::new(false),
        batch_woken: Cell::new(None),
        is_watching: Cell::new(false),
        precise: PreciseThread::new(),
        parker,
    };
    let _worker_thread =
        SetWorkerThread(WORKER_THREAD.with(|before| before.replace(&raw const thread)));
    let _allow_defer = allow_defer();
    abort_on_unwind("a worker's loop", || {
        thread.reset_core();
        before_loop(&thread);
        thread.run();
    });
    if let Some(since) = thread.lease.stuck_since() {
        let stalls = &thread.scheduler.stalls;
        stalls.metrics.note_end(since.elapsed(), stalls.config.after);
    }
}

struct SetWorkerThread(*const WorkerThread);

impl Drop for SetWorkerThread {
    fn drop(&mut self) {
        WORKER_THREAD.with(|thread| thread.set(self.0));
    }
}

impl WorkerThread {
    #[inline]
    pub(super) fn worker(&self) -> &Worker {
        // SAFETY: it lies in a box of `scheduler`'s, which we keep and which never changes.
        unsafe { self.worker.as_ref() }
    }

    /// Opens a core section; none if the seat is lost.
    #[inline]
    pub(super) fn enter(&self) -> Option<CoreSection<'_>> {
        let has_begun = self.lease.begin_section() || self.worker().lease_slot.confirm(&self.lease);
        has_begun.then_some(CoreSection { thread: self })
    }

    /// Opens a core section for a call that user code made; none if the seat is lost.
    ///
    /// None also if a section is open already: then the call comes from an allocator that uses the
    /// runtime, in the middle of a change to the core. The caller goes the way of other threads. The
    /// worker's own sections need no such check: the worker opens none while it has one open.
    #[inline]
    pub(super) fn enter_from_user_code(&self) -> Option<CoreSection<'_>> {
        if self.lease.is_in_section() {
            return None;
        }
        self.enter()
    }

    /// What lies here may have waited for us: the driver, timers and the end of the runtime come first.
    fn reset_core(&self) {
        if let Some(mut core) = self.enter() {
            core.until_maintenance = 0;
            core.skip_look = false;
            core.just_woke = None;
            core.gathered.end();
            core.haul = None;
            self.measure_anew(&mut core, Instant::now());
        }
    }
}

/// Calls `f` with this thread's stay on a seat, if it has one.
#[inline]
pub(super) fn with_worker_thread<R>(f: impl FnOnce(Option<&WorkerThread>) -> R) -> R {
    let thread = WORKER_THREAD.with(Cell::get);
    // SAFETY: a pointer is only there while `run_worker` on this thread's stack vouches for it.
    f(unsafe { thread.as_ref() })
}

/// Opens a core section if this thread sits on a seat of `scheduler` and has none open.
#[inline]
pub(super) fn with_core_of<R>(
    scheduler: *const MultiThread,
    f: impl FnOnce(Option<(&WorkerThread, CoreSection<'_>)>) -> R,
) -> R {
    with_worker_thread(|thread| match thread {
        Some(thread) if ptr::eq(Arc::as_ptr(&thread.scheduler), scheduler) => {
            f(thread.enter_from_user_code().map(|core| (thread, core)))
        }
        _ => f(None),
    })
}
