//! Mini Tokio, second edition: only what was woken is polled.
//!
//! The first one (step 4) asked every future, over and over. Here a task has a waker that knows the
//! way back into a queue, and the executor sleeps until something comes out of that queue. Which
//! queue it is does not matter much; [`queues`] has three.
//!
//! Mini Tokio 第二版：只轮询被唤醒的任务。第一版（第 4 步）把每个 future 问了一遍又一遍。这里的任务
//! 有一个 waker，认得回队列的路；执行器一直睡到队列里有东西出来。用什么队列关系不大，[`queues`] 里
//! 有三种。

use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use crate::block_on::Reactor;
use crate::panics;
use crate::timeline::{Timeline, thread_name};

mod queues;

#[cfg(test)]
mod solutions;
#[cfg(test)]
mod tests;

pub use queues::{Channel, TaskReceiver, TaskSender};

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future, and what it takes to get it polled again.
///
/// The task is its own waker: a waker is an `Arc` of it, and so is an entry in the queue.
pub struct Task {
    name: String,
    /// None while it is being polled, and once it is done. The lock is never contended, as only the
    /// executor's thread opens it; it is here because a waker has to be `Sync`, and the task is
    /// one.
    future: Mutex<Option<BoxFuture>>,
    /// Whether it is in the queue. One entry is enough, however often it is woken.
    is_queued: AtomicBool,
    queue: Arc<dyn TaskSender>,
    timeline: Timeline,
}

/// What came of a turn that a task had.
enum Turn {
    Pending,
    Completed,
    Panicked,
    /// There was no future left to poll.
    Spurious,
}

