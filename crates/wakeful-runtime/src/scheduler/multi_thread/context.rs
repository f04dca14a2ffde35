//! Calls into the scheduler that are answered by the calling thread's own worker, mostly made
//! inside tasks.

use super::MultiThread;
use super::worker_thread::{with_core_of, with_worker_thread};
use std::sync::Arc;
use std::task::Waker;
use wakeful_task::{Runnable, is_waker_of};

/// Queues a new task if this thread is a worker of `scheduler`; if not, returns it.
pub(super) fn spawn_local(scheduler: &Arc<MultiThread>, runnable: Runnable) -> Option<Runnable> {
    with_core_of(Arc::as_ptr(scheduler), |entered| {
        let Some((thread, mut core)) = entered else { return Some(runnable) };
        core.refs.take_one(scheduler);
        thread.worker().metrics.spawned.add(1);
        thread.push_woken(core, runnable);
        None
    })
}

/// Queues a woken task here if this thread is a worker of `scheduler`; if not, returns it.
pub(super) fn schedule_local(
    scheduler: *const MultiThread,
    runnable: Runnable,
) -> Option<Runnable> {
    with_core_of(scheduler, |entered| {
        let Some((thread, core)) = entered else { return Some(runnable) };
        thread.push_woken(core, runnable);
        None
    })
}

/// Defers `waker` until the worker has looked at the driver. Returns false if this thread has no
/// lease.
pub(crate) fn defer(waker: &Waker) -> bool {
    with_worker_thread(|thread| {
        let Some(thread) = thread.filter(|thread| !thread.lease.is_revoked()) else { return false };
        // Only the task being polled yields by its queue entry. A task inside it, in a `LocalSet`
        // for instance, has another waker, which must be woken.
        if thread.lease.polling().is_some_and(|task| is_waker_of(waker, task)) {
            thread.yielding.set(true);
            return true;
        }
        // A task whose budget runs out in several of its futures needs one wake-up only.
        let section = thread.enter_from_user_code();
        let last = section.as_ref().and_then(|core| core.deferred.back());
        if last.is_some_and(|last| last.will_wake(waker)) {
            return true;
        }
        // `clone` may be user code, so no section is open meanwhile.
        drop(section);
        let waker = waker.clone();
        match thread.enter_from_user_code() {
            Some(mut core) => core.deferred.push_back(waker),
            None => waker.wake(),
        }
        true
    })
}

/// Returns the index of the worker that this thread runs, in whichever runtime.
pub(crate) fn worker_index() -> Option<usize> {
    with_worker_thread(|thread| thread.map(|thread| thread.index))
}
