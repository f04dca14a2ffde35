//! How a current-thread scheduler ends: every task is dropped by the thread that drops the runtime.

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
    /// Drops every task. Nothing that is spawned later runs.
    pub(crate) fn shutdown(self: &Arc<Self>) {
        self.stalls.monitor.end();
        // Absent only if `block_on` is unwinding through the runtime's owner.
        let Some(CoreAndDriver { mut core, driver: _driver }) = self.resting.lock().core.take()
        else {
            return;
        };
        let handle = SchedulerHandle::CurrentThread(self.clone());
        // A future's drop may want its runtime; where the thread is ending it has to do without.
        let current =
            (with_current(|_| ()) != Err(NoCurrent::ThreadEnds)).then(|| set_current(&handle));
        self.stopped.store(true, Release);
        self.clear_up(|f| f(&mut core));
        self.info.io.shut_down();
        self.info.time.begin_shutdown();
        self.info.time.fire_all(&self.left_timers, |f| f(&mut core.timers));
        core.refs.empty(self);
        // It panics if a future's drop leaked an `EnterGuard`. The pool is still to be shut down.
        contain_panic(|| drop(current));
    }

    /// Drops every task after one has panicked in a runtime that ends by that.
    pub(super) fn stop_after_panic(&self, with_core: impl FnMut(&mut dyn FnMut(&mut Core))) {
        self.stopped.store(true, Release);
        self.clear_up(with_core);
    }

    /// `with_core` gives access to the core, without user code running meanwhile.
    fn clear_up(&self, mut with_core: impl FnMut(&mut dyn FnMut(&mut Core))) {
        loop {
            let (mut queued, mut claimed) = (self.inject.pop(), None);
            let (mut is_empty, mut deferred) = (true, Vec::new());
            with_core(&mut |core| {
                queued = queued.take().or_else(|| core.ready.pop());
                queued = queued.take().or_else(|| core.yielded.pop());
                deferred = std::mem::take(&mut core.deferred);
                is_empty = core.owned.is_empty();
                let Some(task) = core.owned.pop_front() else { return };
                // SAFETY: what is in the list is alive. One that is scheduled is in a queue, or about
                // to be put into one: it goes back, to be met there.
                unsafe {
                    claimed = RunningTask::claim_idle(task);
                    if claimed.is_none() {
                        core.owned.push_back(task);
                    }
                }
            });
            // Whoever gave way here may belong to somebody else, who goes on.
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
                            // SAFETY: in our list or in none.
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
        // SAFETY: the scheduler's reference keeps the task alive.
        config::call_for(&self.config.hooks.terminate, unsafe { ended.task().as_ref() });
        ended.complete();
    }
}
