//! The queue between wakers and executor, with epoll to sleep in.
//!
//! Step 7's executor asks for a queue whose receiver sleeps while it is empty. Where it sleeps is
//! up to the queue. This one sleeps in the reactor, so that the thread that polls the tasks is also
//! the one that hears of their sockets.
//!
//! waker 与执行器之间的队列，睡在 epoll 里。第 7 步的执行器要的是一个“空了就睡”的接收端，睡在哪里由
//! 队列决定。这一个睡在 reactor 里，于是轮询任务的线程，也就是得知套接字消息的线程。

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, ThreadId};

use super::reactor::Reactor;
use crate::mini_tokio_two::{Channel, Task, TaskReceiver, TaskSender};

/// The sockets are checked once in this many tasks, even if there is another task to run.
const TASKS_BETWEEN_LOOKS: u32 = 32;

/// A queue whose receiver sleeps in `reactor`.
pub fn sleeping_in(reactor: &Arc<Reactor>) -> Channel {
    let (channel, receiver) = mpsc::channel();
    let sender =
        RingingSender { channel, home: thread::current().id(), bell: RingOnDrop(reactor.clone()) };
    let receiver =
        EpollReceiver { channel: receiver, reactor: reactor.clone(), tasks_since_look: 0 };
    (Arc::new(sender), Box::new(receiver))
}

struct RingingSender {
    channel: Sender<Arc<Task>>,
    /// The thread that receives. The receiver cannot be sent to another one, so that is this one.
    home: ThreadId,
    // Below the channel, hence dropped after it: the bell tells that there is no sender any more.
    bell: RingOnDrop,
}

struct RingOnDrop(Arc<Reactor>);

impl TaskSender for RingingSender {
    fn send(&self, task: Arc<Task>) {
        let _ = self.channel.send(task);
        // At home the receiver is awake, as it is running us; it looks into the channel before it
        // sleeps. From anywhere else, it may be asleep already.
        if thread::current().id() != self.home {
            self.bell.0.ring();
        }
    }
}

impl Drop for RingOnDrop {
    fn drop(&mut self) {
        self.0.ring();
    }
}

struct EpollReceiver {
    channel: Receiver<Arc<Task>>,
    reactor: Arc<Reactor>,
    tasks_since_look: u32,
}

impl TaskReceiver for EpollReceiver {
    fn recv(&mut self) -> Option<Arc<Task>> {
        self.tasks_since_look += 1;
        if self.tasks_since_look == TASKS_BETWEEN_LOOKS {
            self.look(false);
        }
        loop {
            match self.channel.try_recv() {
                Ok(task) => return Some(task),
                Err(TryRecvError::Empty) => self.look(true),
                Err(TryRecvError::Disconnected) => return None,
            }
        }
    }
}

impl EpollReceiver {
    fn look(&mut self, may_sleep: bool) {
        self.tasks_since_look = 0;
        self.reactor.wait(may_sleep).expect("epoll waits, as it is still open");
    }
}
