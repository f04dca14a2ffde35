//! A queue for all, and threads that take from it.
//!
//! What the steps before had in one thread is spread over several here: the next free worker takes
//! the next task. The executor does not even know futures. It runs closures that take a waker and
//! return whether they are done; a future becomes one in three lines.
//!
//! 一个公用的队列，几个从中取任务的线程。前几步在一个线程里做的事，这里分给了好几个：谁有空，谁取下
//! 一个任务。执行器根本不认识 future，它跑的是“接收 waker、返回是否做完”的闭包；future 只要三行代码
//! 就能变成这样的闭包，简化的 future（[`simple_future`]）也是。

use std::future::poll_fn;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::timeline::Timeline;

mod executor;
mod simple_future;
mod time_future;

#[cfg(any(test, doctest))]
mod solutions;
#[cfg(test)]
mod tests;

use executor::{Executor, Tally};
use simple_future::InTurn;
use time_future::TimeFuture;

impl Executor {
    /// A future is a job: its state is what the closure owns, and `Poll` is the `bool`, with a
    /// better name and a value inside.
    fn spawn(&self, name: &str, future: impl Future<Output = ()> + Send + 'static) {
        let mut future = Box::pin(future);
        self.spawn_job(
            name,
            Box::new(move |waker| future.as_mut().poll(&mut Context::from_waker(waker)).is_ready()),
        );
    }
}

fn executor(timeline: &Timeline, workers: usize) -> Executor {
    Executor::start(timeline, workers).expect("the workers start")
}

fn timer(millis: u64) -> TimeFuture {
    TimeFuture::start(Duration::from_millis(millis)).expect("the timer's thread starts")
}

/// Tasks as `FnMut(&Waker) -> bool`.
fn as_closures(timeline: &Timeline) -> Tally {
    let executor = executor(timeline, 1);
    let mut goes = 0;
    let counts = move |waker: &Waker| {
        goes += 1;
        if goes < 3 {
            // Not done, and ready to go on: let the others have a turn first.
            waker.wake_by_ref();
        }
        goes == 3
    };
    executor.spawn_job("counter", Box::new(counts));
    let timer = timer(5);
    executor.spawn_job("sleeper", Box::new(move |waker| timer.is_over(waker)));
    executor.finish()
}

/// Tasks as simplified futures: `Poll` in place of the `bool`, and a name for the closure's state.
fn as_simple_futures(timeline: &Timeline) -> Tally {
    let executor = executor(timeline, 1);
    executor.spawn_simple("in turn", InTurn::new(vec![timer(5), timer(2)]));
    // Any future that may be moved will do.
    executor.spawn_simple("sleeper", timer(5));
    executor.finish()
}

/// Tasks as futures: the compiler writes the closure, and keeps its state in order.
fn as_futures(timeline: &Timeline) -> Tally {
    let executor = executor(timeline, 2);
    for name in ["a", "b", "c"] {
        let record = timeline.clone();
        executor.spawn(name, async move {
            timer(5).await;
            record.note(name, "half-way");
            timer(5).await;
        });
    }
    executor.finish()
}

/// A wake-up that comes while the task is being polled, from another thread, is not lost.
fn woken_while_running(timeline: &Timeline) -> Tally {
    let executor = executor(timeline, 2);
    let (wakers, inbox) = mpsc::channel::<Waker>();
    let (done, is_done) = mpsc::channel();
    let helper = thread::Builder::new().name("helper".to_owned());
    let helper = helper.spawn(move || {
        inbox.recv().expect("the task sends its waker").wake();
        done.send(()).expect("the task waits for this");
    });
    let mut is_first_poll = true;
    let slow = poll_fn(move |cx| {
        if !is_first_poll {
            return Poll::Ready(());
        }
        is_first_poll = false;
        wakers.send(cx.waker().clone()).expect("the helper waits for it");
        // Never wait like this in a poll. It is done here so that the helper's wake-up comes for
        // certain before the poll returns, as it may do by chance in any program.
        is_done.recv().expect("the helper tells when it has woken us");
        Poll::Pending
    });
    executor.spawn("slow", slow);
    let tally = executor.finish();
    helper.expect("the helper starts").join().expect("the helper does not panic");
    tally
}

/// A worker survives the tasks that it runs.
fn panicking(timeline: &Timeline) -> Tally {
    let executor = executor(timeline, 1);
    executor.spawn("clumsy", async { panic!("dropped the cup") });
    executor.spawn("bystander", async {});
    executor.finish()
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("Tasks as closures, one worker");
    as_closures(timeline);
    timeline.scene("Tasks as simplified futures, one worker");
    as_simple_futures(timeline);
    timeline.scene("Tasks as futures, two workers");
    as_futures(timeline);
    timeline.scene("Woken by another thread while it is being polled");
    woken_while_running(timeline);
    timeline.scene("A task that panics");
    panicking(timeline);
}
