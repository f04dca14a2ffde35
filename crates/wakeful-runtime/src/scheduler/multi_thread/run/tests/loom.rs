//! Models of a real worker, without the pool's threads. A task that is left behind, or a stop that
//! the worker does not notice, is a deadlock, which loom reports. Two workers have too many states:
//! the models of `idle` and `queue` cover how workers interact.

use crate::config::Config;
use crate::driver::DriverParts;
use crate::scheduler::multi_thread::MultiThread;
use crate::scheduler::multi_thread::park_state::SharedDriver;
use crate::scheduler::multi_thread::worker_thread::run_worker;
use crate::testing::{Gate, large_model, no_threads, plain_config, plain_info};
use std::future::Future;
use std::panic::Location;
use std::sync::{Arc, Weak};
use wakeful_base::sync::thread;
use wakeful_task::{Id, JoinHandle};

/// A scheduler with one worker, and the thread that runs the worker.
struct OneWorker {
    scheduler: Arc<MultiThread>,
    thread: thread::JoinHandle<()>,
}

impl OneWorker {
    fn start() -> OneWorker {
        // A fixed interval: a measured one would differ between runs of the model.
        let config = Config { global_queue_interval: Some(61), ..plain_config() };
        let parts = DriverParts::new(None).unwrap();
        let info = plain_info(&parts);
        let driver = SharedDriver::new(parts.driver, parts.waker);
        let scheduler = MultiThread::new(1, config, no_threads(), info, driver);
        let for_thread = scheduler.clone();
        OneWorker { scheduler, thread: thread::spawn(move || run_worker(for_thread, 0)) }
    }

    #[track_caller]
    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.scheduler.spawn(future, Id::next(), Location::caller())
    }

    /// Stops the worker. Returns a reference to the scheduler, which must be gone once all wakers
    /// are.
    fn stop(self) -> Weak<MultiThread> {
        self.scheduler.stop();
        self.thread.join().unwrap();
        Arc::downgrade(&self.scheduler)
    }
}

#[test]
fn a_task_spawned_on_another_thread_is_run() {
    large_model(|| {
        let worker = OneWorker::start();
        let task = worker.spawn(async { 1 });
        assert_eq!(wakeful_base::block_on(task).unwrap(), 1);
        assert!(worker.stop().upgrade().is_none());
    });
}

#[test]
fn a_task_woken_on_another_thread_is_polled() {
    large_model(|| {
        let (worker, gate) = (OneWorker::start(), Gate::new());
        let task = worker.spawn(gate.clone().pass());
        gate.open();
        wakeful_base::block_on(task).unwrap();
        assert!(worker.stop().upgrade().is_none());
    });
}

#[test]
fn a_stop_races_with_a_wake() {
    large_model(|| {
        let (worker, gate) = (OneWorker::start(), Gate::new());
        drop(worker.spawn(gate.clone().pass()));
        let opens = gate.clone();
        let other = thread::spawn(move || opens.open());
        let scheduler = worker.stop();
        other.join().unwrap();
        drop(gate);
        assert!(scheduler.upgrade().is_none());
    });
}
