//! A future that waits for a moment in time, written three ways.
//!
//! Whoever returns `Pending` owes a wake-up: some time later, when it is worth asking again, the
//! waker of the context has to be called. The three differ in how they pay:
//!
//! - [`busy`]: at once, every time;
//! - [`per_poll`]: by a thread that sleeps and then wakes, one for each poll;
//! - [`latest_waker`]: by one thread, which wakes whoever polled *last*.
//!
//! Between the last two lies a trap, [`first_waker`]: one thread, which wakes whoever polled first.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use crate::timeline::Timeline;
use clock::Clock;
use tasks::{Spawner, Tasks};

mod busy;
mod clock;
mod first_waker;
mod latest_waker;
mod per_poll;
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
}
