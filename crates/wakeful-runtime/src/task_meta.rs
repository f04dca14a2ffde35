//! `TaskMeta`: what the task callbacks of a runtime learn about a task.

use std::marker::PhantomData;
use std::panic::Location;
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
    _borrowed: PhantomData<&'a ()>,
}

impl TaskMeta<'_> {
    pub(crate) fn new(task: &Header) -> TaskMeta<'_> {
        TaskMeta { id: task.id(), spawned_at: task.spawned_at(), _borrowed: PhantomData }
    }

    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the source location where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }
}
