//! The calls that the allocator makes into the runtime. None of them waits, and locks are only
//! tried.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::task::Waker;
use wakeful::runtime::Handle;
use wakeful::sync::{Notify, Semaphore, broadcast, mpsc, oneshot, watch};
use wakeful::task::{AbortHandle, JoinHandle};
use wakeful_torture::rng::Rng;

pub const NOTIFIES: usize = 32;

/// How often each of [`NAMES`] was called with effect.
static DONE: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
static ROLLS: AtomicU64 = AtomicU64::new(0);

const NAMES: &[&str] = &[
    "notify_one",
    "notify_waiters",
    "spawn",
    "mpsc try_send",
    "unbounded send",
    "broadcast send",
    "oneshot send",
    "add_permits",
    "watch send",
    "abort",
    "wake",
    "drop JoinHandle",
    "Handle::current",
];

/// State that the tasks of a round and the allocator share. The allocator uses only `try_lock`,
/// because the task that holds a lock may be the one that allocates.
pub struct Shared {
    pub handle: Handle,
    pub notifies: [Notify; NOTIFIES],
    pub bounded: mpsc::Sender<u64>,
    pub unbounded: mpsc::UnboundedSender<u64>,
    pub broadcast: broadcast::Sender<u64>,
    pub semaphore: Semaphore,
    pub watch: watch::Sender<u64>,
    pub oneshots: Mutex<Vec<oneshot::Sender<u64>>>,
    pub abort_handles: Mutex<Vec<AbortHandle>>,
    pub wakers: Mutex<Vec<Waker>>,
    pub join_handles: Mutex<Vec<JoinHandle<()>>>,
}

fn current() -> &'static RwLock<Option<Arc<Shared>>> {
    static CURRENT: OnceLock<RwLock<Option<Arc<Shared>>>> = OnceLock::new();
    CURRENT.get_or_init(RwLock::default)
}

/// Sets the round that [`call_runtime`] uses. Called only while the calls are stopped.
pub fn set_current(shared: Option<Arc<Shared>>) {
    let before = std::mem::replace(
        &mut *current().write().expect("no thread panics while it holds this lock"),
        shared,
    );
    drop(before);
}

/// Makes a random call into the runtime.
pub fn call_runtime() {
    let Ok(shared) = current().try_read().map(|current| current.clone()) else { return };
    let Some(shared) = shared else { return };
    let mut rng = Rng::new(ROLLS.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed));
    let kind = rng.below(NAMES.len());
    // The panic hook has reported a panic. It must not unwind through the allocator.
    let done = catch_unwind(AssertUnwindSafe(|| call(kind, &shared, &mut rng)));
    if done.unwrap_or(false) {
        DONE[kind].fetch_add(1, Relaxed);
    }
}

fn call(kind: usize, shared: &Shared, rng: &mut Rng) -> bool {
    let notify = &shared.notifies[rng.below(NOTIFIES)];
    match kind {
        0 => notify.notify_one(),
        1 => notify.notify_waiters(),
        2 => drop(shared.handle.spawn(async {})),
        3 => return shared.bounded.try_send(1).is_ok(),
        4 => return shared.unbounded.send(1).is_ok(),
        5 => return shared.broadcast.send(1).is_ok(),
        6 => return pop(&shared.oneshots).is_some_and(|sender| sender.send(1).is_ok()),
        7 => shared.semaphore.add_permits(1),
        8 => return shared.watch.send(1).is_ok(),
        9 => return pop(&shared.abort_handles).inspect(AbortHandle::abort).is_some(),
        10 => return pop(&shared.wakers).map(|waker| wake(waker, rng)).is_some(),
        11 => return pop(&shared.join_handles).is_some(),
        _ => return Handle::try_current().is_ok(),
    }
    true
}

fn wake(waker: Waker, rng: &mut Rng) {
    match rng.below(2) {
        0 => waker.wake_by_ref(),
        _ => waker.wake(),
    }
}

fn pop<T>(things: &Mutex<Vec<T>>) -> Option<T> {
    let mut things = things.try_lock().ok()?;
    let thing = things.pop();
    // The drop of the thing may allocate, and so call this function again.
    drop(things);
    thing
}

/// Returns the name and the number of each call.
pub fn done() -> impl Iterator<Item = (&'static str, u64)> {
    NAMES.iter().zip(&DONE).map(|(name, done)| (*name, done.load(Relaxed)))
}
