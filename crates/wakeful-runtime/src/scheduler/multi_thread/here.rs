//! What a thread does to the scheduler as one of its workers, from inside of a task mostly.

use super::MultiThread;
use super::sitter::{with_core_of, with_sitter};
#[cfg(feature = "time")]
use crate::timers::SeatTimers;
use std::sync::Arc;
use std::task::Waker;
use wakeful_task::{Runnable, is_waker_of};

/// Takes a new task in, if this thread is a worker of `shared`; else gives it back.
pub(super) fn spawn_local(shared: &Arc<MultiThread>, runnable: Runnable) -> Option<Runnable> {
    with_core_of(Arc::as_ptr(shared), |here| {
        let Some((sitter, mut core)) = here else { return Some(runnable) };
        core.refs.take_one(shared);
        sitter.seat().metrics.spawned.add(1);
        sitter.push_woken(core, runnable);
        None
    })
}

/// Queues an entry here, if this thread is a worker of `shared`; else gives it back.
pub(super) fn schedule_local(shared: *const MultiThread, runnable: Runnable) -> Option<Runnable> {
    with_core_of(shared, |here| {
        let Some((sitter, core)) = here else { return Some(runnable) };
        sitter.push_woken(core, runnable);
        None
    })
}

/// Takes back the reference of a freed cell, if this thread is a worker of `shared`.
pub(crate) fn release_local(shared: *const MultiThread) -> bool {
    with_core_of(shared, |here| {
        let Some((sitter, mut core)) = here else { return false };
        // SAFETY: the caller passes the cell's reference on.
        unsafe { core.refs.put_one(&sitter.shared) };
        true
    })
}

/// Takes a reference that keeps `shared`, if this thread is a worker of it.
#[cfg(feature = "time")]
pub(crate) fn retain_local(shared: &Arc<MultiThread>) -> bool {
    with_core_of(Arc::as_ptr(shared), |here| {
        let Some((_, mut core)) = here else { return false };
        core.refs.take_one(shared);
        true
    })
}

/// Calls `f` with this worker's timers, in a core section, if this thread is a worker of `shared`.
#[cfg(feature = "time")]
pub(crate) fn with_own_timers<R>(
    shared: *const MultiThread,
    f: impl FnOnce(Option<&mut SeatTimers>) -> R,
) -> R {
    with_core_of(shared, |here| match here {
        Some((_, mut core)) => f(Some(&mut core.timers)),
        None => f(None),
    })
}

/// Keeps `waker` until the worker has looked at its driver. False if this thread has no seat.
pub(crate) fn defer(waker: &Waker) -> bool {
    with_sitter(|sitter| {
        let Some(sitter) = sitter.filter(|sitter| !sitter.stay.is_lost()) else { return false };
        // Not any task: one that runs inside of another, in a `LocalSet` say, returns to that one.
        if sitter.stay.polling().is_some_and(|task| is_waker_of(waker, task)) {
            sitter.yielding.set(true);
            return true;
        }
        // A task that finds its budget used up in many futures needs one wake-up only.
        let section = sitter.enter_from_user_code();
        let last = section.as_ref().and_then(|core| core.deferred.back());
        if last.is_some_and(|last| last.will_wake(waker)) {
            return true;
        }
        // The clone is the caller's code, so no section is open meanwhile.
        drop(section);
        let waker = waker.clone();
        match sitter.enter_from_user_code() {
            Some(mut core) => core.deferred.push_back(waker),
            None => waker.wake(),
        }
        true
    })
}

/// The index of the worker this thread is, whatever the runtime.
pub(crate) fn worker_index() -> Option<usize> {
    with_sitter(|sitter| sitter.map(|sitter| sitter.index))
}
