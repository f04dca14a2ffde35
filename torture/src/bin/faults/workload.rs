//! The workload of each case: a bit of everything that programs do with a runtime.
//!
//! Each operation checks its own results: "works" means that the results were right.

mod background;
mod files;
mod processes;
mod sockets;
mod tasks;
mod threads;

pub use background::Background;

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use wakeful::runtime::{Builder, Runtime};

/// The kinds of runtime that each case runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    CurrentThread,
    /// With two workers.
    MultiThread,
}

impl Flavour {
    pub const ALL: [Flavour; 2] = [Flavour::CurrentThread, Flavour::MultiThread];

    pub fn name(self) -> &'static str {
        match self {
            Flavour::CurrentThread => "current-thread",
            Flavour::MultiThread => "multi-thread",
        }
    }

    pub fn build(self) -> io::Result<Runtime> {
        match self {
            Flavour::CurrentThread => Builder::new_current_thread().enable_all().build(),
            Flavour::MultiThread => {
                Builder::new_multi_thread().worker_threads(2).enable_all().build()
            }
        }
    }
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Works,
    /// The call that failed, and its error.
    Error(String),
    Panic(String),
}

/// A part of the workload.
pub struct Operation {
    pub name: &'static str,
    run: fn(&Site<'_>) -> Result<(), String>,
    /// Whether it also runs on a current-thread runtime.
    everywhere: bool,
}

/// Where operations run.
pub struct Site<'a> {
    pub runtime: &'a Runtime,
    /// A folder that the case may write to.
    pub folder: PathBuf,
}

impl Site<'_> {
    /// Runs `future` as a task and waits for it.
    fn in_a_task<F>(&self, future: F) -> Result<(), String>
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        match self.runtime.block_on(async { wakeful::spawn(future).await }) {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(format!("the task was cancelled: {error}")),
        }
    }
}

pub const OPERATIONS: &[Operation] = &[
    Operation { name: "spawn", run: tasks::spawn, everywhere: true },
    Operation { name: "timers", run: tasks::timers, everywhere: true },
    Operation { name: "channels", run: tasks::channels, everywhere: true },
    Operation { name: "tcp", run: sockets::tcp, everywhere: true },
    Operation { name: "udp", run: sockets::udp, everywhere: true },
    Operation { name: "unix", run: sockets::unix, everywhere: true },
    Operation { name: "pipe", run: sockets::pipe, everywhere: true },
    Operation { name: "fs", run: files::files, everywhere: true },
    Operation { name: "spawn_blocking", run: threads::spawn_blocking, everywhere: true },
    Operation { name: "block_in_place", run: threads::block_in_place, everywhere: false },
    Operation { name: "block", run: threads::block, everywhere: true },
    Operation { name: "hand-off", run: threads::hand_off, everywhere: false },
    Operation { name: "hand-off again", run: threads::hand_off, everywhere: false },
    Operation { name: "signal", run: processes::signal, everywhere: true },
    Operation { name: "process", run: processes::process, everywhere: true },
    Operation { name: "new runtime", run: threads::new_runtime, everywhere: true },
];

impl Operation {
    pub fn is_for(&self, flavour: Flavour) -> bool {
        self.everywhere || flavour == Flavour::MultiThread
    }

    pub fn run(&self, site: &Site<'_>) -> Outcome {
        outcome_of(|| (self.run)(site))
    }
}

/// Calls `f` and catches a panic.
pub fn outcome_of(f: impl FnOnce() -> Result<(), String>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => Outcome::Works,
        Ok(Err(why)) => Outcome::Error(why),
        Err(payload) => {
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            Outcome::Panic(text.unwrap_or_else(|| "(no text)".to_owned()))
        }
    }
}

/// Adds the name of the failed call to an error.
trait At<T> {
    fn at(self, call: &str) -> Result<T, String>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, call: &str) -> Result<T, String> {
        self.map_err(|error| format!("`{call}`: {error}"))
    }
}

/// Returns an error unless the two values are equal.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("WRONG {what}: {found:?} , expected {wanted:?}"))
    }
}
