//! Stalls: user code that does not return for a while, and so blocks its thread.
//!
//! The schedulers detect stalls; what they share lives here. The state is [`StallState`], one per
//! runtime. Data flows in one direction:
//!
//! ```text
//!   threads ── what they run ──▶ monitor ──▶ StallReporter ──▶ stderr, `Builder::on_stall`
//!                                   └──────▶ StallMetrics ──▶ `RuntimeMetrics`
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `monitor_thread.rs` | the monitor's thread: how it waits, wakes up and ends |
//! | `monitor_alarm.rs` | the alarm that wakes the monitor if a worker stays awake |
//! | `compute_watch.rs` | tells which threads without a lease still compute |
//! | `look_schedule.rs` | when a look of the monitor comes late |
//! | `poll_watch.rs` | tells polls that compute or block from polls that wait for a CPU |
//! | `pinned_thread.rs` | stalls of threads whose tasks cannot move: they are only reported |
//! | `stall_state.rs` | what a runtime keeps for its stalls; starts the monitor |
//! | `report.rs`, `reporter.rs` | the settings; the thread that calls `on_stall` |
//! | `os_thread.rs` | what the kernel says about a stalled thread |
//! | `recent.rs` | the last stalls, while tasks are recorded |
//! | `metrics.rs` | the counters |
//!
//! How the monitor finds stalled workers, and how a worker is handed off, is in
//! `scheduler/multi_thread/monitor.rs` and `handoff.rs`.

mod compute_watch;
mod look_schedule;
mod metrics;
mod monitor_alarm;
mod monitor_thread;
mod os_thread;
mod pinned_thread;
mod poll_watch;
mod recent;
mod report;
mod reporter;
mod stall_state;

use std::fmt;
use std::panic::Location;
use std::time::Duration;
use wakeful_task::Id;

pub(crate) use compute_watch::ComputeWatch;
pub(crate) use look_schedule::LookSchedule;
pub(crate) use metrics::StallMetrics;
pub(crate) use monitor_thread::MonitorThread;
pub(crate) use os_thread::OsThread;
pub(crate) use pinned_thread::{PinnedMonitor, run_future, run_task};
pub(crate) use poll_watch::PollWatch;
pub(crate) use recent::recent_stalls;
pub(crate) use report::StallConfig;
pub(crate) use reporter::StallReporter;
pub(crate) use stall_state::StallState;

/// A poll that has not returned for `stall_after`, so that its thread can run no other task.
///
/// On Linux, a poll that neither computes nor blocks, because its thread waits for a CPU, is no
/// stall.
///
/// `Builder::on_stall` receives one per stall. Other user code that a worker calls is reported too:
///
/// - the drop of a task's output, and the waker of its `JoinHandle`;
/// - callbacks of the `Builder`, such as `on_thread_park`, and wakers that do not belong to a task
///   of the runtime.
///
/// `Display` prints all fields in one line.
///
/// ```
/// use std::{sync::mpsc, time::Duration};
/// use wakeful::runtime::Builder;
///
/// let (tx, stalls) = mpsc::channel();
/// let runtime = Builder::new_multi_thread()
///     .worker_threads(1)
///     .on_stall(move |stall| _ = tx.send((stall.duration(), stall.to_string())))
///     .build()?;
/// let (release, held) = mpsc::channel::<()>();
/// runtime.spawn(async move { held.recv() }); // blocks
///
/// let (lasted, line) = stalls.recv().unwrap();
/// assert!(lasted >= Duration::from_millis(2));
/// println!("{line}");
/// drop(release);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct Stall {
    pub(crate) what: Stalled,
    pub(crate) worker: Option<usize>,
    pub(crate) duration: Duration,
    pub(crate) outcome: StallOutcome,
    pub(crate) thread: Option<String>,
}

