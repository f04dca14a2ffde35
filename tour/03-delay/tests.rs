use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::clock::Clock;
use super::tasks::Tasks;
use super::{
    Alarm, busy, clock_first, due_during_the_poll, first_waker, latest_waker, moves_on, per_poll,
    polled_thrice,
};
use crate::timeline::{Event, Timeline};

const DELAY: Duration = Duration::from_secs(60);

/// An alarm that rings when the clock is turned to [`DELAY`].
fn alarm(clock: &Clock, timeline: &Timeline) -> Alarm {
    Alarm::after(DELAY, clock, timeline)
}

/// Says its name when woken.
struct Caller {
    name: &'static str,
    calls: Sender<&'static str>,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        let _ = self.calls.send(self.name);
    }
}

fn callers<const N: usize>(names: [&'static str; N]) -> ([Waker; N], Receiver<&'static str>) {
    let (calls, called) = mpsc::channel();
    (names.map(|name| Arc::new(Caller { name, calls: calls.clone() }).into()), called)
}

fn poll(delay: &mut (impl Future<Output = ()> + Unpin), waker: &Waker) -> Poll<()> {
    Pin::new(delay).poll(&mut Context::from_waker(waker))
}

#[test]
fn a_busy_delay_wakes_at_each_poll_until_it_is_due() {
    let (clock, timeline) = (Clock::by_hand(), Timeline::new());
    let ([waker], called) = callers(["task"]);
    let mut delay = busy::Delay::new(alarm(&clock, &timeline));
    for _ in 0..3 {
        assert!(poll(&mut delay, &waker).is_pending());
        assert_eq!(called.try_recv(), Ok("task"));
    }
    clock.turn_to(DELAY);
    assert!(poll(&mut delay, &waker).is_ready());
    assert!(called.try_recv().is_err(), "what is ready owes nothing");
}

#[test]
fn what_is_due_before_the_first_poll_is_ready_without_a_thread() {
    let (clock, timeline) = (Clock::by_hand(), Timeline::new());
    let ([waker], _called) = callers(["task"]);
    let mut per_poll = per_poll::Delay::new(alarm(&clock, &timeline));
    let mut latest = latest_waker::Delay::new(alarm(&clock, &timeline));
    clock.turn_to(DELAY);
    assert!(poll(&mut per_poll, &waker).is_ready());
    assert!(poll(&mut latest, &waker).is_ready());
    assert!(timeline.story().is_empty(), "{:?}", timeline.story());
}

/// The task that polls three times, its clock turned when it has done so.
fn threads_of_three_polls<D>(make: fn(Alarm) -> D) -> usize
where
    D: Future<Output = ()> + Unpin + Send + 'static,
{
    let (clock, timeline) = (Clock::by_hand(), Timeline::new());
    let tasks = Tasks::new(&timeline);
    tasks.spawner().spawn("first", polled_thrice(make(alarm(&clock, &timeline))));
    tasks.run_queued();
    clock.turn_to(DELAY);
    tasks.run();
    assert!(timeline.story_of("first").contains(&"returned Ready()".to_owned()));
    timeline.story().iter().filter(|line| line.contains("starts a thread")).count()
}

#[test]
fn a_thread_per_poll_is_three_threads_for_one_delay() {
    assert_eq!(threads_of_three_polls(per_poll::Delay::new), 3);
}

#[test]
fn a_thread_that_is_remembered_is_one() {
    assert_eq!(threads_of_three_polls(latest_waker::Delay::new), 1);
}

/// What becomes of the second task, which gets a delay that the first one has polled.
fn fate_of_second<D>(make: fn(Alarm) -> D) -> String
where
    D: Future<Output = ()> + Unpin + Send + 'static,
{
    let (clock, timeline) = (Clock::by_hand(), Timeline::new());
    let tasks = Tasks::new(&timeline);
    let spawner = tasks.spawner();
    tasks.spawner().spawn("first", moves_on(make(alarm(&clock, &timeline)), spawner));
    tasks.run_queued();
    clock.turn_to(DELAY);
    tasks.run();
    assert_eq!(timeline.count("first", &Event::Polled), 1, "the first task is done after one poll");
    timeline.story_of("second").pop().expect("the second task was spawned")
}

#[test]
fn a_delay_that_moves_to_another_task_wakes_that_one() {
    assert_eq!(fate_of_second(busy_until_due), "returned Ready()");
    assert_eq!(fate_of_second(per_poll::Delay::new), "returned Ready()");
    assert_eq!(fate_of_second(latest_waker::Delay::new), "returned Ready()");
}

/// The busy one would spin until the clock is turned, so it gets a clock that turns.
fn busy_until_due(alarm: Alarm) -> busy::Delay {
    let clock = alarm.clock.clone();
    let delay = busy::Delay::new(alarm);
    clock.clone().after_next_look(move || clock.turn_to(DELAY));
    delay
}

#[test]
fn a_delay_that_knows_the_first_waker_only_loses_the_task_it_moves_to() {
    assert_eq!(
        fate_of_second(first_waker::Delay::new),
        "dropped half-done: no waker of it is left"
    );
}

#[test]
fn the_latest_waker_is_woken_and_the_first_one_is_not() {
    let (clock, timeline) = (Clock::by_hand(), Timeline::new());
    let ([one, other], called) = callers(["one", "other"]);
    let mut delay = latest_waker::Delay::new(alarm(&clock, &timeline));
    assert!(poll(&mut delay, &one).is_pending());
    assert!(poll(&mut delay, &other).is_pending());
    clock.turn_to(DELAY);
    assert_eq!(called.recv(), Ok("other"));
    assert!(poll(&mut delay, &other).is_ready());
    drop((one, other, delay));
    assert!(called.recv().is_err(), "no other task was woken, and no waker is left");
}

#[test]
fn a_moment_that_passes_during_the_poll_is_not_missed() {
    assert!(due_during_the_poll(&Timeline::new(), latest_waker::Delay::new));
}

#[test]
fn to_look_at_the_clock_before_the_waker_is_left_loses_the_wake_up() {
    assert!(!due_during_the_poll(&Timeline::new(), clock_first::Delay::new));
}
