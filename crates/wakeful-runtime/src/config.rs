//! The settings of a runtime, as the builder passes them to the schedulers and the thread pool.

use crate::metrics::{HistogramConfig, WorkerMetrics};
use crate::stall::StallConfig;
use crate::task_meta::TaskMeta;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wakeful_base::catch_panic::contain_panic;
use wakeful_task::{Header, Polled, Runnable, recording};

pub(crate) type Callback = Arc<dyn Fn() + Send + Sync>;
pub(crate) type TaskCallback = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

/// How the threads of a runtime get their names.
#[derive(Clone)]
pub(crate) enum ThreadNaming {
    Fixed(String),
    /// Called for each thread.
    Function(Arc<dyn Fn() -> String + Send + Sync>),
}

/// What a runtime or a `LocalSet` does when a task panics.
///
/// It is set by [`Builder::unhandled_panic`](crate::runtime::Builder::unhandled_panic) and
/// [`LocalSet::unhandled_panic`](crate::task::LocalSet::unhandled_panic).
///
/// ```
/// use wakeful::runtime::{Builder, UnhandledPanic};
///
/// let runtime = Builder::new_current_thread()
///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
///     .build()?;
/// let outcome = std::panic::catch_unwind(|| {
///     runtime.block_on(async {
///         wakeful::spawn(async { panic!("this task is not joined") });
///         std::future::pending::<()>().await
///     })
/// });
/// assert!(outcome.is_err()); // with `Ignore`, `block_on` would never return
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// The task's `JoinHandle` returns the panic as an error; the runtime continues.
    Ignore,
    /// The runtime shuts down immediately, and `block_on` panics.
    ///
    /// A multi-thread runtime does not support this.
    ShutdownRuntime,
}

/// The settings that the schedulers read while they run.
pub(crate) struct Config {
    /// `None` leaves the interval to the scheduler.
    pub global_queue_interval: Option<u32>,
    pub event_interval: u32,
    pub lifo_slot: bool,
    pub unhandled_panic: UnhandledPanic,
    pub before_park: Option<Callback>,
    pub after_unpark: Option<Callback>,
    pub hooks: TaskHooks,
    pub histograms: HistogramConfig,
    /// What schedule latencies are measured from, if they are.
    pub schedule_epoch: Option<Instant>,
    pub stall: StallConfig,
}

impl Config {
    /// Notes whether there is more to do for polls and spawns, for all runtimes of the process.
    pub(crate) fn announce(&self) {
        let TaskHooks { spawn, before_poll, after_poll, .. } = &self.hooks;
        let has_hooks = spawn.is_some() || before_poll.is_some() || after_poll.is_some();
        if has_hooks || self.histograms.poll_times.is_some() || self.schedule_epoch.is_some() {
            recording::note_hooks();
        }
    }

    /// Records a new task if that is on, prepares it for [`note_scheduled`](Self::note_scheduled),
    /// and calls the hook for it.
    ///
    /// No other thread may have a reference to the task yet.
    #[cold]
    pub(crate) fn observe_spawn(&self, runnable: &Runnable) {
        runnable.record_spawn();
        if self.schedule_epoch.is_some() {
            runnable.keep_times();
            self.note_scheduled(runnable);
        }
        call_for(&self.hooks.spawn, runnable);
    }

    /// Notes that a task is scheduled now, if schedule latencies are measured. The calling thread
    /// holds the task's queue entry.
    #[inline]
    pub(crate) fn note_scheduled(&self, task: &Header) {
        if let Some(epoch) = self.schedule_epoch {
            note_scheduled_since(epoch, task);
        }
    }

    /// Polls a task by `poll`. Calls the hooks before and after, and adds to the histograms.
    #[cold]
    pub(crate) fn observe_poll(
        &self,
        metrics: &WorkerMetrics,
        runnable: Runnable,
        poll: impl FnOnce(Runnable) -> Polled,
    ) -> Polled {
        let latency = self.schedule_epoch.and_then(|epoch| {
            let scheduled_at = Duration::from_nanos(runnable.scheduled_at_ns()?);
            Some(epoch.elapsed().saturating_sub(scheduled_at))
        });
        if let (Some(latency), Some(latencies)) = (latency, &metrics.schedule_latencies) {
            latencies.add(latency);
        }
        call_for_poll(&self.hooks.before_poll, &runnable, latency);
        let polled = match &metrics.poll_times {
            None => poll(runnable),
            Some(times) => {
                let begun = Instant::now();
                let polled = poll(runnable);
                times.add(begun.elapsed());
                polled
            }
        };
        // SAFETY: `polled` holds the scheduler's reference to the task, whether the task is pending
        // or has ended.
        call_for_poll(&self.hooks.after_poll, unsafe { polled.task().as_ref() }, latency);
        polled
    }
}

#[cold]
fn note_scheduled_since(epoch: Instant, task: &Header) {
    task.note_scheduled(epoch.elapsed().as_nanos() as u64);
}

/// The callbacks at certain points of every task's life.
#[derive(Clone, Default)]
pub(crate) struct TaskHooks {
    pub spawn: Option<TaskCallback>,
    pub before_poll: Option<TaskCallback>,
    pub after_poll: Option<TaskCallback>,
    pub terminate: Option<TaskCallback>,
}

/// Calls a hook, if it is set.
///
/// A panic in the hook is caught after the panic hook has reported it: the calling thread has other
/// work to do and may hold a task that would be lost.
#[inline]
pub(crate) fn call(hook: &Option<Callback>) {
    if let Some(hook) = hook {
        contain_panic(|| hook());
    }
}

/// Calls a hook with a view of `task`, as [`call`].
#[inline]
pub(crate) fn call_for(hook: &Option<TaskCallback>, task: &Header) {
    call_for_poll(hook, task, None);
}

#[inline]
fn call_for_poll(hook: &Option<TaskCallback>, task: &Header, latency: Option<Duration>) {
    if let Some(hook) = hook {
        contain_panic(|| hook(&TaskMeta::new(task, latency)));
    }
}

/// The settings of the blocking pool's threads.
pub(crate) struct ThreadConfig {
    /// The limit on threads, including those that run as workers.
    pub threads_max: usize,
    pub keep_alive: Duration,
    pub stack_size: Option<usize>,
    pub naming: ThreadNaming,
    pub on_start: Option<Callback>,
    pub on_stop: Option<Callback>,
}
