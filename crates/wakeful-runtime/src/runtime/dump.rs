//! What the tasks of a runtime wait for: [`Census`] and [`Dump`].

use super::Handle;
use crate::census::{self, Ask, Hang, Observer};
use crate::console::{self, DUMP_GAP};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;
use wakeful_base::call_now;
use wakeful_base::catch_panic::abort_on_unwind;
use wakeful_base::threads::{self, ThreadRole};
use wakeful_base::waiting::Stack;
use wakeful_task::Id;

#[cfg(feature = "taskdump")]
mod trace;

#[cfg(feature = "taskdump")]
pub use trace::{Backtrace, BacktraceFrame, BacktraceSymbol, Root};
#[cfg(feature = "taskdump")]
pub use wakeful_base::budget::trace::{TraceMeta, trace_with};

/// What the tasks of a runtime wait for, as [`Handle::census`] found it.
///
/// `Display` prints it, and what hangs and why.
///
/// ```
/// use wakeful::runtime::{Handle, Runtime};
///
/// # Runtime::new().unwrap().block_on(async {
/// let (_tx, rx) = wakeful::sync::oneshot::channel::<()>();
/// let task = wakeful::spawn(rx);
/// let census = Handle::current().census().await;
/// let waits = census.tasks().find(|waits| waits.id() == task.id()).unwrap();
/// assert_eq!(waits.waits_for(), Some("the value of a oneshot channel"));
/// assert_eq!(waits.spawned_at().file(), file!());
/// println!("{census}");
/// # });
/// ```
pub struct Census {
    hangs: Vec<Hang>,
    tasks: Vec<TaskState>,
    text: String,
}

/// One task of a [`Census`].
///
/// ```
/// use wakeful::runtime::{Handle, Runtime, TaskState};
///
/// # Runtime::new().unwrap().block_on(async {
/// let task = wakeful::spawn(std::future::pending::<()>());
/// let census = Handle::current().census().await;
/// let state: &TaskState = census.tasks().find(|state| state.id() == task.id()).unwrap();
/// assert_eq!(state.waits_for(), Some("something unknown"));
/// println!("spawned at {}, unchanged for {:?}", state.spawned_at(), state.unchanged_for());
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct TaskState {
    id: Id,
    spawned_at: &'static Location<'static>,
    type_name: &'static str,
    waits_for: Option<&'static str>,
    unchanged_for: Duration,
}

impl Census {
    /// Returns what hangs: certain hangs first.
    pub fn hangs(&self) -> &[Hang] {
        &self.hangs
    }

    /// Returns the tasks that have waited before, in the order of their ids.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskState> {
        self.tasks.iter()
    }
}

impl TaskState {
    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// Returns the name of the future's type.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// Returns what the future that the task polled last waits for, or `None` if the task is queued
    /// or running.
    pub fn waits_for(&self) -> Option<&'static str> {
        self.waits_for
    }

    /// Returns how long the task has been seen without a poll.
    pub fn unchanged_for(&self) -> Duration {
        self.unchanged_for
    }
}

/// Where the tasks of a runtime wait, as [`Handle::dump`] found it.
///
/// `Display` prints it, and what hangs and why.
///
/// ```
/// use wakeful::runtime::{Dump, Handle, Runtime, Task, Tasks, Trace};
///
/// # Runtime::new().unwrap().block_on(async {
/// let waits = wakeful::spawn(wakeful::time::sleep(std::time::Duration::from_secs(60)));
/// let dump: Dump = Handle::current().dump().await;
/// let tasks: &Tasks = dump.tasks();
/// let task: &Task = tasks.iter().find(|task| task.id() == waits.id()).unwrap();
/// let trace: &Trace = task.trace();
/// assert!(trace.to_string().contains("a point in time"));
/// assert!(dump.hangs().is_empty());
/// # });
/// ```
pub struct Dump {
    hangs: Vec<Hang>,
    tasks: Tasks,
    text: String,
}

