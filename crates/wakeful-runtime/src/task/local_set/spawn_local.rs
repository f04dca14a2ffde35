//! `spawn_local`: spawning onto the current thread.

use super::current;
use crate::scheduler::SchedulerHandle;
use crate::scheduler::context::with_current;
use std::future::Future;
use std::panic::Location;
use std::thread;
use wakeful_task::{Id, JoinHandle};

/// Spawns a task that need not be `Send` onto the current `LocalSet` or `LocalRuntime`.
///
/// The task runs on the calling thread while that drives the [`LocalSet`](super::LocalSet) or
/// [`LocalRuntime`](crate::runtime::LocalRuntime), even if the returned handle is never awaited. If
/// a set is driven by a `LocalRuntime`, the task goes to the runtime.
///
/// A task of [`spawn`](crate::task::spawn) is not inside a set, even if its spawner is.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
/// use wakeful::{runtime::LocalRuntime, task};
///
/// let count = Rc::new(Cell::new(0));
/// LocalRuntime::new().unwrap().block_on(async {
///     let for_task = count.clone();
///     task::spawn_local(async move { for_task.set(for_task.get() + 1) }).await.unwrap();
/// });
/// assert_eq!(count.get(), 1);
/// ```
///
/// # Panics
/// Panics outside a `LocalSet` or `LocalRuntime`, and on a thread that has entered a `LocalRuntime`
/// of another thread.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let (id, spawned_at) = (Id::next(), Location::caller());
    let mut future = Some(future);
    // The panics are outside the closure, in which `track_caller` does not work.
    let on_runtime = with_current(|scheduler| {
        let SchedulerHandle::CurrentThread(scheduler) = scheduler else { return None };
        if scheduler.bound_to? != thread::current().id() {
            return Some(Err(OtherThread));
        }
        // SAFETY: the future need not be `Send`, since the runtime is bound to this thread, as just
        // checked.
        Some(Ok(unsafe { scheduler.spawn_local(future.take()?, id, spawned_at) }))
    });
    match on_runtime {
        Ok(Some(Ok(join))) => return join,
        Ok(Some(Err(OtherThread))) => panic!(
            "`spawn_local` called in the context of another thread's `LocalRuntime`: Local tasks can \
             only be spawned on a LocalRuntime from the thread the runtime was created on. Use \
             `Handle::spawn` if the future is `Send`, or send a closure that makes the future to a \
             task on that thread"
        ),
        Ok(None) | Err(_) => {}
    }
    match (current::current(), future) {
        (Some(owner), Some(future)) => owner.spawn(future, id, spawned_at),
        _ => panic!(
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`: there \
             is nothing on this thread to run a task that is not `Send`. Call it inside \
             `LocalSet::run_until` or `LocalRuntime::block_on`, enter a set first with \
             `LocalSet::enter`, or use `task::spawn` if the future is `Send`"
        ),
    }
}

/// An error: the runtime is bound to another thread.
struct OtherThread;
