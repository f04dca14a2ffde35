//! A sitter polls a task that spawns, wakes, blocks, gives way or ends, while the monitor looks at its seat,
//! and a spare thread takes it, or comes too late for that. The last task stops the runtime. A task that is
//! lost is a deadlock, one that is run twice an assertion, and what is not freed is seen at the end.

use super::*;
use crate::config::{Callback, Config};
use crate::driver::DriverParts;
use crate::scheduler::block_on::block_on;
use crate::scheduler::multi_thread::park_state::SharedDriver;
use crate::scheduler::multi_thread::worker_thread::run_worker;
use crate::stall::StallConfig;
use crate::testing::{Gate, model, no_threads, plain_config, plain_info};
use std::future::{Future, pending, poll_fn};
use std::sync::atomic::AtomicUsize;
use std::task::Poll;
use wakeful_base::sync::thread;

/// A scheduler with one seat, and how often its tasks came to their end.
#[derive(Clone)]
struct Case {
    scheduler: Arc<MultiThread>,
    /// Std's even under loom: what is modelled is the scheduler.
    ends: Arc<AtomicUsize>,
}

impl Case {
    fn new() -> Case {
        Case::with_hook(None)
    }

    /// As [`new`](Self::new), with something to call before a worker sleeps.
    fn with_hook(before_park: Option<Callback>) -> Case {
        let config = Config {
            before_park,
            // A fixed interval: what is measured would not be the same in each run.
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

    /// A task has come to its end; the runtime stops with the last.
    fn end(&self, last: usize) {
        if self.ends.fetch_add(1, SeqCst) + 1 == last {
            self.scheduler.stop();
        }
    }

    /// Takes the seat if its sitter is in its first poll, and sits there until the runtime stops.
    fn try_to_take(&self) -> bool {
        let first = Stuck { progress: 1, since: Instant::now() };
        let taken = self.scheduler.take_over(0, first);
        let is_taken = taken.is_some();
        if let Some(lease) = taken {
            run_with_lease(self.scheduler.clone(), 0, lease);
        }
        is_taken
    }

    /// What the monitor does about a sitter in its first poll: a look, which may share what lies there.
    fn look(&self) -> Option<Inspection> {
        self.scheduler.inspect(0, 1, Duration::ZERO, true)
    }

    /// Runs a worker, and `spare` beside it, until the runtime stops.
    fn run(self, spare: impl FnOnce(&Case), ends: usize) {
        let sits = self.scheduler.clone();
        let worker = thread::spawn(move || run_worker(sits, 0));
        spare(&self);
        worker.join().unwrap();
        assert_eq!(self.ends.load(SeqCst), ends);
        let scheduler = Arc::downgrade(&self.scheduler);
        drop(self);
        assert!(scheduler.upgrade().is_none(), "a cell, or nobody, still has the scheduler");
    }
}

/// A thread that tries to take the seat, once.
fn tries(case: &Case) {
    case.try_to_take();
}

/// A thread that does not give up until the seat is its own.
fn insists(case: &Case) {
    while !case.try_to_take() {
        thread::yield_now();
    }
}

/// The monitor looks, and that is all.
fn looks(case: &Case) {
    case.look();
}

/// The monitor looks, and calls a spare if it finds the sitter in its poll.
fn looks_then_tries(case: &Case) {
    if case.look().is_some() {
        case.try_to_take();
    }
}

#[test]
fn a_task_ends() {
    model(|| {
        let case = Case::new();
        let context = case.clone();
        case.spawn(async move { context.end(1) });
        case.run(tries, 1);
    });
}

#[test]
fn a_task_spawns_another() {
    model(|| {
        let case = Case::new();
        let context = case.clone();
        case.spawn(async move {
            let inner = context.clone();
            context.spawn(async move { inner.end(2) });
            context.end(2);
        });
        case.run(tries, 2);
    });
}

#[test]
fn a_task_wakes_itself() {
    model(|| {
        let (case, mut polls) = (Case::new(), 0);
        let context = case.clone();
        case.spawn(poll_fn(move |cx| {
            polls += 1;
            if polls == 2 {
                context.end(1);
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        case.run(tries, 1);
    });
}

#[test]
fn a_task_gives_way() {
    model(|| {
        let (case, mut polls) = (Case::new(), 0);
        let context = case.clone();
        case.spawn(poll_fn(move |cx| {
            polls += 1;
            if polls == 2 {
                context.end(1);
                return Poll::Ready(());
            }
            wakeful_base::budget::defer(cx.waker());
            Poll::Pending
        }));
        case.run(tries, 1);
    });
}

#[test]
fn a_task_waits_for_one_that_it_spawned() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let context = case.clone();
        case.spawn(async move {
            let opens = gate.clone();
            context.spawn(async move { opens.open() });
            gate.pass().await;
            context.end(1);
        });
        case.run(tries, 1);
    });
}

/// The first task blocks its thread until the second, which lies behind it, has run.
#[test]
fn a_task_blocks_until_another_has_run() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let (context, there, waits) = (case.clone(), case.clone(), gate.clone());
        case.spawn(async move {
            block_on(waits.pass());
            context.end(2);
        });
        case.spawn(async move {
            gate.open();
            there.end(2);
        });
        case.run(insists, 2);
    });
}

