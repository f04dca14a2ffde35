//! Shutdown of the current-thread scheduler: the thread that drops the runtime drops every task.

use super::{Core, CoreAndDriver, CurrentThread};
use crate::config;
use crate::metrics::RemoteMetrics;
use crate::scheduler::SchedulerHandle;
use crate::scheduler::context::{NoCurrent, set_current, with_current};
use std::sync::Arc;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::atomic::Ordering::*;
use wakeful_base::sync::thread;
use wakeful_task::{FinishingTask, Runnable, RunningTask};

impl CurrentThread {
    /// Drops every task. Tasks that are spawned later are cancelled.
    pub(crate) fn shutdown(self: &Arc<Self>) {
        self.stalls.monitor.end();
        // Absent only while a panic in `block_on` unwinds through the owner of the runtime.
        let Some(CoreAndDriver { mut core, driver: _driver }) = self.core_slot.lock().core.take()
        else {
            return;
        };
        let handle = SchedulerHandle::CurrentThread(self.clone());
        // A future's drop may use the current runtime. On a thread that is ending there is none.
        let current =
            (with_current(|_| ()) != Err(NoCurrent::ThreadEnds)).then(|| set_current(&handle));
        self.stopped.store(true, Release);
        self.drop_all_tasks(|f| f(&mut core));
        self.info.io.shut_down();
        self.info.time.begin_shutdown();
        self.info.time.fire_all(&self.left_timers, |f| f(&mut core.timers));
        core.refs.empty(self);
        // This panics if a future's drop leaked an `EnterGuard`. The pool still has to be shut
        // down.
        contain_panic(|| drop(current));
    }

    /// Drops every task, after one of them has panicked in a runtime that is configured to shut
    /// down then.
    pub(super) fn stop_after_panic(&self, with_core: impl FnMut(&mut dyn FnMut(&mut Core))) {
        self.stopped.store(true, Release);
        self.drop_all_tasks(with_core);
    }

    /// Drops every task. `with_core` gives access to the core; no user code runs inside it.
    fn drop_all_tasks(&self, mut with_core: impl FnMut(&mut dyn FnMut(&mut Core))) {
        loop {
            let (mut queued, mut claimed) = (self.inject.pop(), None);
            let (mut is_empty, mut deferred) = (true, Vec::new());
            with_core(&mut |core| {
                queued = queued.take().or_else(|| core.ready.pop());
                queued = queued.take().or_else(|| core.yielded.pop());
                deferred = std::mem::take(&mut core.deferred);
                is_empty = core.owned.is_empty();
                let Some(task) = core.owned.pop_front() else { return };
                // SAFETY: the scheduler's reference keeps every task in the list alive. A task that
                // cannot be claimed is in a queue, or about to be put into one: it goes back to the
                // list and is cancelled when it is popped from the queue.
                unsafe {
                    claimed = RunningTask::claim_idle(task);
                    if claimed.is_none() {
                        core.owned.push_back(task);
                    }
                }
            });
            // A deferred waker may belong to a task of another runtime, which still waits for it.
            for waker in deferred {
                contain_panic(|| waker.wake());
            }
            match (queued, claimed) {
                (None, None) if is_empty => break,
                (None, None) => thread::yield_now(),
                (queued, claimed) => {
                    if let Some(runnable) = queued {
                        let ended = runnable.cancel();
                        with_core(&mut |core| {
                            // SAFETY: the task is in `owned` or in no list, and only this thread
                            // touches `owned`.
                            unsafe { core.owned.remove(ended.task()) };
                        });
                        self.finish(ended);
                    }
                    if let Some(running) = claimed {
                        self.finish(running.cancel());
                    }
                }
            }
        }
        let mut late = Vec::new();
        self.inject.close(|runnable| late.push(runnable));
        for runnable in late {
            self.cancel(runnable);
        }
    }

    /// Drops the future of a task that is in no list.
    pub(super) fn cancel(&self, runnable: Runnable) {
        self.finish(runnable.cancel());
    }

    fn finish(&self, ended: FinishingTask) {
        RemoteMetrics::inc(&self.remote.ended);
        // SAFETY: `ended` holds the scheduler's reference, which keeps the task alive.
        config::call_for(&self.config.hooks.terminate, unsafe { ended.task().as_ref() });
        ended.complete();
    }
}
