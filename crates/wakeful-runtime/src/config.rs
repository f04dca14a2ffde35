//! What a runtime was asked to be.

use crate::stall::StallConfig;
use crate::task_meta::TaskMeta;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::catch_panic::contain_panic;
use wakeful_task::Header;

pub(crate) type Callback = Arc<dyn Fn() + Send + Sync>;
pub(crate) type TaskCallback = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;
pub(crate) type OsThreadId = Arc<dyn Fn() -> String + Send + Sync>;

/// What a runtime does when a task panics.
///
/// ```
/// use wakeful::runtime::{Builder, UnhandledPanic};
///
/// let runtime = Builder::new_current_thread()
///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
///     .build()?;
/// let outcome = std::panic::catch_unwind(|| {
///     runtime.block_on(async {
///         wakeful::spawn(async { panic!("nobody joins this task") });
///         std::future::pending::<()>().await
///     })
/// });
/// assert!(outcome.is_err()); // instead of waiting for ever
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// The panic goes to whoever joins the task, and nobody else notices.
    Ignore,
    /// The runtime shuts down at once, and `block_on` panics. Only for a current-thread runtime.
    ShutdownRuntime,
}

/// Settings that the schedulers read while they run.
pub(crate) struct Config {
    /// None: the scheduler's own choice.
    pub global_queue_interval: Option<u32>,
    pub event_interval: u32,
    pub lifo_slot: bool,
    pub unhandled_panic: UnhandledPanic,
    pub before_park: Option<Callback>,
    pub after_unpark: Option<Callback>,
    pub hooks: TaskHooks,
    pub stall: StallConfig,
}

/// Calls to make at certain points of every task's life.
#[derive(Clone, Default)]
pub(crate) struct TaskHooks {
    pub spawn: Option<TaskCallback>,
    pub before_poll: Option<TaskCallback>,
    pub after_poll: Option<TaskCallback>,
    pub terminate: Option<TaskCallback>,
}

/// Calls a hook, if there is one. A panic in it, once reported, goes no further: the thread that
/// calls has more to do, and may have a task in its hands.
#[inline]
pub(crate) fn call(hook: &Option<Callback>) {
    if let Some(hook) = hook {
        contain_panic(|| hook());
    }
}

/// As [`call`], for a hook that is told of `task`.
#[inline]
pub(crate) fn call_for(hook: &Option<TaskCallback>, task: &Header) {
    if let Some(hook) = hook {
        contain_panic(|| hook(&TaskMeta::new(task)));
    }
}

/// Settings of the blocking pool's threads.
pub(crate) struct ThreadConfig {
    /// Workers included.
    pub threads_max: usize,
    pub keep_alive: Duration,
    pub stack_size: Option<usize>,
    pub name: OsThreadId,
    pub on_start: Option<Callback>,
    pub on_stop: Option<Callback>,
}
