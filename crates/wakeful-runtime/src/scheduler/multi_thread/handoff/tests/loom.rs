//! A worker polls a task that spawns, wakes, blocks, yields or ends, while the monitor inspects the
//! worker, and a standby thread takes it over or comes too late. The last task stops the runtime. A
//! lost task shows as a deadlock, a task that is run twice by an assertion, and a leak at the end
//! of the model.

use super::*;
use crate::config::{Callback, Config};
use crate::driver::DriverParts;
use crate::scheduler::multi_thread::park_state::SharedDriver;
use crate::scheduler::multi_thread::worker_thread::run_worker;
use crate::stall::StallConfig;
use crate::testing::{Gate, model, no_threads, plain_config, plain_info};
use std::future::{Future, pending, poll_fn};
use std::sync::atomic::AtomicUsize;
use std::task::Poll;
use wakeful_base::sync::thread;

/// A scheduler with one worker, and how many of its tasks have ended.
#[derive(Clone)]
struct Case {
    scheduler: Arc<MultiThread>,
    /// Std's type even under loom: the model is about the scheduler, not about this counter.
    ends: Arc<AtomicUsize>,
}

impl Case {
    fn new() -> Case {
        Case::with_hook(None)
    }

    /// As [`new`](Self::new), with a callback that the worker runs before it parks.
    fn with_hook(before_park: Option<Callback>) -> Case {
        let config = Config {
            before_park,
            // Fixed: an interval that follows measurements would differ from run to run.
            global_queue_interval: Some(61),
            stall: StallConfig { hands_off: true, ..plain_config().stall },
            ..plain_config()
        };
        let parts = DriverParts::new(None).unwrap();
        let info = plain_info(&parts);
        let driver = SharedDriver::new(parts.driver, parts.waker);
        let scheduler = MultiThread::new(1, config, no_threads(), info, driver);
        Case { scheduler, ends: Arc::default() }
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.scheduler.spawn(future, Id::next(), Location::caller()));
    }

    /// Counts the end of a task, and stops the runtime if it is the `last` one.
    fn end(&self, last: usize) {
        if self.ends.fetch_add(1, SeqCst) + 1 == last {
            self.scheduler.stop();
        }
    }

    /// Takes the worker over if its thread is in its first poll, and then runs it until the runtime
    /// stops.
    fn try_take_over(&self) -> bool {
        let stuck = Stuck { progress: 1, since: Instant::now() };
        let lease = self.scheduler.take_over(0, stuck);
        let is_taken = lease.is_some();
        if let Some(lease) = lease {
            run_with_lease(self.scheduler.clone(), 0, lease);
        }
        is_taken
    }

    /// Inspects a worker in its first poll, as the monitor does, and publishes its tasks.
    fn inspect(&self) -> Option<Inspection> {
        let suspect = Suspect { index: 0, progress: 1, within: Duration::ZERO };
        self.scheduler.inspect_all(&[suspect], true).pop().flatten()
    }

    /// Runs the worker on one thread and `standby` on this one, until the runtime stops.
    fn run(self, standby: impl FnOnce(&Case), ends: usize) {
        let scheduler = self.scheduler.clone();
        let worker = thread::spawn(move || run_worker(scheduler, 0));
        standby(&self);
        worker.join().unwrap();
        assert_eq!(self.ends.load(SeqCst), ends);
        let scheduler = Arc::downgrade(&self.scheduler);
        drop(self);
        assert!(scheduler.upgrade().is_none(), "a task cell, or a leak, keeps the scheduler");
    }
}

/// A standby thread that tries to take the worker over once.
fn take_over_once(case: &Case) {
    case.try_take_over();
}

/// A standby thread that tries until it has taken the worker over.
fn take_over_when_possible(case: &Case) {
    while !case.try_take_over() {
        thread::yield_now();
    }
}

/// The monitor, when it only inspects the worker.
fn inspect(case: &Case) {
    case.inspect();
}

/// The monitor, and a standby thread if it finds the worker in its first poll.
fn inspect_then_take_over(case: &Case) {
    if case.inspect().is_some() {
        case.try_take_over();
    }
}

#[test]
fn take_over_races_with_the_end_of_a_task() {
    model(|| {
        let case = Case::new();
        let in_task = case.clone();
        case.spawn(async move { in_task.end(1) });
        case.run(take_over_once, 1);
    });
}

#[test]
fn take_over_races_with_a_spawn() {
    model(|| {
        let case = Case::new();
        let in_task = case.clone();
        case.spawn(async move {
            let inner = in_task.clone();
            in_task.spawn(async move { inner.end(2) });
            in_task.end(2);
        });
        case.run(take_over_once, 2);
    });
}

#[test]
fn take_over_races_with_a_task_that_wakes_itself() {
    model(|| {
        let (case, mut polls) = (Case::new(), 0);
        let in_task = case.clone();
        case.spawn(poll_fn(move |cx| {
            polls += 1;
            if polls == 2 {
                in_task.end(1);
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        case.run(take_over_once, 1);
    });
}

#[test]
fn take_over_races_with_a_yield() {
    model(|| {
        let (case, mut polls) = (Case::new(), 0);
        let in_task = case.clone();
        case.spawn(poll_fn(move |cx| {
            polls += 1;
            if polls == 2 {
                in_task.end(1);
                return Poll::Ready(());
            }
            wakeful_base::budget::defer(cx.waker());
            Poll::Pending
        }));
        case.run(take_over_once, 1);
    });
}

#[test]
fn take_over_races_with_a_task_that_waits_for_its_child() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let in_task = case.clone();
        case.spawn(async move {
            let opens = gate.clone();
            in_task.spawn(async move { opens.open() });
            gate.pass().await;
            in_task.end(1);
        });
        case.run(take_over_once, 1);
    });
}

/// The first task blocks its thread until the second, which is queued behind it, has run.
#[test]
fn a_blocking_task_is_released_by_the_task_queued_behind_it() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let (in_task, in_second, waits) = (case.clone(), case.clone(), gate.clone());
        case.spawn(async move {
            wakeful_base::block_on(waits.pass());
            in_task.end(2);
        });
        case.spawn(async move {
            gate.open();
            in_second.end(2);
        });
        case.run(take_over_when_possible, 2);
    });
}

