//! A census walks over the tasks of a worker that polls, parks, is taken over, or stops. Loom's
//! cells report two threads in the core at the same time; a task that is freed too early or never
//! shows as an invalid access or a leak.

use super::*;
use crate::config::Config;
use crate::driver::DriverParts;
use crate::scheduler::multi_thread::handoff::Stuck;
use crate::scheduler::multi_thread::park_state::SharedDriver;
use crate::scheduler::multi_thread::worker_thread::{run_with_lease, run_worker};
use crate::stall::StallConfig;
use crate::testing::{Gate, large_model, no_threads, plain_config, plain_info};
use std::future::pending;
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;
use wakeful_base::sync::thread;
use wakeful_task::Id;

fn scheduler() -> Arc<MultiThread> {
    let config = Config {
        // Fixed: an interval that follows measurements would differ from run to run.
        global_queue_interval: Some(61),
        stall: StallConfig { hands_off: true, ..plain_config().stall },
        ..plain_config()
    };
    let parts = DriverParts::new(None).unwrap();
    let info = plain_info(&parts);
    let driver = SharedDriver::new(parts.driver, parts.waker);
    MultiThread::new(1, config, no_threads(), info, driver)
}

/// Makes one attempt at a walk, as a census does whose time is over at once.
fn walk_once(scheduler: &MultiThread) -> Walked {
    scheduler.begin_walk();
    scheduler.advance_walk(true);
    scheduler.finish_walk()
}

fn assert_gone(scheduler: Arc<MultiThread>) {
    let weak = Arc::downgrade(&scheduler);
    drop(scheduler);
    assert!(weak.upgrade().is_none(), "a task cell, or a leak, keeps the scheduler");
}

/// The task waits, is woken, and ends, which stops the runtime, while the census walks.
#[test]
fn a_walk_races_with_a_task_that_waits_and_ends() {
    large_model(|| {
        let (scheduler, gate) = (scheduler(), Gate::new());
        let (in_task, waits) = (scheduler.clone(), gate.clone());
        let task = async move {
            waits.pass().await;
            in_task.stop();
        };
        drop(scheduler.spawn(task, Id::next(), Location::caller()));
        let runs = scheduler.clone();
        let worker = thread::spawn(move || run_worker(runs, 0));
        let walked = walk_once(&scheduler);
        assert!(walked.tasks.windows(2).all(|two| two[0].task() == two[1].task()));
        gate.open();
        drop(walked);
        worker.join().unwrap();
        assert_gone(scheduler);
    });
}

/// A standby thread takes the worker over in the middle of a walk, or comes too late.
#[test]
fn a_walk_races_with_a_hand_off() {
    large_model(|| {
        let scheduler = scheduler();
        let in_task = scheduler.clone();
        let task = async move { in_task.stop() };
        drop(scheduler.spawn(task, Id::next(), Location::caller()));
        let runs = scheduler.clone();
        let worker = thread::spawn(move || run_worker(runs, 0));
        scheduler.begin_walk();
        let stuck = Stuck { progress: 1, since: Instant::now() };
        if let Some(lease) = scheduler.take_over(0, stuck) {
            run_with_lease(scheduler.clone(), 0, lease);
        }
        scheduler.advance_walk(true);
        drop(scheduler.finish_walk());
        worker.join().unwrap();
        assert_gone(scheduler);
    });
}

/// The runtime drops a waiting task while the census may have a reference to it.
#[test]
fn a_walk_races_with_the_shutdown() {
    large_model(|| {
        let scheduler = scheduler();
        drop(scheduler.spawn(pending::<()>(), Id::next(), Location::caller()));
        let runs = scheduler.clone();
        let worker = thread::spawn(move || run_worker(runs, 0));
        scheduler.begin_walk();
        scheduler.stop();
        scheduler.advance_walk(true);
        drop(scheduler.finish_walk());
        worker.join().unwrap();
        assert_gone(scheduler);
    });
}

/// A task that may be in the list is woken and ends in the middle of a walk.
#[test]
fn a_walk_races_with_the_end_of_a_task() {
    large_model(|| {
        let (scheduler, gate) = (scheduler(), Gate::new());
        let waits = gate.clone();
        drop(scheduler.spawn(async move { waits.pass().await }, Id::next(), Location::caller()));
        let runs = scheduler.clone();
        let worker = thread::spawn(move || run_worker(runs, 0));
        scheduler.begin_walk();
        gate.open();
        scheduler.advance_walk(true);
        drop(scheduler.finish_walk());
        scheduler.stop();
        worker.join().unwrap();
        assert_gone(scheduler);
    });
}
