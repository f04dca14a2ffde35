//! `TaskMeta`: what the task callbacks of a runtime learn about a task.

use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;
use wakeful_task::{Header, Id};

/// A description of a task, passed to the task callbacks of a [`Builder`](crate::runtime::Builder).
///
/// ```
/// use std::sync::mpsc;
/// use wakeful::runtime::Builder;
///
/// let (tx, rx) = mpsc::channel();
/// let runtime = Builder::new_current_thread()
///     .on_task_spawn(move |task| tx.send((task.id(), task.spawned_at())).unwrap())
///     .build()?;
/// let id = runtime.spawn(async {}).id();
/// let (hooked, spawned_at) = rx.recv().unwrap();
/// assert_eq!((hooked, spawned_at.file()), (id, file!()));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct TaskMeta<'a> {
    id: Id,
    spawned_at: &'static Location<'static>,
    schedule_latency: Option<Duration>,
    _borrowed: PhantomData<&'a ()>,
}

impl TaskMeta<'_> {
    pub(crate) fn new(task: &Header, schedule_latency: Option<Duration>) -> TaskMeta<'_> {
        let (id, spawned_at) = (task.id(), task.spawned_at());
        TaskMeta { id, spawned_at, schedule_latency, _borrowed: PhantomData }
    }

    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the source location where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// Returns how long the task was scheduled before the poll that the callback is called for.
    ///
    /// That is the time since the task was spawned or woken, or yielded, until it is polled. It is
    /// `None` unless the builder has [enabled] it, and in callbacks that do not belong to a poll.
    ///
    /// [enabled]: crate::runtime::Builder::track_task_schedule_latency
    pub fn schedule_latency(&self) -> Option<Duration> {
        self.schedule_latency
    }
}
