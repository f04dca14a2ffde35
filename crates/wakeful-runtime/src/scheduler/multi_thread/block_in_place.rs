//! `block_in_place`: a thread releases its worker before it blocks, and reacquires it afterwards if
//! no other thread has acquired it by then.

use super::MultiThread;
use super::lease::UserCode;
use super::worker_thread::{run_worker, with_worker_thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::budget::{self, Budget};
use wakeful_base::enter::{Entered, entered, set_entered};

/// Runs `f` on this thread while another thread runs the worker.
#[track_caller]
pub(crate) fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    match release_worker() {
        Released::NotDriving => f(),
        Released::Driving(_reacquire) => {
            let _not_entered = set_entered(Entered::No);
            let _unconstrained = budget::replace(Budget::UNCONSTRAINED);
            f()
        }
    }
}

enum Released {
    NotDriving,
    Driving(Option<Reacquire>),
}

/// Reacquires the worker when dropped, unless another thread has.
struct Reacquire {
    ticket: Arc<WorkerTicket>,
}

/// The right to acquire a released worker. The first thread to claim it has it.
struct WorkerTicket {
    scheduler: Arc<MultiThread>,
    index: usize,
    is_claimed: AtomicBool,
}

impl WorkerTicket {
    fn claim(&self) -> bool {
        let is_ours = !self.is_claimed.swap(true, AcqRel);
        if is_ours {
            self.scheduler.vacant.fetch_sub(1, Relaxed);
        }
        is_ours
    }
}

#[track_caller]
fn release_worker() -> Released {
    match entered() {
        Entered::No => return Released::NotDriving,
        Entered::MayBlockInPlace => {}
        Entered::Bound => panic!(
            "`block_in_place` called on a current-thread runtime or in a `LocalSet`, whose tasks \
             cannot move to another thread meanwhile: you can call blocking only when running on \
             the multi-threaded runtime. Use `spawn_blocking`, or a multi-thread runtime"
        ),
    }
    with_worker_thread(|thread| {
        let Some(thread) = thread else { return Released::Driving(None) };
        if thread.lease.user_code().is_none() || thread.lease.is_in_section() {
            // No release from inside the driver or the timers. (Waking a task whose own runtime is
            // shutting down drops its future on the spot, and that drop may call this.) The driver
            // does not pass on with the worker, so the successor would park beside it. No release
            // from inside a core section either, where an allocator may call this.
            return Released::Driving(None);
        }
        thread.call_external_wakers();
        thread.wake_deferred();
        let Some(mut core) = thread.enter() else { return Released::Driving(None) };
        if let Some(runnable) = core.lifo.take() {
            core.queue.push(&thread.worker().queue, runnable);
        }
        // Other workers can steal the tasks until a thread has acquired the worker.
        drop(core);
        if !thread.worker().queue.is_empty() {
            let _is_new = thread.scheduler.idle.set_queued(thread.index);
            thread.scheduler.notify_parked();
        }
        let ticket = Arc::new(WorkerTicket {
            scheduler: thread.scheduler.clone(),
            index: thread.index,
            is_claimed: false.into(),
        });
        let successor = ticket.clone();
        let run_successor = Box::new(move || {
            if successor.claim() {
                run_worker(successor.scheduler.clone(), successor.index);
            }
        });
        if !thread.worker().lease_slot.release(&thread.lease) {
            return Released::Driving(None);
        }
        thread.scheduler.vacant.fetch_add(1, Relaxed);
        if let Some(task) = thread.lease.user_code().and_then(UserCode::task) {
            thread.scheduler.begin_detached(task, None);
        }
        // If the pool has no thread for it, the worker stays blocked as it would on other runtimes.
        // It is released nonetheless, so that tasks spawned or deferred meanwhile go to other
        // workers.
        let _fails_without_a_thread = thread.scheduler.submit_worker(run_successor, true);
        Released::Driving(Some(Reacquire { ticket }))
    })
}

impl Drop for Reacquire {
    fn drop(&mut self) {
        if self.ticket.claim() {
            with_worker_thread(|thread| {
                let thread = thread.expect("a thread that released its worker keeps its record");
                thread.worker().park_state.set_unparker(thread.parker.unparker());
                thread.worker().metrics.note_thread();
                thread.worker().lease_slot.acquire(&thread.lease);
                if let Some(task) = thread.lease.user_code().and_then(UserCode::task) {
                    thread.scheduler.end_detached(task);
                }
            });
        }
    }
}
