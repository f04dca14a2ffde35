//! Loom models: every interleaving, up to a number of preemptions, of operations that can happen at
//! the same time.
//!
//! In addition to what a model asserts, loom finds unordered accesses to the stage, the join waker
//! and the home, and uses of the state word that have not finished when the cell is freed.
//!
//! `RUSTFLAGS="--cfg wakeful_loom" LOOM_MAX_PREEMPTIONS=3 cargo test --release --lib -p
//! wakeful-task loom`

use super::home::{RunResult, TestHome};
use super::probes::{Gate, Tally, Token};
use crate::{JoinHandle, Runnable, TaskRef};
use std::sync::Arc;
use std::task::Waker;
use wakeful_base::sync::thread::JoinHandle as Thread;

mod ending;
mod joining;
mod waking;

fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(f);
}

/// A task that waits at a gate, and a tally of its outputs.
struct Case {
    home: Arc<TestHome>,
    gate: Gate,
    outputs: Tally,
    task: TaskRef,
    join: JoinHandle<Token>,
}

impl Case {
    /// Creates the task with its first entry in the queue.
    fn scheduled() -> Case {
        let (home, gate, outputs) = (TestHome::new(), Gate::default(), Tally::default());
        let (runnable, join) = home.task(gate.then(outputs.token()));
        let task = runnable.into_raw();
        // SAFETY: from `into_raw` just now.
        unsafe { Runnable::from_raw(task) }.schedule();
        Case { home, gate, outputs, task, join }
    }

    /// Creates the task idle, and returns its waker.
    fn idle() -> (Case, Waker) {
        let case = Case::scheduled();
        assert_eq!(case.home.run_one(), RunResult::Idle);
        let waker = case.gate.take_waker();
        (case, waker)
    }

    /// Creates the task with its gate open and an entry in the queue, and returns a waker.
    fn about_to_end() -> (Case, Waker) {
        let (case, waker) = Case::idle();
        case.gate.open();
        waker.wake_by_ref();
        (case, waker)
    }
}

/// Returns how many entries there were, apart from the first one.
fn wakes(home: &TestHome) -> usize {
    home.schedule_calls() - 1
}

fn join_all<const N: usize>(threads: [Thread<()>; N]) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Checks that nothing is left of a task whose handle is gone.
#[track_caller]
fn assert_gone(home: Arc<TestHome>, gate: Gate, outputs: Tally) {
    drop(gate);
    assert_eq!(outputs.dropped(), 1, "the output, or the future with it inside, goes once");
    home.assert_all_freed();
}
