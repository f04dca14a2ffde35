//! A thread that waits for one future, and another one that waits for time.
//!
//! [`block_on`] is the smallest executor there is: one future, one thread, which sleeps while there
//! is nothing to do. What wakes it is a [`Reactor`], which has a thread of its own.
//!
//! 一个等 future 的线程，和一个等时间的线程。[`block_on`] 是最小的执行器：一个 future，一个线程，没
//! 事就睡。唤醒它的是 [`Reactor`]，它自己另有一个线程。

use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::timeline::{Timeline, thread_name};

mod reactor;

#[cfg(test)]
mod solutions;
#[cfg(test)]
mod tests;

pub use reactor::{Closed, Reactor};

/// What is behind the waker of [`block_on`]: the thread that sleeps in it.
struct Sleeper {
    thread: Thread,
    /// Set by a wake-up, and taken back by the thread when it has noticed.
    is_woken: AtomicBool,
    who: String,
    timeline: Timeline,
}

/// [`Wake`] makes a waker of an `Arc`, as step 5 did by hand.
impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.timeline.woken(&self.who, &thread_name());
        // First the flag: a thread that was unparked has to find it set, or it would park again.
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Polls `future` on this thread until it is done, and sleeps in between.
///
/// The future stays where it is, on this thread's stack. So it need not be `Send`, and may borrow
/// whatever its caller has.
pub fn block_on<F>(timeline: &Timeline, who: &str, future: F) -> F::Output
where
    F: Future<Output: Debug>,
{
    let mut future = pin!(timeline.trace(who, future));
    let sleeper = Arc::new(Sleeper {
        thread: thread::current(),
        is_woken: AtomicBool::new(false),
        who: who.to_owned(),
        timeline: timeline.clone(),
    });
    let waker = Waker::from(sleeper.clone());
    let mut cx = Context::from_waker(&waker);

    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        // `park` on its own would not do. It may return without cause, which costs a poll too many;
        // and whatever the future calls may park this thread for reasons of its own, and use up an
        // `unpark` that was meant for us. That would cost the wake-up. No other code touches the
        // flag.
        while !sleeper.is_woken.swap(false, Ordering::Acquire) {
            timeline.note(who, "nothing to do: the thread parks");
            thread::park();
        }
    }
}

/// Waits for both. It knows only that it was woken, not for which of the two, so it asks each that
/// has not answered yet.
pub async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (Poll::Pending, Poll::Pending);
    poll_fn(|cx| {
        if of_a.is_pending() {
            of_a = a.as_mut().poll(cx);
        }
        if of_b.is_pending() {
            of_b = b.as_mut().poll(cx);
        }
        if of_a.is_pending() || of_b.is_pending() { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    match (of_a, of_b) {
        (Poll::Ready(a), Poll::Ready(b)) => (a, b),
        _ => unreachable!("both were ready"),
    }
}

/// A future that is woken while it is being polled, before its thread has gone to sleep.
async fn woken_early(eats_the_token: bool, timeline: &Timeline) {
    let mut is_first_poll = true;
    poll_fn(|cx| {
        if !is_first_poll {
            return Poll::Ready(());
        }
        is_first_poll = false;
        cx.waker().wake_by_ref();
        if eats_the_token {
            // Returns at once, since the wake-up left a token; `block_on` will find none.
            thread::park();
            timeline.note("main", "has parked by itself, and used up the token");
        }
        Poll::Pending
    })
    .await;
}

/// Both orders of "woken" and "parks" are fine: no wake-up is lost.
fn wake_before_park(timeline: &Timeline) {
    block_on(timeline, "main", woken_early(false, timeline));
    timeline.note("main", "once more, with a future that parks the thread itself");
    block_on(timeline, "main", woken_early(true, timeline));
}

/// Two timers that run at the same time, in one future, on one thread.
fn two_timers(timeline: &Timeline) {
    let reactor = Reactor::start(timeline).expect("the reactor's thread starts");
    let timers = reactor.handle();
    let now = Instant::now();
    let slow = timers.timer_at(now + Duration::from_millis(20));
    let fast = timers.timer_at(now + Duration::from_millis(10));
    let (slow, fast) = (timeline.trace("timer 1", slow), timeline.trace("timer 2", fast));
    let results = block_on(timeline, "main", both(slow, fast));
    assert_eq!(results, (Ok(()), Ok(())), "the reactor is still there");
}

/// A timer whose reactor closes returns an error at once.
fn closing(timeline: &Timeline) {
    let reactor = Reactor::start(timeline).expect("the reactor's thread starts");
    let timers = reactor.handle();
    let late = timeline.trace("timer 1", timers.timer(Duration::from_secs(3600)));
    let closing = async move {
        timeline.note("main", "closes the reactor");
        drop(reactor);
    };
    let (result, ()) = block_on(timeline, "main", both(late, closing));
    assert_eq!(result, Err(Closed), "nobody waited for an hour");
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("Woken before it parks");
    wake_before_park(timeline);
    timeline.scene("Two timers, one future");
    two_timers(timeline);
    timeline.scene("A reactor that closes, an hour too early");
    closing(timeline);
}
