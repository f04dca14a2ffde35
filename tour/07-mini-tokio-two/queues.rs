//! Three queues for tasks that were woken.
//!
//! The sending half is called by wakers: from any thread, at any time, also by the executor's own
//! thread in the middle of a poll. So it must never lose a task, and never wait.
//!
//! 装被唤醒任务的三种队列。发送端由 waker 调用：在任何线程上，在任何时候，也可能在执行器自己的线程
//! 上、在一次轮询的中途。所以它绝不能丢任务，也绝不能等待。

use std::collections::VecDeque;
use std::sync::mpsc::{self, SyncSender, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Task;
use crate::timeline::Timeline;

/// What wakers have of a queue. Sends that come after the executor has ended drop the task.
pub trait TaskSender: Send + Sync {
    /// Adds a task at the end.
    fn send(&self, task: Arc<Task>);
}

/// What the executor has of it.
pub trait TaskReceiver {
    /// Sleeps until there is a task. None: there is no task, and no sender is left that could send
    /// one.
    fn recv(&mut self) -> Option<Arc<Task>>;
}

/// Both ends of a queue. The queue ends with the last clone of the first.
pub type Channel = (Arc<dyn TaskSender>, Box<dyn TaskReceiver>);

/// The channel of the standard library.
pub fn std_mpsc() -> Channel {
    let (sender, receiver) = mpsc::channel();
    (Arc::new(sender), Box::new(receiver))
}

impl TaskSender for mpsc::Sender<Arc<Task>> {
    fn send(&self, task: Arc<Task>) {
        let _ = mpsc::Sender::send(self, task);
    }
}

impl TaskReceiver for mpsc::Receiver<Arc<Task>> {
    fn recv(&mut self) -> Option<Arc<Task>> {
        mpsc::Receiver::recv(self).ok()
    }
}

/// The channel of the crate `crossbeam-channel`. Here it makes no difference. It would if several
/// threads were to receive, as its receiver can be cloned.
pub fn crossbeam() -> Channel {
    let (sender, receiver) = crossbeam_channel::unbounded();
    (Arc::new(sender), Box::new(receiver))
}

impl TaskSender for crossbeam_channel::Sender<Arc<Task>> {
    fn send(&self, task: Arc<Task>) {
        let _ = crossbeam_channel::Sender::send(self, task);
    }
}

impl TaskReceiver for crossbeam_channel::Receiver<Arc<Task>> {
    fn recv(&mut self) -> Option<Arc<Task>> {
        crossbeam_channel::Receiver::recv(self).ok()
    }
}

/// A channel with room for `capacity` tasks, and a list for those that find it full.
///
/// What is a waker to do when the queue is full? If it drops the task, the task never runs again.
/// If it panics, the same. If it waits for room, and it is the executor's thread that wakes, it
/// waits for itself. That leaves a place beside the queue.
pub fn bounded(capacity: usize, timeline: &Timeline) -> Channel {
    assert!(capacity > 0, "a queue that is full while it is empty cannot wake its receiver");
    let (sender, receiver) = mpsc::sync_channel(capacity);
    let overflow = Overflow::default();
    let emptied = EmptyOnDrop(overflow.clone());
    let sender = BoundedSender { channel: sender, overflow, timeline: timeline.clone() };
    (Arc::new(sender), Box::new(BoundedReceiver { channel: receiver, overflow: emptied }))
}

/// Tasks that came when the channel was full, oldest first. Younger than all in the channel.
#[derive(Clone, Default)]
struct Overflow(Arc<Mutex<VecDeque<Arc<Task>>>>);

impl Overflow {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct BoundedSender {
    channel: SyncSender<Arc<Task>>,
    overflow: Overflow,
    timeline: Timeline,
}

struct BoundedReceiver {
    channel: mpsc::Receiver<Arc<Task>>,
    // Below the channel, hence dropped after it: by then nothing new gets in.
    overflow: EmptyOnDrop,
}

/// Tasks in the list have a sender, which has the list. This cuts the cycle.
struct EmptyOnDrop(Overflow);

impl TaskSender for BoundedSender {
    fn send(&self, task: Arc<Task>) {
        let refused = {
            // Held over the attempt too, and that matters. The receiver looks here before it goes
            // to sleep. If the channel is full at this moment, then it has not yet done so since,
            // and will find what we put here.
            let mut overflow = self.overflow.lock();
            // No task overtakes those that wait already.
            let sent = if overflow.is_empty() {
                self.channel.try_send(task)
            } else {
                Err(TrySendError::Full(task))
            };
            match sent {
                Ok(()) => None,
                Err(TrySendError::Full(task)) => {
                    self.timeline.note(&task.name, "finds the queue full, and waits beside it");
                    overflow.push_back(task);
                    None
                }
                Err(TrySendError::Disconnected(task)) => Some(task),
            }
        };
        // Without the lock: a future that is dropped may wake others, and they would come here.
        drop(refused);
    }
}

impl TaskReceiver for BoundedReceiver {
    fn recv(&mut self) -> Option<Arc<Task>> {
        match self.channel.try_recv() {
            Ok(task) => return Some(task),
            Err(TryRecvError::Empty) => {}
            // A task in the list has a sender, so the list is empty too.
            Err(TryRecvError::Disconnected) => return None,
        }
        let waited = self.overflow.0.lock().pop_front();
        waited.or_else(|| self.channel.recv().ok())
    }
}

impl Drop for EmptyOnDrop {
    fn drop(&mut self) {
        let tasks = std::mem::take(&mut *self.0.lock());
        drop(tasks);
    }
}
