//! A lost waker, seen from inside: a task that waits, and the count of its references.
//!
//! Every waker owns one reference to its task. The executor knows how many references it has itself,
//! here one. So if a task waits and has no other reference, nothing can wake it, whatever the program
//! does. No future has to help with that, and no call of a waker has to be recorded.
//!
//! 从内部看丢失的 waker：一个在等待的任务，和它的引用计数。每个 waker 拥有任务的一个引用，而执行器知道
//! 自己有几个，这里是一个。所以，如果任务在等待，又没有别的引用，那么无论程序做什么，都没有东西能唤醒
//! 它。不需要任何 future 配合，也不需要记录任何一次调用。

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::timeline::{Timeline, thread_name};

/// What a future waits for. It rings once.
#[derive(Default)]
struct Alarm {
    has_rung: bool,
    waker: Option<Waker>,
}

/// Waits for an alarm.
struct WaitsFor {
    alarm: Arc<Mutex<Alarm>>,
    /// The mistake of this page is to be without this.
    keeps_waker: bool,
}

impl Future for WaitsFor {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut alarm = self.alarm.lock().unwrap();
        if alarm.has_rung {
            return Poll::Ready(());
        }
        if self.keeps_waker {
            alarm.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// A task, of which the executor has one reference.
struct Task {
    name: &'static str,
    future: Mutex<WaitsFor>,
    timeline: Timeline,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.timeline.woken(self.name, &thread_name());
    }
}

impl Task {
    fn new(name: &'static str, keeps_waker: bool, timeline: &Timeline) -> Arc<Task> {
        let future = Mutex::new(WaitsFor { alarm: Arc::default(), keeps_waker });
        Arc::new(Task { name, future, timeline: timeline.clone() })
    }

    fn alarm(&self) -> Arc<Mutex<Alarm>> {
        self.future.lock().unwrap().alarm.clone()
    }

    /// Polls the task, and returns whether it still waits. The waker of the poll ends with it.
    fn poll(self: &Arc<Task>) -> bool {
        let waker = Waker::from(self.clone());
        self.timeline.polled(self.name);
        let mut future = self.future.lock().unwrap();
        let is_pending = Pin::new(&mut *future).poll(&mut Context::from_waker(&waker)).is_pending();
        if is_pending {
            self.timeline.pending(self.name);
        } else {
            self.timeline.ready(self.name, &());
        }
        is_pending
    }

    /// The number of wakers of a task that is not being polled: all references but the executor's.
    fn wakers(self: &Arc<Task>) -> usize {
        Arc::strong_count(self) - 1
    }

    /// Says whether the task, which waits, can be woken.
    fn look(self: &Arc<Task>) {
        self.timeline.note(
            self.name,
            match self.wakers() {
                0 => "waits, and no waker of it exists: LOST",
                _ => "waits, and one waker of it exists",
            },
        );
    }
}

/// Three tasks wait for an alarm each. The first keeps its waker there, the second forgets to, and
/// the third keeps it in an alarm that is dropped.
pub(super) fn run(timeline: &Timeline) {
    let anna = Task::new("anna", true, timeline);
    let bert = Task::new("bert", false, timeline);
    let carl = Task::new("carl", true, timeline);
    for task in [&anna, &bert, &carl] {
        if task.poll() {
            task.look();
        }
    }
    timeline.note("carl", "its alarm is dropped, and the waker in it");
    *carl.alarm().lock().unwrap() = Alarm::default();
    carl.look();

    timeline.note("main", "the alarms ring");
    for task in [&anna, &bert] {
        let alarm = task.alarm();
        let mut alarm = alarm.lock().unwrap();
        alarm.has_rung = true;
        if let Some(waker) = alarm.waker.take() {
            waker.wake();
        }
    }
    anna.poll();
    bert.look();
    timeline.note("bert", "polled once more, without a wake-up");
    bert.poll();
}