/// Tasks spawned while the runtime stops are dropped, whether or not the spawning thread has a
/// lease.
#[test]
fn the_runtime_stops_during_a_poll() {
    model(|| {
        let case = Case::new();
        let in_task = case.clone();
        case.spawn(async move {
            in_task.scheduler.stop();
            in_task.spawn(pending());
            in_task.end(0);
            pending().await
        });
        case.run(take_over_once, 1);
    });
}

/// The worker stops, and everything else is cleared up, while the task still blocks.
#[test]
fn the_runtime_stops_while_a_task_blocks() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let (in_task, waits) = (case.clone(), gate.clone());
        case.spawn(async move {
            in_task.scheduler.stop();
            wakeful_base::block_on(waits.pass());
            in_task.end(0);
        });
        case.spawn(pending());
        let take_over_then_open = move |case: &Case| {
            take_over_when_possible(case);
            gate.open();
        };
        case.run(take_over_then_open, 1);
    });
}

/// The inspection publishes the tasks just spawned, one of which is in the LIFO slot.
#[test]
fn inspection_races_with_spawns() {
    for monitor in [inspect, inspect_then_take_over] {
        model(move || {
            let case = Case::new();
            let in_task = case.clone();
            case.spawn(async move {
                for _ in 0..2 {
                    let inner = in_task.clone();
                    in_task.spawn(async move { inner.end(3) });
                }
                in_task.end(3);
            });
            case.run(monitor, 3);
        });
    }
}

#[test]
fn inspection_races_with_a_yield() {
    for monitor in [inspect, inspect_then_take_over] {
        model(move || {
            let (case, mut polls) = (Case::new(), 0);
            let in_task = case.clone();
            case.spawn(poll_fn(move |cx| {
                polls += 1;
                if polls == 2 {
                    in_task.end(2);
                    return Poll::Ready(());
                }
                let inner = in_task.clone();
                in_task.spawn(async move { inner.end(2) });
                wakeful_base::budget::defer(cx.waker());
                Poll::Pending
            }));
            case.run(monitor, 2);
        });
    }
}

/// The inspection may read the task's id and spawn location, in whichever state the task is.
#[test]
fn inspection_reads_the_task_that_ends() {
    model(|| {
        let case = Case::new();
        let (in_task, id, at) = (case.clone(), Id::next(), Location::caller());
        drop(case.scheduler.spawn(async move { in_task.end(1) }, id, at));
        case.run(
            |case| {
                if let Some(found) = case.inspect() {
                    assert_eq!(found.task, Some((id, at)));
                }
            },
            1,
        );
    });
}

/// Runs a closure when dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The drop of an output blocks until the next task has run, which needs a take-over.
#[test]
fn a_blocking_output_drop_is_released_by_the_task_queued_behind_it() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let (in_task, in_second, waits) = (case.clone(), case.clone(), gate.clone());
        let output = OnDrop(move || {
            wakeful_base::block_on(waits.clone().pass());
            in_task.end(2);
        });
        drop(case.scheduler.spawn(async move { output }, Id::next(), Location::caller()));
        case.spawn(async move {
            gate.open();
            in_second.end(2);
        });
        case.run(take_over_when_possible, 2);
    });
}

/// The runtime is cleared up while the output of a task is still being dropped.
#[test]
fn the_runtime_stops_while_an_output_drop_blocks() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let (in_task, waits) = (case.clone(), gate.clone());
        let output = OnDrop(move || {
            in_task.scheduler.stop();
            wakeful_base::block_on(waits.clone().pass());
            in_task.end(0);
        });
        drop(case.scheduler.spawn(async move { output }, Id::next(), Location::caller()));
        case.spawn(pending());
        let take_over_then_open = move |case: &Case| {
            take_over_when_possible(case);
            gate.open();
        };
        case.run(take_over_then_open, 1);
    });
}

/// A callback blocks until a task has run, which needs a take-over.
#[test]
fn a_blocking_callback_is_released_by_a_queued_task() {
    model(|| {
        let (gate, has_begun) = (Gate::new(), Gate::new());
        let (waits, callback_begun) = (gate.clone(), has_begun.clone());
        let case = Case::with_hook(Some(Arc::new(move || {
            callback_begun.open();
            wakeful_base::block_on(waits.clone().pass());
        })));
        let in_task = case.clone();
        let spawn_then_take_over = move |case: &Case| {
            wakeful_base::block_on(has_begun.pass());
            case.spawn(async move {
                gate.open();
                in_task.end(1);
            });
            let stuck = Stuck { progress: 0, since: Instant::now() };
            let lease =
                case.scheduler.take_over(0, stuck).expect("the callback waits for the task");
            run_with_lease(case.scheduler.clone(), 0, lease);
        };
        case.run(spawn_then_take_over, 1);
    });
}