/// The tasks of a [`Dump`].
///
/// ```
/// use wakeful::runtime::{Dump, Handle, Runtime, Task, Tasks, Trace};
///
/// # Runtime::new().unwrap().block_on(async {
/// let waits = wakeful::spawn(wakeful::time::sleep(std::time::Duration::from_secs(60)));
/// let dump: Dump = Handle::current().dump().await;
/// let tasks: &Tasks = dump.tasks();
/// let task: &Task = tasks.iter().find(|task| task.id() == waits.id()).unwrap();
/// let trace: &Trace = task.trace();
/// assert!(trace.to_string().contains("a point in time"));
/// assert!(dump.hangs().is_empty());
/// # });
/// ```
#[derive(Debug)]
pub struct Tasks {
    tasks: Vec<Task>,
}

/// One task of a [`Dump`].
///
/// ```
/// use wakeful::runtime::{Dump, Handle, Runtime, Task, Tasks, Trace};
///
/// # Runtime::new().unwrap().block_on(async {
/// let waits = wakeful::spawn(wakeful::time::sleep(std::time::Duration::from_secs(60)));
/// let dump: Dump = Handle::current().dump().await;
/// let tasks: &Tasks = dump.tasks();
/// let task: &Task = tasks.iter().find(|task| task.id() == waits.id()).unwrap();
/// let trace: &Trace = task.trace();
/// assert!(trace.to_string().contains("a point in time"));
/// assert!(dump.hangs().is_empty());
/// # });
/// ```
#[derive(Debug)]
pub struct Task {
    id: Id,
    trace: Trace,
}

/// The places where a task waits, innermost call first. `Display` prints them.
///
/// ```
/// use wakeful::runtime::{Dump, Handle, Runtime, Task, Tasks, Trace};
///
/// # Runtime::new().unwrap().block_on(async {
/// let waits = wakeful::spawn(wakeful::time::sleep(std::time::Duration::from_secs(60)));
/// let dump: Dump = Handle::current().dump().await;
/// let tasks: &Tasks = dump.tasks();
/// let task: &Task = tasks.iter().find(|task| task.id() == waits.id()).unwrap();
/// let trace: &Trace = task.trace();
/// assert!(trace.to_string().contains("a point in time"));
/// assert!(dump.hangs().is_empty());
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Trace {
    /// Empty if it was captured: then it is printed from the stacks.
    text: String,
    #[cfg(feature = "taskdump")]
    stacks: Vec<trace::Addresses>,
}

impl Dump {
    /// Returns what hangs: certain hangs first.
    pub fn hangs(&self) -> &[Hang] {
        &self.hangs
    }

    /// Returns the tasks that have said where they wait.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Tasks {
    /// Returns the tasks, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter()
    }
}

impl Task {
    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns where the task waits.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

impl Trace {
    fn new(text: String, _stacks: &[Stack]) -> Trace {
        Trace {
            text,
            #[cfg(feature = "taskdump")]
            stacks: _stacks.iter().map(|stack| stack.addresses()).collect(),
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "taskdump")]
        if self.text.is_empty() {
            return f.write_str(&trace::to_text(&self.stacks));
        }
        f.write_str(&self.text)
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Census { hangs, tasks, .. } = self;
        f.debug_struct("Census").field("hangs", hangs).field("tasks", tasks).finish_non_exhaustive()
    }
}

impl fmt::Debug for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dump { hangs, tasks, .. } = self;
        f.debug_struct("Dump").field("hangs", hangs).field("tasks", tasks).finish_non_exhaustive()
    }
}

impl Handle {
    /// Looks at all tasks of the runtime, and returns what each waits for and what hangs.
    ///
    /// Takes about half a second, since what changes meanwhile does not hang. No task is polled for
    /// it: what a task waits for is what it noted in its last poll. [`dump`](Self::dump) knows
    /// more.
    ///
    /// Tasks that have never waited are missing, except for those that are in a queue which
    /// the runtime's threads share.
    pub async fn census(&self) -> Census {
        let dump = self.observe(false).await;
        let tasks = dump.tasks().map(|task| TaskState {
            id: task.id,
            spawned_at: task.spawned_at,
            type_name: task.type_name,
            waits_for: task.waits_for,
            unchanged_for: task.unchanged_for,
        });
        Census { hangs: dump.hangs().to_vec(), tasks: tasks.collect(), text: dump.to_text() }
    }

