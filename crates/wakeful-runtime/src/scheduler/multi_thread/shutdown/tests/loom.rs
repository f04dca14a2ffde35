//! The last worker clears up while other threads wake and spawn tasks, and return from polls
//! without a lease. Every future is dropped once, and nothing of the scheduler is left.

use super::*;
use crate::driver::DriverParts;
use crate::scheduler::multi_thread::park_state::SharedDriver;
use crate::testing::{model, no_threads, plain_config, plain_info};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, Weak};
use std::task::{Context, Poll, Waker};
use wakeful_task::{Id, Polled};

/// A runtime with one worker, and what became of its tasks.
struct Case {
    scheduler: Arc<MultiThread>,
    tasks: Arc<Tasks>,
}

/// Std's types even under loom: the model is about the scheduler, not about these counters.
#[derive(Default)]
struct Tasks {
    made: AtomicUsize,
    dropped: AtomicUsize,
    /// If set, tasks end at their next poll.
    end: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// A future that stores its waker and waits.
struct Probe(Arc<Tasks>);

impl Future for Probe {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0.end.load(SeqCst) {
            return Poll::Ready(());
        }
        let old = self.0.waker.lock().unwrap().replace(cx.waker().clone());
        drop(old);
        Poll::Pending
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

impl Tasks {
    fn probe(self: &Arc<Self>) -> Probe {
        self.made.fetch_add(1, SeqCst);
        Probe(self.clone())
    }

    fn take_waker(&self) -> Waker {
        self.waker.lock().unwrap().take().expect("the task was polled")
    }
}

impl Case {
    fn new() -> Case {
        let parts = DriverParts::new(None).unwrap();
        let info = plain_info(&parts);
        let driver = SharedDriver::new(parts.driver, parts.waker);
        let scheduler = MultiThread::new(1, plain_config(), no_threads(), info, driver);
        Case { scheduler, tasks: Arc::default() }
    }

    /// Spawns a task without a join handle and returns its queue entry.
    fn spawn(&self) -> Runnable {
        drop(self.scheduler.spawn(self.tasks.probe(), Id::next(), Location::caller()));
        self.scheduler.inject.pop().expect("just spawned")
    }

    /// Creates a task that waits in `list` and returns its waker.
    fn waiting(&self, list: ListId) -> Waker {
        let Polled::Pending(running) = self.spawn().run() else { panic!("a probe waits") };
        match list {
            ListId::Shared => self.scheduler.settle_without_worker(running, false),
            ListId::Worker(index) => {
                let task = running.task();
                // SAFETY: both homes are parts of this scheduler; an unlisted task is in no list.
                // No worker thread runs, so only this thread touches the core.
                self.scheduler.with_retired_core(index, |core| unsafe {
                    running.set_home(self.scheduler.workers[index].task_list.as_ptr());
                    core.owned.push_front(task);
                });
                assert!(running.idle().is_none());
            }
            ListId::Unlisted => unreachable!("a task that waits is in a list"),
        }
        self.tasks.take_waker()
    }

    /// Creates a task that waits in `list`, wakes it and returns its queue entry.
    fn woken(&self, list: ListId) -> Runnable {
        self.waiting(list).wake();
        self.scheduler.inject.pop().expect("just woken")
    }

    /// Stops the worker, as `WorkerThread::stop` does.
    fn stop(&self) {
        self.scheduler.stop();
        assert!(self.scheduler.worker_stopped());
        self.scheduler.clear_up();
    }

