//! Walks over lists of tasks, for a census, by the threads that may touch the lists.
//!
//! A list of tasks belongs to one thread at a time, and can be long. A census thread requests a
//! walk of it; the owner, or a thread that has exclusive access instead of it, makes **steps** of
//! bounded length. A step takes tasks from the back of the list, and puts them to the front: the
//! order of the list is the walk's only cursor. So tasks can be removed between two steps, and
//! another thread can continue the walk. New tasks enter at the front, behind the walk. It ends
//! when it meets a task that it has seen before.

use std::mem::take;
use std::panic::Location;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Instant;
use wakeful_base::list::List;
use wakeful_base::sync::Mutex;
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_task::{OwnedLink, Retained};

/// The limit on tasks of one step. Bounds the time for which a walk holds up other tasks: each
/// costs up to two cache misses.
pub(crate) const TASKS_PER_STEP: usize = if cfg!(wakeful_loom) { 1 } else { 2048 };

/// The limit on tasks that are listed although they have never waited: they are in queues only.
pub(crate) const NEW_TASKS_MAX: usize = 1000;

/// Calls its argument with a list of tasks, or does not.
pub(crate) type WithList<'a> = dyn FnMut(&mut dyn FnMut(&mut List<OwnedLink>)) + 'a;

/// A walk over one list.
pub(crate) struct ListWalk {
    is_requested: AtomicBool,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    tasks: Vec<Retained>,
    is_done: bool,
}

impl ListWalk {
    pub(crate) fn new() -> ListWalk {
        ListWalk { is_requested: AtomicBool::new(false), found: Mutex::default() }
    }

    /// Requests a walk. The census thread must then wake the thread that has the list.
    pub(crate) fn request(&self) {
        let before = take(&mut *self.found.lock());
        self.is_requested.store(true, SeqCst);
        // Outside the lock: this may free tasks.
        drop(before);
    }

    /// Returns whether a walk is requested and not done.
    #[inline]
    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Relaxed)
    }

    /// Makes one step. `with_list` is called once. During the call to its argument, the calling
    /// thread must have exclusive access to the list.
    pub(crate) fn step(&self, with_list: &mut WithList<'_>) {
        // Allocated before the access, because the allocator may be user code.
        let mut tasks = Vec::with_capacity(TASKS_PER_STEP);
        let mut is_whole_list = None;
        with_list(&mut |list| is_whole_list = Some(rotate(list, &mut tasks)));
        let Some(is_whole_list) = is_whole_list else { return };
        let mut found = self.found.lock();
        if !self.is_requested() {
            // The census has given up, or another thread has completed the walk.
            drop(found);
            return drop(tasks);
        }
        let first = tasks.first().map(Retained::task);
        let was_seen =
            first.is_none_or(|first| found.tasks.iter().any(|task| task.task() == first));
        found.tasks.append(&mut tasks);
        if is_whole_list || was_seen {
            found.is_done = true;
            self.is_requested.store(false, Relaxed);
        }
    }

    /// Ends the walk. Appends the tasks, some of them more than once, and returns whether these are
    /// all.
    pub(crate) fn finish(&self, into: &mut Vec<Retained>) -> bool {
        let mut found = self.found.lock();
        // Under the lock: a step that ends later must not leave tasks behind.
        self.is_requested.store(false, Relaxed);
        let Found { mut tasks, is_done } = take(&mut *found);
        drop(found);
        into.append(&mut tasks);
        is_done
    }
}

/// Moves tasks from the back of the list to its front and takes a reference to each. Returns
/// whether these were all tasks of the list.
fn rotate(list: &mut List<OwnedLink>, tasks: &mut Vec<Retained>) -> bool {
    while tasks.len() < TASKS_PER_STEP {
        let Some(task) = list.back() else { return true };
        if tasks.first().is_some_and(|first| first.task() == task) {
            return true;
        }
        list.pop_back();
        // SAFETY: a task in a list is alive, since the list has the scheduler's reference. It is in
        // no list now, and stays in place until it is removed again.
        unsafe {
            list.push_front(task);
            tasks.push(Retained::new(task));
        }
    }
    list.is_empty()
}

/// A thread in user code, which may be stuck there.
#[derive(Debug)]
pub(crate) struct StuckThread {
    /// The id of the runtime.
    pub(crate) runtime: u64,
    /// `None` if the thread's lease was revoked.
    pub(crate) worker: Option<usize>,
    /// The thread runs other user code by now if this has changed.
    pub(crate) progress: u64,
    /// The id of the task in whose poll the thread is.
    pub(crate) task: Option<u64>,
    pub(crate) since: Option<Instant>,
    /// What the operating system says of the thread.
    pub(crate) thread: Option<String>,
    /// It is known to be in the same poll as at the walk before.
    pub(crate) is_same_poll: bool,
}

/// A task that has not ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedTask {
    pub(crate) id: u64,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) type_name: &'static str,
}

/// A `LocalSet`, as a census sees it.
pub(crate) trait WalkedSet: Send + Sync {
    /// Returns the id of the set.
    fn id(&self) -> u64;
    /// Returns the walk over the set's tasks.
    fn walk(&self) -> &ListWalk;
    /// Returns the tasks that were recorded because the process is watched, for a set that does not
    /// answer: only its own thread can walk over its list.
    fn recorded(&self) -> Vec<RecordedTask>;
    /// Wakes the task that polls the set, if any.
    fn wake_poller(&self);
    /// Returns the kernel's id of the thread that the set belongs to, if it is known.
    fn thread(&self) -> Option<u32>;
    /// Returns whether a thread is polling the set.
    fn is_being_polled(&self) -> bool;
    /// Returns whether something was queued since the set was polled last.
    fn has_queued(&self) -> bool;
}

/// All `LocalSet`s of the process.
static SETS: std::sync::Mutex<Vec<Weak<dyn WalkedSet>>> = std::sync::Mutex::new(Vec::new());

/// Notes a new set. Sets that are gone are forgotten at times.
pub(crate) fn add_set(set: Weak<dyn WalkedSet>) {
    let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    if sets.len() == sets.capacity() {
        sets.retain(|set| set.strong_count() > 0);
    }
    sets.push(set);
}

/// Returns all sets.
pub(crate) fn sets() -> Vec<Arc<dyn WalkedSet>> {
    let sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    sets.iter().filter_map(Weak::upgrade).collect()
}
