//! One queue, and threads that take tasks out of it.
//!
//! A task can now be woken by one thread while another one polls it. Where it stands is therefore
//! one value, behind one lock, and every thread that does something with the task goes through it:
//!
//! ```text
//!               start                    not done
//!    ┌──▶ Queued ──────▶ Running ─────────────────────────▶ Waiting ──┐
//!    │                   │ │  │                                       │
//!    │     not done, but │ │  └─▶ Done (it returned, or panicked)     │
//!    ├── woken meanwhile ┘ └────▶ woken = true                        │
//!    │                      wake                                      │
//!    └────────────────────────────────── wake ────────────────────────┘
//! ```
//!
//! 一个队列，几个从中取任务的线程。现在，一个线程正在轮询的任务，可能被另一个线程唤醒。所以任务处在
//! 什么阶段，就是一个值，由一把锁保护；谁要对任务做什么，都得经过它（见上图）。

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle};

use crate::panics;
use crate::timeline::{Timeline, thread_name};

/// Work that takes several goes. It returns whether it is done; if not, it has kept a clone of the
/// waker somewhere, from where it will be called when it is time for the next go.
pub type Job = Box<dyn FnMut(&Waker) -> bool + Send>;

/// A job, and where it stands.
pub struct Task {
    id: u64,
    name: String,
    stage: Mutex<Stage>,
    queue: Arc<GlobalQueue>,
    timeline: Timeline,
}

/// Where a task stands, and its job, unless a worker has that in hand.
enum Stage {
    /// It has an entry in the queue: exactly one.
    Queued(Job),
    /// A worker is running it. If it is woken meanwhile, it must run again.
    Running { is_woken: bool },
    /// It waits to be woken.
    Waiting(Job),
    /// It has ended, or must. Waking it does nothing.
    Done,
}

impl Task {
    /// Has the task run soon: the only thing that a waker does.
    fn schedule(self: &Arc<Self>) {
        let mut stage = lock(&self.stage);
        match mem::replace(&mut *stage, Stage::Done) {
            Stage::Waiting(job) => {
                *stage = Stage::Queued(job);
                drop(stage);
                self.queue.push(self.clone());
            }
            // Whatever woke us, the run that is under way may have looked too early to see it.
            Stage::Running { .. } => *stage = Stage::Running { is_woken: true },
            nothing_to_do => *stage = nothing_to_do,
        }
    }

    /// Runs the job once. The caller has taken the task's entry out of the queue.
    fn run(self: Arc<Self>) {
        let running = Stage::Running { is_woken: false };
        let Stage::Queued(mut job) = mem::replace(&mut *lock(&self.stage), running) else {
            unreachable!("a task that is in the queue is queued");
        };

        self.timeline.polled(&self.name);
        let waker = Waker::from(self.clone());
        let result = panics::catch(move || {
            let is_done = job(&waker);
            // If it is done it is dropped in here, so that its destructors may panic as well.
            (!is_done).then_some(job)
        });
        match result {
            Ok(Some(job)) => {
                self.timeline.pending(&self.name);
                self.put_back(job);
            }
            Ok(None) => {
                self.timeline.ready(&self.name, &());
                self.end(|tally| &mut tally.completed);
            }
            Err(text) => {
                self.timeline.panicked(&self.name, &text);
                self.end(|tally| &mut tally.panicked);
            }
        }
    }

    /// After a run that did not finish the job.
    fn put_back(self: Arc<Self>, job: Job) {
        let mut stage = lock(&self.stage);
        match *stage {
            Stage::Running { is_woken: true } => {
                *stage = Stage::Queued(job);
                drop(stage);
                let queue = self.queue.clone();
                queue.push(self);
            }
            Stage::Running { is_woken: false } => *stage = Stage::Waiting(job),
            // The executor has closed meanwhile.
            _ => {
                drop(stage);
                discard(job);
            }
        }
    }

    fn end(&self, counter: fn(&mut Tally) -> &mut usize) {
        *lock(&self.stage) = Stage::Done;
        self.queue.count_ended(self.id, counter);
    }

    /// Ends a task that no worker will run any more.
    fn abandon(&self) {
        let stage = mem::replace(&mut *lock(&self.stage), Stage::Done);
        if let Stage::Queued(job) | Stage::Waiting(job) = stage {
            discard(job);
        }
        self.queue.count_ended(self.id, |tally| &mut tally.abandoned);
    }
}

/// Drops a job, whatever its destructors do.
fn discard(job: Job) {
    // No caller is left that could be told of a panic.
    let _ = panics::catch(|| drop(job));
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.timeline.woken(&self.name, &thread_name());
        self.schedule();
    }
}

/// The last waker is gone, and the task is in no queue. So it can never run again.
impl Drop for Task {
    fn drop(&mut self) {
        if !matches!(*lock(&self.stage), Stage::Done) {
            self.timeline
                .note(&self.name, "no waker is left that could wake it: dropped, unfinished");
            self.abandon();
        }
    }
}