/// What is spawned by a task of a runtime that stops is dropped, wherever its thread is.
#[test]
fn the_runtime_stops_during_the_poll() {
    model(|| {
        let case = Case::new();
        let context = case.clone();
        case.spawn(async move {
            context.scheduler.stop();
            context.spawn(pending());
            context.end(0);
            pending().await
        });
        case.run(tries, 1);
    });
}

/// The seat is left, and all else cleared up, while the task still blocks.
#[test]
fn the_runtime_stops_while_a_task_blocks() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let (context, waits) = (case.clone(), gate.clone());
        case.spawn(async move {
            context.scheduler.stop();
            block_on(waits.pass());
            context.end(0);
        });
        case.spawn(pending());
        let takes_then_opens = move |case: &Case| {
            insists(case);
            gate.open();
        };
        case.run(takes_then_opens, 1);
    });
}

/// What the look shares is what the task has just spawned: one of them lies in the last-woken slot.
#[test]
fn the_monitor_looks_while_a_task_spawns() {
    for monitor in [looks, looks_then_tries] {
        model(move || {
            let case = Case::new();
            let context = case.clone();
            case.spawn(async move {
                for _ in 0..2 {
                    let inner = context.clone();
                    context.spawn(async move { inner.end(3) });
                }
                context.end(3);
            });
            case.run(monitor, 3);
        });
    }
}

#[test]
fn the_monitor_looks_while_a_task_gives_way_to_another() {
    for monitor in [looks, looks_then_tries] {
        model(move || {
            let (case, mut polls) = (Case::new(), 0);
            let context = case.clone();
            case.spawn(poll_fn(move |cx| {
                polls += 1;
                if polls == 2 {
                    context.end(2);
                    return Poll::Ready(());
                }
                let inner = context.clone();
                context.spawn(async move { inner.end(2) });
                wakeful_base::budget::defer(cx.waker());
                Poll::Pending
            }));
            case.run(monitor, 2);
        });
    }
}

/// Whatever the look says of the task, it is there to be read.
#[test]
fn the_monitor_looks_while_a_task_ends() {
    model(|| {
        let case = Case::new();
        let (context, id, at) = (case.clone(), Id::next(), Location::caller());
        drop(case.scheduler.spawn(async move { context.end(1) }, id, at));
        case.run(
            |case| {
                if let Some(found) = case.look() {
                    assert_eq!(found.task, Some((id, at)));
                }
            },
            1,
        );
    });
}

/// Calls what it was made with when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The drop of an output blocks until the next task has run, which takes another thread on the seat.
#[test]
fn the_output_of_a_task_blocks_until_another_has_run() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let (context, there, waits) = (case.clone(), case.clone(), gate.clone());
        let output = OnDrop(move || {
            block_on(waits.clone().pass());
            context.end(2);
        });
        drop(case.scheduler.spawn(async move { output }, Id::next(), Location::caller()));
        case.spawn(async move {
            gate.open();
            there.end(2);
        });
        case.run(insists, 2);
    });
}

/// The runtime is cleared up while the output of a task is still being dropped.
#[test]
fn the_runtime_stops_while_an_output_blocks() {
    model(|| {
        let (case, gate) = (Case::new(), Gate::new());
        let (context, waits) = (case.clone(), gate.clone());
        let output = OnDrop(move || {
            context.scheduler.stop();
            block_on(waits.clone().pass());
            context.end(0);
        });
        drop(case.scheduler.spawn(async move { output }, Id::next(), Location::caller()));
        case.spawn(pending());
        let takes_then_opens = move |case: &Case| {
            insists(case);
            gate.open();
        };
        case.run(takes_then_opens, 1);
    });
}

/// A callback blocks until a task has run.
#[test]
fn a_callback_blocks_until_a_task_has_run() {
    model(|| {
        let (gate, begun) = (Gate::new(), Gate::new());
        let (waits, begins) = (gate.clone(), begun.clone());
        let case = Case::with_hook(Some(Arc::new(move || {
            begins.open();
            block_on(waits.clone().pass());
        })));
        let context = case.clone();
        let spawns_then_takes = move |case: &Case| {
            block_on(begun.pass());
            case.spawn(async move {
                gate.open();
                context.end(1);
            });
            let stuck = Stuck { progress: 0, since: Instant::now() };
            let taken =
                case.scheduler.take_over(0, stuck).expect("the callback waits for the task");
            run_with_lease(case.scheduler.clone(), 0, taken);
        };
        case.run(spawns_then_takes, 1);
    });
}
