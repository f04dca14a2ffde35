//! Where the loads run: a runtime of some flavour, for some time.

use std::future::Future;
use std::io;
use std::time::{Duration, Instant};
use wakeful::runtime::{Builder, LocalOptions};
use wakeful::task::{self, JoinHandle, LocalSet};
use wakeful_torture::rng::Rng;

use crate::sums::{SUMS, What, finding, note};

/// How a runtime runs its tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flavour {
    CurrentThread,
    MultiThread,
    LocalSet,
    LocalRuntime,
}

/// One load's view of where it runs.
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

    /// Whether to go on.
    pub fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    pub fn rng(&mut self) -> Rng {
        self.rng.fork()
    }

    /// Spawns a load, which goes on until the scene ends.
    pub fn part<F>(&mut self, load: impl FnOnce(Scene) -> F) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let part = Scene { rng: self.rng(), ..*self };
        self.spawn(load(part))
    }

    /// Spawns a task that is to be joined by [`join`].
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        SUMS.left(What::Tasks, 1);
        match self.flavour {
            Flavour::CurrentThread | Flavour::MultiThread => task::spawn(future),
            Flavour::LocalSet | Flavour::LocalRuntime => task::spawn_local(future),
        }
    }

    /// Runs `load` on a new runtime, and drops that.
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

/// Waits for a task of [`Scene::spawn`], which may have been aborted, but not have panicked.
pub async fn join(handle: JoinHandle<()>) {
    match handle.await {
        Ok(()) => {}
        Err(error) if error.is_cancelled() => note("tasks aborted"),
        Err(error) => finding(format!("a task ended with {error}")),
    }
    SUMS.right(What::Tasks, 1);
}

/// As [`join`], for all of them.
pub async fn join_all(handles: impl IntoIterator<Item = JoinHandle<()>>) {
    for handle in handles {
        join(handle).await;
    }
}

/// A moment of up to so many microseconds.
pub fn moment(rng: &mut Rng, micros_max: usize) -> Duration {
    Duration::from_micros(rng.below(micros_max) as u64)
}
