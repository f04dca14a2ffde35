//! The state of a `LocalSet`: the part that all threads share, and the owning thread's part.

use super::waker_slot::WakerSlot;
use crate::config::UnhandledPanic;
use crate::scheduler::inject::{Closed, InjectionQueue};
use crate::task_walk::{ListWalk, RecordedTask, WalkedSet, add_set};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use wakeful_base::call_now;
use wakeful_base::list::List;
use wakeful_base::sync::Mutex;
use wakeful_base::thread_number;
use wakeful_base::waiting::holdings;
use wakeful_task::{Header, OwnedLink, Runnable, Schedule, TaskRef};

/// The state of a set's tasks.
///
/// References to it are held by the set, by guards of its context, and by the cell of each task.
pub(super) struct LocalTasks {
    owner: ThreadToken,
    /// Entries of tasks woken by other threads. It is never closed, see `shutdown.rs`.
    pub(super) remote: InjectionQueue,
    /// The waker of the task that polls the set.
    pub(super) poller: WakerSlot,
    /// The `TaskList` of tasks that have never waited and are in no list.
    pub(super) unlisted: TaskList,
    /// The `TaskList` of tasks in `Core::owned`.
    pub(super) listed: TaskList,
    /// A census' walk over the list in the core.
    walk: ListWalk,
    /// The same as the core's flag, for a census.
    pub(super) is_being_polled: AtomicBool,
    /// The tasks that have not ended, if the process is watched.
    recorded: Mutex<Vec<RecordedTask>>,
    /// The id of the set.
    id: u64,
    /// The kernel's id of the owning thread.
    os_thread: Option<u32>,
    core: RefCell<Core>,
}

// SAFETY: only the owning thread accesses the core: through `Owner`, or after comparing `owner`.
// Another thread may drop it, with the last waker; by then `drop_all` has emptied it. `unlisted`
// and `listed` hold pointers to this struct, which are dereferenced only while it is alive. The
// other fields are `Sync`.
unsafe impl Send for LocalTasks {}
// SAFETY: as above.
unsafe impl Sync for LocalTasks {}

/// The state that only the owning thread accesses, and never while user code runs.
pub(super) struct Core {
    pub(super) queue: VecDeque<Runnable>,
    /// Tasks that have waited at least once and have not ended.
    pub(super) owned: List<OwnedLink>,
    /// Tasks that are being polled: several if one of them polls the set.
    pub(super) polling: Vec<TaskRef>,
    /// Counts tasks, to poll the remote queue at regular intervals.
    pub(super) tick: u8,
    /// The set is being polled; that poll sees what is queued before it returns.
    pub(super) is_being_polled: bool,
    /// New tasks are cancelled immediately.
    pub(super) is_closed: bool,
    pub(super) on_panic: UnhandledPanic,
    /// A task has panicked, and the set is configured to shut down then.
    pub(super) has_panicked: bool,
}

/// Where wake-ups of a task go, and whether the task is in the list.
pub(super) struct TaskList {
    tasks: *const LocalTasks,
    pub(super) is_listed: bool,
}

impl LocalTasks {
    /// Creates the state of an empty set that the calling thread owns.
    pub(super) fn new(id: u64) -> Arc<LocalTasks> {
        let tasks = Arc::new_cyclic(|weak| LocalTasks {
            owner: ThreadToken::current(),
            remote: InjectionQueue::new(),
            poller: WakerSlot::new(),
            unlisted: TaskList { tasks: weak.as_ptr(), is_listed: false },
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
            walk: ListWalk::new(),
            is_being_polled: AtomicBool::new(false),
            recorded: Mutex::default(),
            id,
            os_thread: thread_number::of_this_thread(),
        });
        let set: Arc<dyn WalkedSet> = tasks.clone();
        add_set(Arc::downgrade(&set));
        tasks
    }

    /// Records a new task, if the process is watched.
    pub(super) fn record(&self, task: &Header) {
        if holdings::is_watched() {
            self.recorded.lock().push(RecordedTask {
                id: task.id().as_u64(),
                spawned_at: task.spawned_at(),
                type_name: task.type_name(),
            });
        }
    }

    /// Takes back what [`record`](Self::record) did, when the task ends.
    pub(super) fn remove_record(&self, id: u64) {
        if holdings::is_watched() {
            self.recorded.lock().retain(|recorded| recorded.id != id);
        }
    }

