//! A future that waits for a moment in time, written three ways.
//!
//! A future that returns `Pending` owes a wake-up: some time later, when it is worth asking again,
//! the waker of the context has to be called. The three differ in how they pay:
//!
//! - [`busy`]: at once, every time;
//! - [`per_poll`]: by a thread that sleeps and then wakes, one for each poll;
//! - [`latest_waker`]: by one thread, which wakes the task that polled *last*.
//!
//! Two traps lie on the way: [`first_waker`], one thread that wakes the task that polled first, and
//! [`clock_first`], which gets the order of two lines wrong.
//!
//! 等待某一时刻的 future，三种写法。谁返回 `Pending`，谁就欠一次唤醒：等到值得再问的时候，必须调用
//! context 里的 waker。三种写法的区别在于怎么还：[`busy`] 每次当场还；[`per_poll`] 每次 poll 派一个
//! 线程，睡够了再来唤醒；[`latest_waker`] 只派一个线程，唤醒*最近*一次来轮询的任务。路上有两个陷
//! 阱：[`first_waker`] 只认得第一个任务，[`clock_first`] 把两行代码的先后写反了。

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::timeline::{Event, Timeline};
use clock::Clock;
use tasks::{Spawner, Tasks};

mod busy;
mod clock;
mod clock_first;
mod first_waker;
mod latest_waker;
mod per_poll;
#[cfg(test)]
mod solutions;
mod tasks;
#[cfg(test)]
mod tests;

/// What all the delays need: when they are due, by which clock, and where to note what they do.
#[derive(Clone)]
struct Alarm {
    due: Duration,
    clock: Clock,
    timeline: Timeline,
}

impl Alarm {
    fn after(delay: Duration, clock: &Clock, timeline: &Timeline) -> Alarm {
        Alarm { due: clock.now() + delay, clock: clock.clone(), timeline: timeline.clone() }
    }

    fn is_due(&self) -> bool {
        self.clock.now() >= self.due
    }

    /// Calls `ring` when it is due, on a thread of its own.
    fn start_thread(&self, ring: impl FnOnce() + Send + 'static) {
        self.timeline.note("delay", "starts a thread");
        let alarm = self.clone();
        let thread = std::thread::Builder::new().name("timer".to_owned());
        let sleep_and_ring = move || {
            alarm.clock.sleep_until(alarm.due);
            alarm.timeline.fired("alarm");
            ring();
        };
        thread.spawn(sleep_and_ring).expect("a thread can be started");
    }
}

/// A delay that is polled more often than it has to be: its task waits for something else as well,
/// which keeps coming.
async fn polled_thrice<D: Future<Output = ()> + Unpin>(mut delay: D) {
    let mut polls = 0;
    poll_fn(|cx| {
        polls += 1;
        if polls < 3 {
            // The something else: it is there again at once.
            cx.waker().wake_by_ref();
        }
        Pin::new(&mut delay).poll(cx)
    })
    .await
}

/// A delay that is polled once in this task, and then moves to another one, to be awaited there.
async fn moves_on<D>(delay: D, spawner: Spawner)
where
    D: Future<Output = ()> + Unpin + Send + 'static,
{
    let mut delay = Some(delay);
    poll_fn(move |cx| {
        let mut delay = delay.take().expect("it is ready after its first poll");
        // Pending, for sure; what matters is that the delay has seen this task's waker.
        let _ = Pin::new(&mut delay).poll(cx);
        spawner.spawn("second", delay);
        Poll::Ready(())
    })
    .await
}

/// A waker that reports each call, so that another thread can wait for it.
struct Reporter(Sender<()>);

impl Wake for Reporter {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// A delay that moves from one task to another, and is due at the worst moment: the second task's
/// poll has looked at the clock, but has not returned yet. Returns whether that task is woken.
fn due_during_the_poll<D>(timeline: &Timeline, make: fn(Alarm) -> D) -> bool
where
    D: Future<Output = ()> + Unpin,
{
    const DELAY: Duration = Duration::from_secs(60);

    let (report, reported) = mpsc::channel();
    let reporter = Waker::from(Arc::new(Reporter(report)));
    let [first, second] = ["first", "second"].map(|name| timeline.trace_waker(name, &reporter));
    let wake_ups = || timeline.count("second", &Event::Woken("timer".to_owned()));
    let before = wake_ups();
    let clock = Clock::by_hand();
    let mut delay = timeline.trace("delay", make(Alarm::after(DELAY, &clock, timeline)));
    let mut poll = |waker: &Waker| Pin::new(&mut delay).poll(&mut Context::from_waker(waker));

    assert!(poll(&first).is_pending(), "the clock stands still");
    let hands = clock.clone();
    clock.after_next_look(move || {
        hands.turn_to(DELAY);
        reported.recv().expect("the thread wakes one of the two");
    });
    assert!(poll(&second).is_pending(), "it has looked before the hands were turned");

    let is_woken = wake_ups() > before;
    let fate = if is_woken {
        "was woken, and will be polled again"
    } else {
        "waits for a wake-up that went to the first task"
    };
    timeline.note("second", fate);
    is_woken
}

/// Runs one task, which `make` makes, and all that it spawns.
fn run_task<F>(timeline: &Timeline, make: impl FnOnce(Spawner) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let tasks = Tasks::new(timeline);
    let future = make(tasks.spawner());
    tasks.spawner().spawn("first", future);
    tasks.run();
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    let clock = Clock::real();
    let alarm = || Alarm::after(Duration::from_millis(3), &clock, timeline);

    timeline.scene("Busy: it wakes itself, again and again");
    run_task(timeline, |_| timeline.trace("delay", busy::Delay::new(alarm())));
    timeline.scene("A thread for each poll");
    run_task(timeline, |_| polled_thrice(timeline.trace("delay", per_poll::Delay::new(alarm()))));
    timeline.scene("One thread, which knows the first waker: moved to another task, it is lost");
    run_task(timeline, |spawner| {
        moves_on(timeline.trace("delay", first_waker::Delay::new(alarm())), spawner)
    });
    timeline.scene("One thread, which knows the latest waker");
    run_task(timeline, |spawner| {
        moves_on(timeline.trace("delay", latest_waker::Delay::new(alarm())), spawner)
    });
    timeline.scene("Wrong: first the clock, then the waker; the moment passes in between");
    due_during_the_poll(timeline, clock_first::Delay::new);
    timeline.scene("The same moment: first the waker, then the clock");
    due_during_the_poll(timeline, latest_waker::Delay::new);
}