    #[track_caller]
    fn assert_nothing_left(self) {
        let Case { scheduler, tasks } = self;
        let scheduler: Weak<MultiThread> = {
            let weak = Arc::downgrade(&scheduler);
            drop(scheduler);
            weak
        };
        drop(tasks.waker.lock().unwrap().take());
        assert_eq!(tasks.dropped.load(SeqCst), tasks.made.load(SeqCst), "futures dropped and made");
        assert_eq!(Arc::strong_count(&tasks), 1, "a future is still there");
        assert!(scheduler.upgrade().is_none(), "a task cell, or a leak, keeps the scheduler");
    }
}

const LISTS: [ListId; 2] = [ListId::Worker(0), ListId::Shared];

#[test]
fn clear_up_races_with_a_wake() {
    for list in LISTS {
        model(move || {
            let case = Case::new();
            let waker = case.waiting(list);
            let other = thread::spawn(move || waker.wake());
            case.stop();
            other.join().unwrap();
            case.assert_nothing_left();
        });
    }
}

#[test]
fn clear_up_races_with_two_wakes() {
    model(|| {
        let case = Case::new();
        let wakers = LISTS.map(|list| case.waiting(list));
        let others = wakers.map(|waker| thread::spawn(move || waker.wake()));
        case.stop();
        for other in others {
            other.join().unwrap();
        }
        case.assert_nothing_left();
    });
}

#[test]
fn clear_up_races_with_a_spawn() {
    model(|| {
        let case = Case::new();
        let (scheduler, probe) = (case.scheduler.clone(), case.tasks.probe());
        let other = thread::spawn(move || {
            drop(scheduler.spawn(probe, Id::next(), Location::caller()));
        });
        case.stop();
        other.join().unwrap();
        case.assert_nothing_left();
    });
}

/// The result of a poll, to be sent to the thread that plays the poller.
struct SendPolled(Polled);

// SAFETY: the task's future is `Send`, and the poll's result gives its owner alone the right to
// settle or complete the task.
unsafe impl Send for SendPolled {}

/// Starts a thread without a lease that returns from a poll that began before the worker stopped.
fn return_from_poll(case: &Case, runnable: Runnable, yields: bool) -> thread::JoinHandle<()> {
    case.scheduler.begin_detached(runnable.task(), None);
    let (scheduler, polled) = (case.scheduler.clone(), SendPolled(runnable.run()));
    thread::spawn(move || {
        let SendPolled(polled) = polled;
        match polled {
            Polled::Pending(running) => scheduler.settle_without_worker(running, yields),
            Polled::Ended(ended) => scheduler.end_without_worker(ended),
        }
    })
}

#[test]
fn a_new_task_returns_on_a_thread_without_a_lease() {
    for yields in [false, true] {
        model(move || {
            let case = Case::new();
            let other = return_from_poll(&case, case.spawn(), yields);
            case.stop();
            other.join().unwrap();
            case.assert_nothing_left();
        });
    }
}

#[test]
fn a_listed_task_returns_on_a_thread_without_a_lease() {
    for list in LISTS {
        model(move || {
            let case = Case::new();
            let other = return_from_poll(&case, case.woken(list), false);
            case.stop();
            other.join().unwrap();
            case.assert_nothing_left();
        });
    }
}

#[test]
fn a_listed_task_ends_on_a_thread_without_a_lease() {
    for list in LISTS {
        model(move || {
            let case = Case::new();
            let runnable = case.woken(list);
            // Neighbours in the list, which the clear-up walks meanwhile.
            let wakers = [case.waiting(list), case.waiting(list)];
            case.tasks.end.store(true, SeqCst);
            let other = return_from_poll(&case, runnable, false);
            case.stop();
            other.join().unwrap();
            drop(wakers);
            case.assert_nothing_left();
        });
    }
}

#[test]
fn a_task_is_woken_and_returns_on_a_thread_without_a_lease() {
    for list in LISTS {
        model(move || {
            let case = Case::new();
            let waker = case.waiting(list);
            waker.wake_by_ref();
            let runnable = case.scheduler.inject.pop().expect("just woken");
            let others =
                [return_from_poll(&case, runnable, false), thread::spawn(move || waker.wake())];
            case.stop();
            for other in others {
                other.join().unwrap();
            }
            case.assert_nothing_left();
        });
    }
}
