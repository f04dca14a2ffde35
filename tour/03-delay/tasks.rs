//! Just enough of an executor to have two tasks: a queue of those that were woken. Steps 4 to 7 say
//! how to come to it.
//!
//! Only wakers and spawners can put a task into the queue. Once they are all gone nothing can
//! happen any more, the queue says so, and `run` returns. A task without a waker is dropped, done
//! or not.
//!
//! 刚好够跑两个任务的执行器：一个装着被唤醒任务的队列。怎么一步步做成，见第 4 到第 7 步。能把任务放
//! 进队列的，只有 waker 和 spawn 的一方。它们都没了，就再也不会有事发生，队列会说出来，`run` 于是返
//! 回。没有 waker 的任务，不管做完没有，都会被丢弃。

use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

use crate::timeline::{Timeline, thread_name};

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Tasks {
    woken: Receiver<Arc<Task>>,
    spawner: Spawner,
}

/// Starts new tasks.
#[derive(Clone)]
pub(super) struct Spawner {
    queue: Sender<Arc<Task>>,
    timeline: Timeline,
}

struct Task {
    name: &'static str,
    /// None when it is done.
    future: Mutex<Option<BoxFuture>>,
    spawner: Spawner,
}

impl Tasks {
    pub(super) fn new(timeline: &Timeline) -> Tasks {
        let (queue, woken) = mpsc::channel();
        Tasks { woken, spawner: Spawner { queue, timeline: timeline.clone() } }
    }

    pub(super) fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    /// Polls the tasks in the queue now, and those that come into it meanwhile.
    #[cfg(test)]
    pub(super) fn run_queued(&self) {
        self.woken.try_iter().for_each(Task::run);
    }

    /// Polls woken tasks, until no task can be woken any more.
    pub(super) fn run(self) {
        drop(self.spawner);
        self.woken.iter().for_each(Task::run);
    }
}

impl Spawner {
    pub(super) fn spawn(
        &self,
        name: &'static str,
        future: impl Future<Output = ()> + Send + 'static,
    ) {
        let future = Box::pin(self.timeline.trace(name, future)) as BoxFuture;
        let task = Task { name, future: Mutex::new(Some(future)), spawner: self.clone() };
        // Fails when the receiver is gone; then the task is dropped like all the others.
        let _ = self.queue.send(Arc::new(task));
    }
}

impl Task {
    fn run(self: Arc<Task>) {
        let waker = Waker::from(self.clone());
        let mut future = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *future {
            Some(pending) => {
                if pending.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    *future = None;
                }
            }
            None => self.spawner.timeline.note(self.name, "is done already; not polled"),
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        self.spawner.timeline.woken(self.name, &thread_name());
        let queue = self.spawner.queue.clone();
        let _ = queue.send(self);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let future = self.future.get_mut().unwrap_or_else(PoisonError::into_inner);
        if future.is_some() {
            self.spawner.timeline.note(self.name, "dropped half-done: no waker of it is left");
        }
    }
}