/// The user code that does not return.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stalled {
    Task(Id, &'static Location<'static>),
    /// The future of a `block_on`.
    Future,
    /// A callback of the `Builder`, or a waker that is not a task of the runtime.
    Callback,
}

/// What happens to the other tasks of a stalled worker.
///
/// ```
/// use std::sync::mpsc;
/// use wakeful::runtime::{Builder, StallOutcome};
///
/// let (tx, stalls) = mpsc::channel();
/// let runtime = Builder::new_multi_thread()
///     .worker_threads(1)
///     .on_stall(move |stall| _ = tx.send(stall.outcome()))
///     .build()?;
/// let (release, held) = mpsc::channel::<()>();
/// runtime.spawn(async move { held.recv() }); // blocks
/// match stalls.recv().unwrap() {
///     StallOutcome::HandedOff => println!("the others go on"),
///     StallOutcome::NothingWaits => println!("there are no others"),
///     outcome => println!("they have to wait: {outcome:?}"),
/// }
/// drop(release);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StallOutcome {
    /// Other threads run them: other workers can steal them, or another thread takes over the
    /// worker.
    HandedOff,
    /// No other task needs the worker.
    NothingWaits,
    /// They wait, because there is no spare thread: `max_blocking_threads` are in use, or the
    /// operating system cannot start another thread.
    NoThread,
    /// They wait, because the worker cannot be handed off.
    ///
    /// Hand-off is disabled, the runtime is a current-thread one, the tasks belong to a `LocalSet`,
    /// or so many tasks compute that another thread would get no CPU.
    Waits,
}

impl Stall {
    /// Returns the id of the task, or `None` for the future of a `block_on` and for callbacks.
    pub fn task_id(&self) -> Option<Id> {
        match self.what {
            Stalled::Task(id, _) => Some(id),
            Stalled::Future | Stalled::Callback => None,
        }
    }

    /// Returns the location where the task was spawned, or `None` if no task stalls.
    pub fn spawned_at(&self) -> Option<&'static Location<'static>> {
        match self.what {
            Stalled::Task(_, at) => Some(at),
            Stalled::Future | Stalled::Callback => None,
        }
    }

    /// Returns the index of the blocked worker, which is 0 on a current-thread runtime.
    ///
    /// `None` if the blocked thread runs no worker, but a `LocalSet` in `block_on` of a
    /// multi-thread runtime.
    pub fn worker(&self) -> Option<usize> {
        self.worker
    }

    /// Returns how long the poll had lasted when the stall was reported.
    ///
    /// The poll may have started earlier, and it has not returned yet.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns what happens to the other tasks of the worker.
    pub fn outcome(&self) -> StallOutcome {
        self.outcome
    }

    /// Returns what the operating system says about the thread, or `None` if that cannot be read.
    ///
    /// This is the thread's id, and the system call it is in, if any. The stack is not included; a
    /// debugger shows it: `gdb -p` with the id.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            Stalled::Task(task, at) => write!(f, "task {task}, spawned at {at},")?,
            Stalled::Future => f.write_str("the future of a `block_on`")?,
            Stalled::Callback => f.write_str("a runtime callback or waker")?,
        }
        match self.worker {
            Some(worker) => write!(f, " has blocked worker {worker}")?,
            None => f.write_str(" has blocked its thread")?,
        }
        // Not printed as a float: that code would add much to the size of every program.
        let tenths = self.duration.as_micros() as u64 / 100;
        write!(f, " for {}.{} ms", tenths / 10, tenths % 10)?;
        if let Some(thread) = &self.thread {
            write!(f, " ({thread})")?;
        }
        f.write_str(match self.outcome {
            StallOutcome::HandedOff => "; handed off to another thread",
            StallOutcome::NothingWaits => "; no other task is waiting",
            StallOutcome::NoThread => {
                "; other tasks are blocked: no spare thread (see `max_blocking_threads`)"
            }
            StallOutcome::Waits => "; other tasks are blocked",
        })
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
