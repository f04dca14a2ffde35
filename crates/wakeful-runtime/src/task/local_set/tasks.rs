//! The tasks of a `LocalSet`: what all threads may touch of them, and what only the owner may.

use super::waker_slot::WakerSlot;
use crate::config::UnhandledPanic;
use crate::scheduler::inject::{Closed, InjectQueue};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wakeful_base::call_now;
use wakeful_base::list::List;
use wakeful_task::{OwnedLink, Runnable, Schedule, TaskRef};

/// Kept by the set, by those who are in it, and by the cell of each task.
pub(super) struct LocalTasks {
    owner: ThreadToken,
    /// Entries of tasks woken by other threads. Never closed: see `shutdown.rs`.
    pub(super) remote: InjectQueue,
    /// Who polls the set.
    pub(super) poller: WakerSlot,
    /// TaskList of tasks that never waited.
    pub(super) fresh: TaskList,
    /// TaskList of tasks in the core's list.
    pub(super) listed: TaskList,
    core: RefCell<Core>,
}

// SAFETY: the core is touched by the owning thread alone (`Owner`, or after a look at `owner`), and has
// nothing in it by the time that another thread may drop it; the homes point back to this very struct;
// all else is shareable.
unsafe impl Send for LocalTasks {}
// SAFETY: as above.
unsafe impl Sync for LocalTasks {}

/// What only the owning thread touches, and never while user code runs.
pub(super) struct Core {
    pub(super) queue: VecDeque<Runnable>,
    /// Tasks that wait, or run and have waited before.
    pub(super) owned: List<OwnedLink>,
    /// Tasks whose poll is under way: several if one of them polls the set.
    pub(super) polling: Vec<TaskRef>,
    /// Counts turns, to look at the remote queue now and then.
    pub(super) tick: u8,
    /// Somebody polls the set, and will see what is queued before he returns.
    pub(super) is_being_polled: bool,
    /// New tasks are cancelled at once.
    pub(super) is_closed: bool,
    pub(super) on_panic: UnhandledPanic,
    /// A task panicked, and the set was told to end by that.
    pub(super) has_panicked: bool,
}

/// Where a task's entries go.
pub(super) struct TaskList {
    tasks: *const LocalTasks,
    pub(super) is_listed: bool,
}

impl LocalTasks {
    /// No tasks, owned by the calling thread.
    pub(super) fn new() -> Arc<LocalTasks> {
        Arc::new_cyclic(|weak| LocalTasks {
            owner: ThreadToken::current(),
            remote: InjectQueue::new(),
            poller: WakerSlot::new(),
            fresh: TaskList { tasks: weak.as_ptr(), is_listed: false },
            listed: TaskList { tasks: weak.as_ptr(), is_listed: true },
            core: RefCell::new(Core {
                queue: VecDeque::with_capacity(64),
                owned: List::new(),
                polling: Vec::new(),
                tick: 0,
                is_being_polled: false,
                is_closed: false,
                on_panic: UnhandledPanic::Ignore,
                has_panicked: false,
            }),
        })
    }

    /// Runs `f` with the core. No user code may run in it.
    ///
    /// # Safety
    /// The calling thread must be the owner.
    pub(super) unsafe fn with_core<R>(&self, f: impl FnOnce(&mut Core) -> R) -> R {
        f(&mut self.core.borrow_mut())
    }

    /// Borrows the core for a call that user code made.
    ///
    /// `None` if the core is borrowed already: then the call comes from an allocator that uses the
    /// set, in the middle of a change to the core. The caller goes the way of other threads.
    ///
    /// # Safety
    /// The calling thread must be the owner.
    pub(super) unsafe fn try_core(&self) -> Option<RefMut<'_, Core>> {
        self.core.try_borrow_mut().ok()
    }

    /// Queues an entry as a thread that is not the owner does. The caller then wakes the poller.
    ///
    /// The owner may run the task to its end as soon as it is in the queue, and the set may be gone
    /// after this.
    pub(super) fn push_remote(&self, runnable: Runnable) {
        if let Err(Closed(runnable)) = self.remote.push(runnable) {
            unreachable!("the remote queue of a `LocalSet` is never closed: {:?}", &*runnable);
        }
    }
}

// SAFETY: a home is a part of `LocalTasks`, of which every cell has a counted reference; `release_cell`
// gives it back.
unsafe impl Schedule for TaskList {
    // That of who polls the set.
    const CALLS_WAKERS: bool = true;

    unsafe fn schedule(home: NonNull<TaskList>, runnable: Runnable) {
        // SAFETY: the entry we hold keeps the task, and the task its home.
        let tasks = unsafe { &*home.as_ref().tasks };
        let is_owner = tasks.owner == ThreadToken::current();
        // SAFETY: just looked.
        let core = if is_owner { unsafe { tasks.try_core() } } else { None };
        let waker = if let Some(mut core) = core {
            // The entry stays in the queue, and keeps `tasks`, until this thread takes it out.
            core.queue.push_back(runnable);
            if core.is_being_polled { None } else { tasks.poller.take() }
        } else {
            let _keeps_tasks = runnable.retain();
            tasks.push_remote(runnable);
            tasks.poller.take()
        };
        // Last, without touching `tasks`: it may be gone already, or go in here. A waker that panics
        // must not reach the caller, which may be a worker that ends a task.
        if let Some(waker) = waker {
            call_now(waker);
        }
    }

    unsafe fn release_cell(home: NonNull<TaskList>) {
        // SAFETY: valid up to here by the reference that is given back, which `Owner::spawn` took.
        unsafe { Arc::decrement_strong_count(home.as_ref().tasks) };
    }
}

/// Names a thread, for good: unlike an address, it is never used again. Unlike a `ThreadId`, it can be
/// had without a counted reference to the thread, and while the thread's locals are being destroyed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ThreadToken(u64);

impl ThreadToken {
    #[inline]
    fn current() -> ThreadToken {
        thread_local! {
            static TOKEN: Cell<u64> = const { Cell::new(0) };
        }

        #[cold]
        fn make() -> u64 {
            static NEXT: AtomicU64 = AtomicU64::new(1);
            let token = NEXT.fetch_add(1, Relaxed);
            TOKEN.set(token);
            token
        }

        match TOKEN.get() {
            0 => ThreadToken(make()),
            token => ThreadToken(token),
        }
    }
}