impl Task {
    /// Puts the task in the queue, unless it is there already.
    fn schedule(self: &Arc<Self>) {
        // Acquire and release: what was done before a wake-up is seen by the poll after it, also
        // when this was the second wake-up, and the first one brought the task in.
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            self.queue.send(self.clone());
        }
    }

    /// Polls the future, if there is still one.
    fn take_turn(self: &Arc<Self>) -> Turn {
        // Before the poll, not after it: a wake-up that comes from here on may bring news that the
        // poll has missed, and must put the task back into the queue.
        self.is_queued.swap(false, Ordering::AcqRel);

        // Wakers may be called at any time, not only while the task is pending. But no future may
        // be polled after `Ready`. So the executor has to remember; here, by having dropped the
        // future.
        let Some(mut future) = self.slot().take() else {
            self.timeline.note(&self.name, "is done; this wake-up came too late");
            return Turn::Spurious;
        };

        self.timeline.polled(&self.name);
        let waker = Waker::from(self.clone());
        let polled = panics::catch(|| {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            match polled {
                Poll::Pending => *self.slot() = Some(future),
                // In here, so that a panic of a destructor is caught as well.
                Poll::Ready(()) => drop(future),
            }
            polled
        });
        match polled {
            Ok(Poll::Pending) => {
                self.timeline.pending(&self.name);
                Turn::Pending
            }
            Ok(Poll::Ready(())) => {
                self.timeline.ready(&self.name, &());
                Turn::Completed
            }
            // The future is gone, since the panic passed it on its way. That is as it should be: it
            // stopped somewhere in the middle, and must never be polled again. Its task is done.
            Err(text) => {
                self.timeline.panicked(&self.name, &text);
                Turn::Panicked
            }
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<BoxFuture>> {
        self.future.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

impl Drop for Task {
    fn drop(&mut self) {
        if self.slot().is_some() {
            self.timeline
                .note(&self.name, "no waker is left that could wake it: dropped, unfinished");
        }
    }
}

/// Puts new tasks in the queue, from wherever one likes.
#[derive(Clone)]
pub struct Spawner {
    queue: Arc<dyn TaskSender>,
    timeline: Timeline,
}

impl Spawner {
    /// Makes a task of `future`.
    pub fn spawn(&self, name: &str, future: impl Future<Output = ()> + Send + 'static) {
        let task = Arc::new(Task {
            name: name.to_owned(),
            future: Mutex::new(Some(Box::pin(future))),
            is_queued: AtomicBool::new(false),
            queue: self.queue.clone(),
            timeline: self.timeline.clone(),
        });
        // A new task counts as woken, or its first poll would never come.
        task.schedule();
    }
}

/// The executor.
pub struct MiniTokio {
    scheduled: Box<dyn TaskReceiver>,
    spawner: Spawner,
}

/// What the executor did until there was nothing left to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Tasks that returned `Ready`.
    pub completed: usize,
    /// Tasks that panicked.
    pub panicked: usize,
    /// Wake-ups of tasks that were done.
    pub spurious: usize,
}

impl MiniTokio {
    /// An executor on the given queue.
    pub fn new(timeline: &Timeline, (queue, scheduled): Channel) -> MiniTokio {
        MiniTokio { scheduled, spawner: Spawner { queue, timeline: timeline.clone() } }
    }

    /// For tasks that start tasks.
    pub fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    /// Polls tasks as they come out of the queue, until none can come any more.
    pub fn run(self) -> Report {
        let MiniTokio { mut scheduled, spawner } = self;
        // Now only tasks and spawners have the queue's sending half, and a task lives for as long
        // as there is a waker of it. When the last is gone, the queue ends, and so does this loop.
        // It need not count tasks.
        drop(spawner);

        let mut report = Report::default();
        while let Some(task) = scheduled.recv() {
            match task.take_turn() {
                Turn::Pending => {}
                Turn::Completed => report.completed += 1,
                Turn::Panicked => report.panicked += 1,
                Turn::Spurious => report.spurious += 1,
            }
        }
        report
    }
}

/// Two tasks that wait for time, and one that starts another: the program for all three queues.
fn same_program(timeline: &Timeline, channel: Channel) -> Report {
    let reactor = Reactor::start(timeline).expect("the reactor's thread starts");
    let mini_tokio = MiniTokio::new(timeline, channel);
    let now = Instant::now();
    for (name, millis) in [("slow", 10), ("fast", 5)] {
        let timer = reactor.handle().timer_at(now + Duration::from_millis(millis));
        mini_tokio.spawner().spawn(name, async { timer.await.expect("the reactor is there") });
    }
    let (spawner, record) = (mini_tokio.spawner(), timeline.clone());
    mini_tokio.spawner().spawn("parent", async move {
        spawner.spawn("child", async move { record.note("child", "says hello") });
    });
    mini_tokio.run()
}

/// A task whose waker survives it.
fn woken_after_ready(timeline: &Timeline) -> Report {
    let mini_tokio = MiniTokio::new(timeline, queues::std_mpsc());
    let left_behind = Arc::new(Mutex::new(None::<Waker>));
    let found = left_behind.clone();
    mini_tokio.spawner().spawn("hasty", async move {
        let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
        *left_behind.lock().expect("no thread panics with it") = Some(waker);
    });
    mini_tokio.spawner().spawn("meddler", async move {
        let waker = found.lock().expect("no thread panics with it").take();
        waker.expect("hasty was first in the queue").wake();
    });
    mini_tokio.run()
}

/// A task that panics, one that forgets its waker, and one that has nothing to do with them.
fn misfortunes(timeline: &Timeline) -> Report {
    let mini_tokio = MiniTokio::new(timeline, queues::std_mpsc());
    mini_tokio.spawner().spawn("clumsy", async { panic!("dropped the cup") });
    mini_tokio.spawner().spawn("forgetful", pending());
    mini_tokio.spawner().spawn("bystander", async {});
    mini_tokio.run()
}

/// **Wrong**, as in well-known tutorials: the executor has a sender of its own queue, and receives
/// until there is no sender any more. Returns what the queue says when all tasks are done: first
/// while the sender is kept, and then when it is not.
fn keeps_a_sender(timeline: &Timeline) -> [Option<TryRecvError>; 2] {
    let (sender, scheduled) = mpsc::channel::<Arc<Task>>();
    let spawner = Spawner { queue: Arc::new(sender), timeline: timeline.clone() };
    spawner.spawn("only", async {});
    for task in scheduled.try_iter() {
        task.take_turn();
    }
    // `recv` in place of `try_recv` would not return: a sender is left, so a task may still come.
    let while_kept = scheduled.try_recv().err();
    timeline.note("executor", "all tasks are done; recv would sleep forever");
    drop(spawner);
    let when_given_up = scheduled.try_recv().err();
    timeline.note("executor", "gave its sender up; recv says that the queue has ended");
    [while_kept, when_given_up]
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("A channel of the standard library");
    same_program(timeline, queues::std_mpsc());
    timeline.scene("The same with crossbeam's");
    same_program(timeline, queues::crossbeam());
    timeline.scene("The same with room for one task");
    same_program(timeline, queues::bounded(1, timeline));
    timeline.scene("Woken after Ready");
    woken_after_ready(timeline);
    timeline.scene("A task that panics, and one that forgets its waker");
    misfortunes(timeline);
    timeline.scene("Wrong: an executor that keeps a sender");
    keeps_a_sender(timeline);
}
