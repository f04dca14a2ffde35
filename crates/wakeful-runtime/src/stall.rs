//! Polls that stand still: what is said of them, to whom, and on which thread that is found out.

mod metrics;
mod monitor_alarm;
mod monitor_thread;
mod os_thread;
mod pinned_thread;
mod report;
mod reporter;
mod stall_state;

use std::fmt;
use std::panic::Location;
use std::time::Duration;
use wakeful_task::Id;

pub(crate) use metrics::StallMetrics;
pub(crate) use monitor_thread::MonitorThread;
pub(crate) use os_thread::OsThreadId;
pub(crate) use pinned_thread::{PinnedMonitor, run_future, run_task};
pub(crate) use report::StallConfig;
pub(crate) use reporter::StallReporter;
pub(crate) use stall_state::StallState;

/// A task whose poll has not returned for a while, so that its thread serves no other.
///
/// Or it has ended, and the drop of its output takes that long, or the waker of who joins it. Or it is no
/// task but one of the runtime's callbacks.
///
/// It prints as one line, which says all that is known.
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

/// What a thread does not come back from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stalled {
    Task(Id, &'static Location<'static>),
    /// The future of a `block_on`.
    Future,
    /// A callback of the runtime's, or a foreign waker.
    Callback,
}

/// What becomes of the other tasks of a worker that stands still.
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
    /// Another thread goes on with them.
    HandedOff,
    /// There are none that somebody would have to see to.
    NothingWaits,
    /// They wait: there is no thread for them. `max_blocking_threads` says how many there may be, and the
    /// operating system may have a limit of its own.
    NoThread,
    /// They wait: the runtime was told not to hand them on, or is of a kind that cannot, or so many tasks
    /// compute for long that one more thread would be of no use.
    Waits,
}

impl Stall {
    /// The task; none for the future of a `block_on`, and for callbacks.
    pub fn task_id(&self) -> Option<Id> {
        match self.what {
            Stalled::Task(id, _) => Some(id),
            Stalled::Future | Stalled::Callback => None,
        }
    }

    /// Where the task was spawned.
    pub fn spawned_at(&self) -> Option<&'static Location<'static>> {
        match self.what {
            Stalled::Task(_, at) => Some(at),
            Stalled::Future | Stalled::Callback => None,
        }
    }

    /// The worker whose thread it holds, which is zero for a current-thread runtime. None if it holds a
    /// thread that is in `block_on` of a runtime with workers: with a `LocalSet`, that is.
    pub fn worker(&self) -> Option<usize> {
        self.worker
    }

    /// For how long the poll has lasted, at least.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// What becomes of the other tasks.
    pub fn outcome(&self) -> StallOutcome {
        self.outcome
    }

    /// What the operating system says of the thread: its number, and which system call it is in, if any.
    ///
    /// Not its stack. That can be had from outside by the number: with `gdb -p`, for one.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            Stalled::Task(task, at) => write!(f, "task {task}, spawned at {at},")?,
            Stalled::Future => f.write_str("the future of a `block_on`")?,
            Stalled::Callback => f.write_str("a callback of the runtime's, or a waker,")?,
        }
        match self.worker {
            Some(worker) => write!(f, " has held worker {worker}")?,
            None => f.write_str(" has held its thread")?,
        }
        // Not as a float: to print one is 20 KB of code, in every program.
        let tenths = self.duration.as_micros() as u64 / 100;
        write!(f, " for {}.{} ms", tenths / 10, tenths % 10)?;
        if let Some(thread) = &self.thread {
            write!(f, " ({thread})")?;
        }
        f.write_str(match self.outcome {
            StallOutcome::HandedOff => "; another thread goes on with the rest",
            StallOutcome::NothingWaits => "; nothing waits behind it",
            StallOutcome::NoThread => {
                "; the rest waits, since there is no thread for it (`max_blocking_threads` is one limit)"
            }
            StallOutcome::Waits => "; the rest waits",
        })
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