/// The tasks that are ready, for all workers.
struct GlobalQueue {
    state: Mutex<QueueState>,
    /// Told when there is a task to take, or when there will be none any more.
    is_filled: Condvar,
    /// Told when the last task has ended.
    is_quiet: Condvar,
}

#[derive(Default)]
struct QueueState {
    tasks: VecDeque<Arc<Task>>,
    is_closed: bool,
    /// Tasks that have not ended, by id. Weak: here they are only to be found when the executor
    /// closes; it is wakers and queue entries that keep them alive.
    live: HashMap<u64, Weak<Task>>,
    spawned: u64,
    tally: Tally,
}

/// How tasks ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// They were done.
    pub completed: usize,
    /// They panicked.
    pub panicked: usize,
    /// They were dropped before they were done.
    pub abandoned: usize,
}

impl GlobalQueue {
    fn push(&self, task: Arc<Task>) {
        let refused = {
            let mut state = lock(&self.state);
            if state.is_closed {
                Some(task)
            } else {
                state.tasks.push_back(task);
                // One task, one worker. To wake them all for it would be a stampede.
                self.is_filled.notify_one();
                None
            }
        };
        // Not under the lock: when a task is dropped, so is a job, and it may wake others.
        drop(refused);
    }

    /// Sleeps until there is a task. None: the executor is closing.
    fn pop(&self) -> Option<Arc<Task>> {
        let is_to_wait = |state: &mut QueueState| state.tasks.is_empty() && !state.is_closed;
        let state = self.is_filled.wait_while(lock(&self.state), is_to_wait);
        state.unwrap_or_else(PoisonError::into_inner).tasks.pop_front()
    }

    fn close(&self) {
        let left = {
            let mut state = lock(&self.state);
            state.is_closed = true;
            mem::take(&mut state.tasks)
        };
        self.is_filled.notify_all();
        drop(left);
    }

    /// Ends those that still wait. Their wakers may be kept for a long time, by a timer that is set
    /// to an hour; what the tasks own should not be.
    fn abandon_all(&self) {
        let live: Vec<_> = lock(&self.state).live.values().cloned().collect();
        for task in live.iter().filter_map(Weak::upgrade) {
            task.abandon();
        }
    }

    fn count_ended(&self, id: u64, counter: fn(&mut Tally) -> &mut usize) {
        let mut state = lock(&self.state);
        // Not there if it was abandoned while it was running, and ends now.
        if state.live.remove(&id).is_some() {
            *counter(&mut state.tally) += 1;
        }
        if state.live.is_empty() {
            self.is_quiet.notify_all();
        }
    }
}

/// The executor: a queue and its workers.
pub struct Executor {
    queue: Arc<GlobalQueue>,
    workers: Vec<JoinHandle<()>>,
    timeline: Timeline,
}

impl Executor {
    /// Starts `workers` threads.
    pub fn start(timeline: &Timeline, workers: usize) -> io::Result<Executor> {
        let queue = Arc::new(GlobalQueue {
            state: Mutex::default(),
            is_filled: Condvar::new(),
            is_quiet: Condvar::new(),
        });
        // Made first: should the third thread fail to start, its drop ends the two that did.
        let mut executor = Executor { queue, workers: Vec::new(), timeline: timeline.clone() };
        for number in 1..=workers {
            let queue = executor.queue.clone();
            let worker = thread::Builder::new().name(format!("worker {number}"));
            let worker = worker.spawn(move || {
                while let Some(task) = queue.pop() {
                    task.run();
                }
            })?;
            executor.workers.push(worker);
        }
        Ok(executor)
    }

    /// Makes a task of a job.
    pub fn spawn_job(&self, name: &str, job: Job) {
        let mut state = lock(&self.queue.state);
        state.spawned += 1;
        let task = Arc::new(Task {
            id: state.spawned,
            name: name.to_owned(),
            // It waits for its first wake-up, which comes from us.
            stage: Mutex::new(Stage::Waiting(job)),
            queue: self.queue.clone(),
            timeline: self.timeline.clone(),
        });
        state.live.insert(task.id, Arc::downgrade(&task));
        drop(state);
        task.schedule();
    }

    /// Waits until all tasks have ended, then for the workers.
    pub fn finish(self) -> Tally {
        let queue = self.queue.clone();
        let is_busy = |state: &mut QueueState| !state.live.is_empty();
        drop(queue.is_quiet.wait_while(lock(&queue.state), is_busy));
        drop(self);
        lock(&queue.state).tally
    }
}

/// Does not wait for tasks: each worker ends with the run that it is in, and all that is left then
/// is dropped.
impl Drop for Executor {
    fn drop(&mut self) {
        self.queue.close();
        for worker in self.workers.drain(..) {
            // A task may own its executor. No thread can wait for its own end.
            if worker.thread().id() != thread::current().id() {
                // Panics of tasks are caught, and a worker has none of its own.
                let _ = worker.join();
            }
        }
        self.queue.abandon_all();
    }
}

/// No lock of this file is held while foreign code runs, so none is ever poisoned half-way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
