//! A task tells another that something has happened, and a delay is built on that.
//!
//! [`Notify`] keeps wakers, so that its users need not know what a waker is. What makes it safe to
//! use is one bit, the permit; [`Bell`] does without, and loses wake-ups.
//!
//! 一个任务通知另一个任务有事发生，delay 就建立在这上面。[`Notify`] 替使用者保管 waker，使用者不必
//! 知道 waker 是什么。让它用起来安全的，是一个比特：许可。[`Bell`] 没有许可，就会丢失唤醒。

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::block_on::block_on;
use crate::timeline::Timeline;

mod bell;
mod notify;

#[cfg(test)]
mod solutions;
#[cfg(test)]
mod tests;

use bell::Bell;
use notify::Notify;

/// Waits for `length`, without a word about wakers or polls.
async fn delay(length: Duration, timeline: &Timeline) {
    let notify = Arc::new(Notify::default());
    let (tells, record) = (notify.clone(), timeline.clone());
    let _alarm = Alarm::set(length, move || {
        record.fired("delay");
        tells.notify_one();
    })
    .expect("the alarm's thread starts");
    timeline.armed("delay", length);
    // The thread may be faster than we are, and notify before we get here. The permit waits for us.
    notify.notified().await;
}

/// A thread that sleeps and then does something, unless this is dropped before.
struct Alarm {
    /// Never used to send: when it is dropped, the thread notices.
    cancel: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Alarm {
    fn set(length: Duration, act: impl FnOnce() + Send + 'static) -> io::Result<Alarm> {
        let (cancel, is_cancelled) = mpsc::channel::<Infallible>();
        let thread = thread::Builder::new().name("alarm".to_owned()).spawn(move || {
            // Sleeps to the end, unless the other half is dropped.
            if is_cancelled.recv_timeout(length) == Err(RecvTimeoutError::Timeout) {
                act();
            }
        })?;
        Ok(Alarm { cancel: Some(cancel), thread: Some(thread) })
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        drop(self.cancel.take());
        let thread = self.thread.take().expect("it is taken only here");
        // What it does may drop us, as in step 8.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }
}

/// Polls once, with a waker that is on the record.
fn ask(timeline: &Timeline, who: &str, future: impl Future<Output = ()>) -> Poll<()> {
    let waker = timeline.trace_waker(who, Waker::noop());
    pin!(timeline.trace(who, future)).poll(&mut Context::from_waker(&waker))
}

/// The news comes first, and the task that waits for it second.
fn too_early(timeline: &Timeline) {
    let bell = Bell::default();
    timeline.note("bell", "is rung, and no task waits");
    bell.ring();
    let _ = ask(timeline, "listener", bell.rung());
    timeline.note("listener", "would wait forever");

    let notify = Notify::default();
    timeline.note("notify", "notifies, and no task waits: a permit is left");
    notify.notify_one();
    let _ = ask(timeline, "waiter", notify.notified());
    timeline.note("waiter", "found the permit");
}

/// A notification reaches a task, even if the first one that got it was dropped.
fn passed_on(timeline: &Timeline) {
    let notify = Notify::default();
    let mut first = Box::pin(timeline.trace("first", notify.notified()));
    let mut second = Box::pin(timeline.trace("second", notify.notified()));
    let (of_first, of_second) = (
        timeline.trace_waker("first", Waker::noop()),
        timeline.trace_waker("second", Waker::noop()),
    );
    let _ = first.as_mut().poll(&mut Context::from_waker(&of_first));
    let _ = second.as_mut().poll(&mut Context::from_waker(&of_second));
    notify.notify_one();
    timeline.note("first", "is dropped before it is polled again");
    drop(first);
    let _ = second.as_mut().poll(&mut Context::from_waker(&of_second));
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("News that comes before any task waits for it");
    too_early(timeline);
    timeline.scene("A delay made of a thread and a Notify");
    block_on(timeline, "main", delay(Duration::from_millis(10), timeline));
    timeline.scene("A notification that is passed on");
    passed_on(timeline);
}