    /// Makes a step of the walk if a census has requested one. The caller is about to run tasks.
    ///
    /// # Safety
    /// The calling thread must be the owner.
    #[inline]
    pub(super) unsafe fn walk_if_requested(&self) {
        if self.walk.is_requested() {
            self.walk.step(&mut |visit| {
                // SAFETY: by contract.
                unsafe { self.with_core(|core| visit(&mut core.owned)) }
            });
        }
    }

    /// Runs `f` with the core. `f` must not run user code.
    ///
    /// # Safety
    /// The calling thread must be the owner.
    pub(super) unsafe fn with_core<R>(&self, f: impl FnOnce(&mut Core) -> R) -> R {
        f(&mut self.core.borrow_mut())
    }

    /// Borrows the core, for calls by user code.
    ///
    /// Returns `None` if the core is borrowed already. Then a global allocator that uses the set
    /// made the call, in the middle of a change to the core. The caller proceeds as on any other
    /// thread.
    ///
    /// # Safety
    /// The calling thread must be the owner.
    pub(super) unsafe fn try_core(&self) -> Option<RefMut<'_, Core>> {
        self.core.try_borrow_mut().ok()
    }

    /// Pushes an entry to the remote queue. The caller must then wake the poller.
    ///
    /// As soon as the entry is in the queue, the owner may run and complete the task, so `self`
    /// stays valid only if the caller holds a reference that keeps it.
    pub(super) fn push_remote(&self, runnable: Runnable) {
        if let Err(Closed(runnable)) = self.remote.push(runnable) {
            unreachable!("the remote queue of a `LocalSet` is never closed: {:?}", &*runnable);
        }
    }
}

impl WalkedSet for LocalTasks {
    fn id(&self) -> u64 {
        self.id
    }

    fn walk(&self) -> &ListWalk {
        &self.walk
    }

    fn recorded(&self) -> Vec<RecordedTask> {
        self.recorded.lock().clone()
    }

    fn wake_poller(&self) {
        if let Some(waker) = self.poller.take() {
            call_now(waker);
        }
    }

    fn thread(&self) -> Option<u32> {
        self.os_thread
    }

    fn is_being_polled(&self) -> bool {
        self.is_being_polled.load(Relaxed)
    }

    fn has_queued(&self) -> bool {
        !self.remote.is_empty()
    }
}

// SAFETY: a `TaskList` must stay valid until `release_cell`. It is a field of `LocalTasks`, of
// which every cell owns a counted reference, which `release_cell` gives back.
unsafe impl Schedule for TaskList {
    // The waker of the task that polls the set.
    const CALLS_WAKERS: bool = true;

    unsafe fn schedule(home: NonNull<TaskList>, runnable: Runnable) {
        // SAFETY: the entry keeps the task alive, and the task's cell keeps `LocalTasks`. Below,
        // `tasks` is used only while the entry is held or in this thread's own queue, or while
        // `retain` holds a reference to the task.
        let tasks = unsafe { &*home.as_ref().tasks };
        let is_owner = tasks.owner == ThreadToken::current();
        // SAFETY: this thread is the owner, as just checked.
        let core = if is_owner { unsafe { tasks.try_core() } } else { None };
        let waker = if let Some(mut core) = core {
            // The entry keeps `tasks` valid: only this thread can take it out of the local queue.
            core.queue.push_back(runnable);
            if core.is_being_polled { None } else { tasks.poller.take() }
        } else {
            let _keeps_tasks = runnable.retain();
            tasks.push_remote(runnable);
            tasks.poller.take()
        };
        // Wakes the poller last, since `tasks` may already be freed, or be freed by the waker. A
        // panic of the waker is caught: the caller may be a worker that completes a task.
        if let Some(waker) = waker {
            call_now(waker);
        }
    }

    unsafe fn release_cell(home: NonNull<TaskList>) {
        // SAFETY: `Owner::spawn` took a reference for this cell. It keeps `home` valid up to here,
        // and it is given back once, since `release_cell` is called once per task.
        unsafe { Arc::decrement_strong_count(home.as_ref().tasks) };
    }
}

/// A number that identifies a thread and is never used again.
///
/// Unlike a `ThreadId`, it can be obtained while the thread's thread-locals are being destroyed,
/// and without a counted reference to the thread.
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
