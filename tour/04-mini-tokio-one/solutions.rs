//! Solutions to the exercises of step 4. `SOLUTIONS.md` explains them.
//!
//! 第 4 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::Delay;
use super::mini_tokio::MiniTokio;
use crate::panics;

#[test]
fn a_task_that_never_ends_is_polled_without_end() {
    let polls = Rc::new(Cell::new(0));
    let counted = polls.clone();
    let mut tokio = MiniTokio::new();
    tokio.spawn(poll_fn(move |_| {
        counted.set(counted.get() + 1);
        // `run` would not return by itself, so the test stops it by force.
        assert!(counted.get() < 10_000, "enough");
        Poll::Pending
    }));
    assert_eq!(panics::catch(|| tokio.run()).unwrap_err(), "enough");
    assert_eq!(polls.get(), 10_000);
}

#[test]
fn a_task_that_sleeps_in_its_poll_holds_up_all_others() {
    let nap = Duration::from_millis(5);
    let start = Instant::now();
    let first_poll_of_b = Rc::new(Cell::new(None));
    let seen = first_poll_of_b.clone();
    let mut tokio = MiniTokio::new();
    tokio.spawn(async move { thread::sleep(nap) });
    tokio.spawn(async move { seen.set(Some(Instant::now())) });
    tokio.run();
    assert!(first_poll_of_b.get().unwrap() - start >= nap);
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// An executor whose tasks can spawn: the queue is shared, by `Rc`, between `run` and spawners.
#[derive(Clone, Default)]
struct Spawner {
    tasks: Rc<RefCell<VecDeque<Task>>>,
}

impl Spawner {
    fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        self.tasks.borrow_mut().push_back(Box::pin(future));
    }

    /// Pauses after each round, and returns how many polls there were.
    fn run(&self, pause: Duration) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        let mut polls = 0;
        let mut left_in_round = self.tasks.borrow().len();
        loop {
            // In a statement of its own: the queue must not be borrowed during the poll, as a task
            // that spawns borrows it too.
            let first = self.tasks.borrow_mut().pop_front();
            let Some(mut task) = first else { return polls };
            polls += 1;
            if task.as_mut().poll(&mut cx).is_pending() {
                self.tasks.borrow_mut().push_back(task);
            }
            left_in_round -= 1;
            if left_in_round == 0 {
                thread::sleep(pause);
                left_in_round = self.tasks.borrow().len();
            }
        }
    }
}

#[test]
fn a_pause_after_each_round_saves_polls() {
    let spawner = Spawner::default();
    let start = Instant::now();
    spawner.spawn(Delay::new(Duration::from_millis(20)));
    let polls = spawner.run(Duration::from_millis(1));
    assert!(start.elapsed() >= Duration::from_millis(20));
    // Each round takes a millisecond at least, so at most 20 polls came too early.
    assert!(polls <= 21, "{polls} polls");
}

#[test]
fn a_task_can_spawn_if_the_queue_is_shared() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let spawner = Spawner::default();
    let (inner, of_parent, of_child) = (spawner.clone(), log.clone(), log.clone());
    spawner.spawn(async move {
        of_parent.borrow_mut().push("parent");
        inner.spawn(async move { of_child.borrow_mut().push("child") });
    });
    assert_eq!(spawner.run(Duration::ZERO), 2);
    assert_eq!(*log.borrow(), ["parent", "child"]);
}