    /// Looks at all tasks of the runtime, and returns where they wait and what hangs.
    ///
    /// Takes about half a second, like [`census`](Self::census). Then it wakes tasks, at most 16 of
    /// those that were spawned at the same place and wait for the same thing: they are polled as
    /// after any spurious wake-up, and the futures that return `Pending` in that poll say where
    /// they are. To see files and lines, build with debug information
    /// (`debug = "line-tables-only"`).
    ///
    /// ```
    /// use wakeful::runtime::{Handle, Runtime};
    ///
    /// # Runtime::new().unwrap().block_on(async {
    /// let (_tx, rx) = wakeful::sync::oneshot::channel::<()>();
    /// let task = wakeful::spawn(async move { rx.await });
    /// let dump = Handle::current().dump().await;
    /// let waits = dump.tasks().iter().find(|waits| waits.id() == task.id()).unwrap();
    /// println!("task {} waits at\n{}", waits.id(), waits.trace());
    /// # });
    /// ```
    pub async fn dump(&self) -> Dump {
        let dump = self.observe(true).await;
        let text = dump.to_text();
        let tasks = dump.traces().into_iter();
        let tasks = tasks.map(|(id, stacks, text)| Task { id, trace: Trace::new(text, &stacks) });
        let tasks = tasks.collect();
        Dump { hangs: dump.hangs().to_vec(), tasks: Tasks { tasks }, text }
    }

    /// Returns whether the task that this thread polls is asked for a dump, or its poll is traced.
    ///
    /// Tokio's tests call it.
    #[cfg(feature = "taskdump")]
    #[doc(hidden)]
    pub fn is_tracing() -> bool {
        wakeful_base::waiting::is_collecting() || wakeful_base::budget::trace::is_tracing()
    }

    /// Takes a census on a thread of its own: the caller's thread has to answer, too.
    fn observe(&self, asks: bool) -> impl Future<Output = census::Dump> + Send + use<> {
        let scheduler = self.scheduler.clone();
        on_own_thread(Box::new(move || {
            let ask = if asks { Ask::Moving } else { Ask::None };
            census::Dump::new(Observer::new(console::records_from_start()).observe(
                &[scheduler],
                DUMP_GAP,
                ask,
            ))
        }))
    }
}

/// What the thread of a census leaves for the task that waits for it.
struct Answer<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

/// Runs `f` on a new thread, or here if the operating system has none.
fn on_own_thread<T: Send + 'static>(
    f: Box<dyn FnOnce() -> T + Send>,
) -> impl Future<Output = T> + Send {
    fn lock<T>(answer: &Mutex<Answer<T>>) -> std::sync::MutexGuard<'_, Answer<T>> {
        answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    let answer = Arc::new(Mutex::new(Answer { value: None, waker: None }));
    let work = Arc::new(Mutex::new(Some(f)));
    let (gives, takes) = (answer.clone(), work.clone());
    let thread_main: Box<dyn FnOnce() + Send> = Box::new(move || {
        threads::set_role(ThreadRole::Helper, 0);
        let f = takes.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Without a value, the task would wait for good.
        let value = abort_on_unwind("a census", || f.map(|f| f()));
        let mut answer = lock(&gives);
        answer.value = value;
        let waker = answer.waker.take();
        drop(answer);
        if let Some(waker) = waker {
            call_now(waker);
        }
    });
    let started = thread::Builder::new().name("wakeful-census".into()).spawn(thread_main);
    if started.is_err() {
        let f = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        lock(&answer).value = f.map(|f| f());
    }
    poll_fn(move |cx| {
        // Outside the lock: the clone is user code, as is the drop of the waker before.
        let waker = cx.waker().clone();
        let mut answer = lock(&answer);
        if let Some(value) = answer.value.take() {
            return Poll::Ready(value);
        }
        let before = answer.waker.replace(waker);
        drop(answer);
        drop(before);
        Poll::Pending
    })
}
