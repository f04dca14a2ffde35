//! The thread that runs a worker, and its access to the worker's core.
//!
//! [`start`] and [`run_worker`] run a vacant worker on a thread of the pool, [`run_with_lease`] one
//! that was taken over. [`WorkerThread::enter`] opens a core section; [`with_worker_thread`] and
//! [`with_core_of`] find the calling thread's worker for calls that tasks make.

use super::MultiThread;
use super::lease::Lease;
use super::worker::{Worker, WorkerCore};
use crate::driver::LookEvents;
use crate::scheduler::context::allow_defer;
use crate::timers::PreciseThread;
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Instant;
use wakeful_base::Parker;
use wakeful_base::catch_panic::abort_on_unwind;
use wakeful_base::enter::{Entered, set_entered};
use wakeful_base::rng::{self, SeededThread};

/// A thread that runs a worker, or has run it until its lease was revoked.
pub(super) struct WorkerThread {
    pub(super) scheduler: Arc<MultiThread>,
    pub(super) index: usize,
    /// The worker, which is part of `scheduler`. Every poll needs it, so it is kept as a pointer.
    worker: NonNull<Worker>,
    pub(super) lease: Arc<Lease>,
    /// The task being polled yields. Kept with the thread, since the lease may be revoked before
    /// the poll returns.
    pub(super) yielding: Cell<bool>,
    /// The thread watches (see `lazy_monitor.rs`), and has not run anything yet.
    pub(super) is_watching: Cell<bool>,
    pub(super) look_events: RefCell<LookEvents>,
    pub(super) precise: PreciseThread,
    pub(super) parker: Parker,
}

wakeful_base::per_thread! {
    static WORKER_THREAD: Cell<*const WorkerThread> = const { Cell::new(ptr::null()) };
}

/// A core section: access to the worker's core. No user code may run while it is open.
pub(super) struct CoreSection<'a> {
    thread: &'a WorkerThread,
}

impl Deref for CoreSection<'_> {
    type Target = WorkerCore;

    fn deref(&self) -> &WorkerCore {
        // SAFETY: `thread` opened this section, so it holds the lease, and `lease.rs` says why no
        // other thread reaches the core while a section is open. The thread has one section open at
        // a time: sections run no user code but the allocator, and `enter_from_user_code` opens no
        // section for the allocator's calls.
        self.thread.worker().core.with(|core| unsafe { &*core })
    }
}

impl DerefMut for CoreSection<'_> {
    fn deref_mut(&mut self) -> &mut WorkerCore {
        // SAFETY: as in `deref`; `&mut self` excludes other references made through this section.
        self.thread.worker().core.with_mut(|core| unsafe { &mut *core })
    }
}

impl Drop for CoreSection<'_> {
    #[inline]
    fn drop(&mut self) {
        self.thread.lease.end_section();
    }
}

/// Starts worker `index` on a thread of the pool.
pub(super) fn start(scheduler: &Arc<MultiThread>, index: usize) -> io::Result<()> {
    let started = scheduler.clone();
    let run = Box::new(move || run_vacant(started, index, WorkerThread::watch));
    scheduler.submit_worker(run, true)
}

/// Runs a vacant worker until its lease is revoked or the runtime stops.
pub(super) fn run_worker(scheduler: Arc<MultiThread>, index: usize) {
    run_vacant(scheduler, index, |_| ());
}

fn run_vacant(scheduler: Arc<MultiThread>, index: usize, before_loop: fn(&WorkerThread)) {
    let lease = scheduler.new_lease();
    scheduler.workers[index].lease_slot.acquire(&lease);
    run_loop_with(scheduler, index, lease, before_loop);
}

/// Runs a worker whose `lease` the calling thread holds already.
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
    scheduler.workers[index].metrics.note_thread();
    let thread = WorkerThread {
        worker: NonNull::from(&scheduler.workers[index]),
        scheduler,
        index,
        lease,
        yielding: Cell::new(false),
        is_watching: Cell::new(false),
        look_events: RefCell::default(),
        precise: PreciseThread::new(),
        parker,
    };
    let _worker_thread =
        SetWorkerThread(WORKER_THREAD.with(|before| before.replace(&raw const thread)));
    let _allow_defer = allow_defer();
    let _seeded = thread.seed_rng();
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
        // SAFETY: the worker is in a box of `scheduler`, which `self` keeps alive and which is
        // never replaced.
        unsafe { self.worker.as_ref() }
    }

    /// Opens a core section; `None` if the lease is revoked or released.
    #[inline]
    pub(super) fn enter(&self) -> Option<CoreSection<'_>> {
        let has_begun = self.lease.begin_section() || self.worker().lease_slot.confirm(&self.lease);
        has_begun.then_some(CoreSection { thread: self })
    }

    /// Opens a core section for a call from user code; `None` if the lease is revoked or released.
    ///
    /// Also `None` if a section is open already. The call then comes from an allocator that uses
    /// the runtime, in the middle of a change to the core, and the caller proceeds as on a thread
    /// that is not a worker. The worker's own sections need no such check: they do not nest.
    #[inline]
    pub(super) fn enter_from_user_code(&self) -> Option<CoreSection<'_>> {
        if self.lease.is_in_section() {
            return None;
        }
        self.enter()
    }

    /// Seeds the thread's random numbers with one of the worker's, if the user has set a seed.
    fn seed_rng(&self) -> Option<SeededThread> {
        self.scheduler.info.seeds.as_ref()?;
        let core = self.enter()?;
        let seed = core.rng.next_u64();
        drop(core);
        Some(rng::seed_thread(seed))
    }

    /// Prepares the core for a new thread, whose first step is maintenance: the stop flag, the
    /// driver and the timers may have waited for it.
    fn reset_core(&self) {
        if let Some(mut core) = self.enter() {
            core.until_maintenance = 0;
            core.next_look = Instant::now();
            core.just_woke = None;
            self.begin_busy(&mut core, Instant::now());
        }
    }
}

/// Calls `f` with this thread's [`WorkerThread`], if it has one, with or without a lease.
#[inline]
pub(super) fn with_worker_thread<R>(f: impl FnOnce(Option<&WorkerThread>) -> R) -> R {
    let thread = WORKER_THREAD.with(Cell::get);
    // SAFETY: the pointer is set by `run_loop_with`, further up this thread's stack, which resets
    // it before the record is dropped. The borrow ends with `f`, so it cannot outlive that.
    f(unsafe { thread.as_ref() })
}

/// Opens a core section if this thread runs a worker of `scheduler` and has no section open.
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
