//! Where and how long a load runs.

use std::future::Future;
use std::io;
use std::time::{Duration, Instant};
use wakeful::runtime::{Builder, LocalOptions};
use wakeful::task::{self, JoinHandle, LocalSet};
use wakeful_torture::rng::Rng;

use crate::sums::{Pair, SUMS, finding, note};

/// The kind of runtime that runs the tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flavour {
    CurrentThread,
    MultiThread,
    LocalSet,
    LocalRuntime,
}

/// The context of a load: its runtime, its end and its random numbers.
#[derive(Clone)]
pub struct Scene {
    pub flavour: Flavour,
    until: Instant,
    rng: Rng,
}

impl Scene {
    pub fn new(flavour: Flavour, time: Duration, seed: u64) -> Scene {
        Scene { flavour, until: Instant::now() + time, rng: Rng::new(seed) }
    }

    /// Returns whether the load should continue.
    pub fn should_continue(&self) -> bool {
        Instant::now() < self.until
    }

    pub fn rng(&mut self) -> Rng {
        self.rng.fork()
    }

    /// Spawns a load that runs until the scene ends.
    pub fn part<F>(&mut self, load: impl FnOnce(Scene) -> F) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let part = Scene { rng: self.rng(), ..*self };
        self.spawn(load(part))
    }

    /// Spawns a task. Join it with [`join`].
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        SUMS.left(Pair::Tasks, 1);
        match self.flavour {
            Flavour::CurrentThread | Flavour::MultiThread => task::spawn(future),
            Flavour::LocalSet | Flavour::LocalRuntime => task::spawn_local(future),
        }
    }

    /// Runs `load` on a new runtime, which is dropped afterwards.
    pub fn run(&self, workers: usize, load: impl Future<Output = ()>) -> io::Result<()> {
        match self.flavour {
            Flavour::CurrentThread => {
                Builder::new_current_thread().enable_all().build()?.block_on(load);
            }
            Flavour::MultiThread => {
                let mut builder = Builder::new_multi_thread();
                builder.enable_all().worker_threads(workers).build()?.block_on(load);
            }
            Flavour::LocalSet => {
                let runtime = Builder::new_multi_thread().enable_all().worker_threads(1).build()?;
                LocalSet::new().block_on(&runtime, load);
            }
            Flavour::LocalRuntime => {
                let mut builder = Builder::new_current_thread();
                builder.enable_all().build_local(LocalOptions::default())?.block_on(load);
            }
        }
        Ok(())
    }
}

/// Waits for a task of [`Scene::spawn`]. The task may be aborted but must not panic.
pub async fn join(handle: JoinHandle<()>) {
    match handle.await {
        Ok(()) => {}
        Err(error) if error.is_cancelled() => note("tasks aborted"),
        Err(error) => finding(format!("a task ended with {error}")),
    }
    SUMS.right(Pair::Tasks, 1);
}

/// Waits for all tasks, as [`join`] does for one.
pub async fn join_all(handles: impl IntoIterator<Item = JoinHandle<()>>) {
    for handle in handles {
        join(handle).await;
    }
}

/// Returns a duration below `micros_max` microseconds.
pub fn moment(rng: &mut Rng, micros_max: usize) -> Duration {
    Duration::from_micros(rng.below(micros_max) as u64)
}
