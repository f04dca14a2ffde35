use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use super::mini_tokio::{MiniTokio, Tally};
use super::{Delay, cost_of, cpu, two_tasks};
use crate::timeline::{Event, Timeline};

type Log = Rc<RefCell<Vec<&'static str>>>;

/// Is ready at its `polls`th poll, and logs each of them. Calls no waker.
fn countdown(name: &'static str, polls: u32, log: &Log) -> impl Future<Output = ()> + 'static {
    let (mut left, log) = (polls, log.clone());
    poll_fn(move |_| {
        log.borrow_mut().push(name);
        left -= 1;
        if left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
}

#[test]
fn tasks_are_polled_in_turn_until_each_is_done() {
    let log = Log::default();
    let mut tokio = MiniTokio::new();
    tokio.spawn(countdown("a", 3, &log));
    tokio.spawn(countdown("b", 1, &log));
    tokio.spawn(countdown("c", 2, &log));
    assert_eq!(tokio.run(), Tally { polls: 6, done: 3 });
    assert_eq!(*log.borrow(), ["a", "b", "c", "a", "c", "a"]);
}

#[test]
fn nothing_runs_before_run() {
    let log = Log::default();
    let mut tokio = MiniTokio::new();
    tokio.spawn(countdown("a", 1, &log));
    assert!(log.borrow().is_empty());
    tokio.run();
    assert_eq!(*log.borrow(), ["a"]);
}

#[test]
fn no_tasks_are_done_at_once() {
    assert_eq!(MiniTokio::new().run(), Tally { polls: 0, done: 0 });
}

#[test]
fn async_blocks_with_several_awaits_come_to_their_end() {
    let log = Log::default();
    let mut tokio = MiniTokio::new();
    let (first, second) = (countdown("first", 2, &log), countdown("second", 2, &log));
    tokio.spawn(async {
        first.await;
        second.await;
    });
    // The poll that ends the first await begins the second.
    assert_eq!(tokio.run(), Tally { polls: 3, done: 1 });
    assert_eq!(*log.borrow(), ["first", "first", "second", "second"]);
}

#[test]
fn a_task_that_is_ready_is_not_polled_again() {
    let timeline = Timeline::new();
    two_tasks(&timeline);
    for task in ["tea", "toast"] {
        assert_eq!(timeline.story_of(task).pop().as_deref(), Some("returned Ready()"));
        assert_eq!(timeline.count(task, &Event::Ready(String::new())), 1);
    }
}

#[test]
fn a_delay_is_over_when_it_is_due() {
    let mut tokio = MiniTokio::new();
    tokio.spawn(Delay::new(Duration::ZERO));
    assert_eq!(tokio.run(), Tally { polls: 1, done: 1 });
}

#[test]
fn sleeping_is_not_working() {
    let nap = Duration::from_millis(20);
    let cost = cost_of(|| thread::sleep(nap));
    assert!(cost.wall >= nap);
    assert!(cost.cpu < nap, "{:?} on the CPU", cost.cpu);
}

#[test]
fn polling_is_working() {
    let cost = cost_of(|| {
        let start = cpu::thread_time();
        let mut tokio = MiniTokio::new();
        // Waits for the CPU clock itself, which stands still for a thread that does not work.
        tokio.spawn(poll_fn(move |_| {
            let worked = cpu::thread_time() - start;
            if worked < Duration::from_millis(5) { Poll::Pending } else { Poll::Ready(()) }
        }));
        tokio.run();
    });
    assert!(cost.cpu >= Duration::from_millis(5));
}
