//! Models of `block_on` while other threads wake tasks, spawn tasks, wait for the core or shut the
//! scheduler down. A lost wake-up is a deadlock, which loom reports.

use super::*;
use crate::driver::DriverParts;
use crate::testing::{Gate, block_on, model, no_threads, plain_config, plain_info};
use std::sync::Weak;
use std::sync::atomic::AtomicUsize;
use wakeful_base::sync::thread;

fn scheduler() -> Arc<CurrentThread> {
    let driver = DriverParts::new(None).unwrap();
    let info = plain_info(&driver);
    new(plain_config(), no_threads(), info, driver, None)
}

/// Counts drops, with an atomic of std, which is no part of the model.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[track_caller]
fn spawn<F>(scheduler: &Arc<CurrentThread>, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    scheduler.spawn(future, Id::next(), Location::caller())
}

/// Shuts the scheduler down, and checks that no reference to it is left.
fn shut_down(scheduler: Arc<CurrentThread>) {
    scheduler.shutdown();
    let weak: Weak<CurrentThread> = Arc::downgrade(&scheduler);
    drop(scheduler);
    assert!(weak.upgrade().is_none(), "a reference to the scheduler is left");
}

#[test]
fn waking_the_root_future_races_with_parking() {
    model(|| {
        let (scheduler, gate) = (scheduler(), Gate::new());
        let opens = gate.clone();
        let other = thread::spawn(move || opens.open());
        block_on(&scheduler, gate.pass());
        other.join().unwrap();
        shut_down(scheduler);
    });
}

#[test]
fn waking_a_task_races_with_parking() {
    model(|| {
        let (scheduler, gate) = (scheduler(), Gate::new());
        let opens = gate.clone();
        let task = spawn(&scheduler, gate.pass());
        let other = thread::spawn(move || opens.open());
        block_on(&scheduler, task).unwrap();
        other.join().unwrap();
        shut_down(scheduler);
    });
}

#[test]
fn a_task_spawned_on_another_thread_is_run() {
    model(|| {
        let (scheduler, gate) = (scheduler(), Gate::new());
        let (spawns, opens) = (scheduler.clone(), gate.clone());
        let other = thread::spawn(move || drop(spawn(&spawns, async move { opens.open() })));
        block_on(&scheduler, gate.pass());
        other.join().unwrap();
        shut_down(scheduler);
    });
}

#[test]
fn a_second_block_on_takes_over_the_core() {
    model(|| {
        let scheduler = scheduler();
        let second = scheduler.clone();
        let other = thread::spawn(move || {
            let task = spawn(&second, async { 2 });
            block_on(&second, task).unwrap()
        });
        let task = spawn(&scheduler, async { 1 });
        assert_eq!(block_on(&scheduler, task).unwrap(), 1);
        assert_eq!(other.join().unwrap(), 2);
        shut_down(scheduler);
    });
}

#[test]
fn a_wake_and_a_spawn_race_with_shutdown() {
    model(|| {
        let (scheduler, gate) = (scheduler(), Gate::new());
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = [(); 2].map(|()| Counted(dropped.clone()));
        let [waits, late] = counted;
        let passes = gate.clone().pass();
        drop(spawn(&scheduler, async move {
            let _waits = waits;
            passes.await;
        }));
        // Polls the task once, after which it waits.
        block_on(&scheduler, crate::task::yield_now());
        let spawns = scheduler.clone();
        let others = [
            thread::spawn(move || gate.open()),
            thread::spawn(move || {
                drop(spawn(&spawns, async move { drop(late) }));
                drop(spawns);
            }),
        ];
        scheduler.shutdown();
        for other in others {
            other.join().unwrap();
        }
        shut_down(scheduler);
        assert_eq!(dropped.load(SeqCst), 2);
    });
}
