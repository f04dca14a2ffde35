use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::executor::{Executor, Job, Tally};
use super::time_future::TimeFuture;
use super::{
    as_closures, as_futures, as_simple_futures, executor, panicking, timer, woken_while_running,
};
use crate::timeline::{Event, Timeline};

const AN_HOUR: Duration = Duration::from_secs(3600);

fn completed(count: usize) -> Tally {
    Tally { completed: count, ..Tally::default() }
}

/// Sends its waker out, and waits until it was told the count it waits for.
fn waits_for(count: usize, goes_up: &Arc<AtomicUsize>, wakers: mpsc::Sender<Waker>) -> Job {
    let seen = goes_up.clone();
    Box::new(move |waker| {
        let _ = wakers.send(waker.clone());
        seen.load(Ordering::SeqCst) >= count
    })
}

#[test]
fn a_closure_runs_until_it_says_that_it_is_done() {
    let timeline = Timeline::new();
    assert_eq!(as_closures(&timeline), completed(2));
    assert_eq!(timeline.count("counter", &Event::Polled), 3);
    // How the timer's first question is answered depends on which thread was faster.
    assert!(timeline.count("sleeper", &Event::Polled) <= 2);
}

#[test]
fn a_simplified_future_runs_as_a_closure_does() {
    let timeline = Timeline::new();
    assert_eq!(as_simple_futures(&timeline), completed(2));
    // One poll to begin, and at most one more for each of its two timers.
    assert!(timeline.count("in turn", &Event::Polled) <= 3);
    assert_eq!(timeline.story_of("in turn").last().unwrap(), "returned Ready()");
}

#[test]
fn a_future_runs_as_a_closure_does() {
    let timeline = Timeline::new();
    assert_eq!(as_futures(&timeline), completed(3));
    for name in ["a", "b", "c"] {
        assert_eq!(timeline.count(name, &Event::Note("half-way".to_owned())), 1);
        assert!(timeline.count(name, &Event::Polled) <= 3);
        assert_eq!(timeline.story_of(name).last().unwrap(), "returned Ready()");
    }
}

#[test]
fn a_task_that_is_woken_while_it_runs_runs_again() {
    let timeline = Timeline::new();
    assert_eq!(woken_while_running(&timeline), completed(1));
    assert_eq!(
        timeline.story_of("slow"),
        ["polled", "woken by helper", "returned Pending", "polled", "returned Ready()"]
    );
}

#[test]
fn workers_run_tasks_at_the_same_time() {
    let timeline = Timeline::new();
    let executor = executor(&timeline, 2);
    let barrier = Arc::new(Barrier::new(2));
    for name in ["a", "b"] {
        let barrier = barrier.clone();
        // Neither can go on without the other.
        executor.spawn(name, async move { _ = barrier.wait() });
    }
    assert_eq!(executor.finish(), completed(2));
}

#[test]
fn a_waiting_task_that_is_woken_often_runs_once() {
    let timeline = Timeline::new();
    let executor = executor(&timeline, 1);
    let goes_up = Arc::new(AtomicUsize::new(0));
    let (wakers, inbox) = mpsc::channel();
    executor.spawn_job("popular", waits_for(1, &goes_up, wakers));
    let waker = inbox.recv().unwrap();

    // From here on the only worker is busy, and what is woken has to queue.
    let (started, is_started) = mpsc::channel();
    let (go_on, is_allowed) = mpsc::channel();
    executor.spawn("busy", async move {
        started.send(()).unwrap();
        is_allowed.recv().unwrap();
    });
    is_started.recv().unwrap();
    goes_up.store(1, Ordering::SeqCst);
    for _ in 0..3 {
        waker.wake_by_ref();
    }
    go_on.send(()).unwrap();
    assert_eq!(executor.finish(), completed(2));
    assert_eq!(timeline.count("popular", &Event::Polled), 2);
}

#[test]
fn waking_a_task_that_has_ended_does_nothing() {
    let timeline = Timeline::new();
    let executor = executor(&timeline, 1);
    let (wakers, inbox) = mpsc::channel();
    executor.spawn_job("brief", waits_for(0, &Arc::default(), wakers));
    let waker = inbox.recv().unwrap();
    assert_eq!(executor.finish(), completed(1));
    waker.wake();
    assert_eq!(timeline.count("brief", &Event::Polled), 1);
}

#[test]
fn no_wake_up_is_lost_and_no_task_runs_twice_at_a_time() {
    const WAKES_PER_THREAD: usize = 500;
    let timeline = Timeline::new();
    let executor = executor(&timeline, 4);
    let goes_up = Arc::new(AtomicUsize::new(0));
    let (wakers, inbox) = mpsc::channel();
    let is_inside = AtomicBool::new(false);
    let mut job = waits_for(3 * WAKES_PER_THREAD, &goes_up, wakers);
    executor.spawn_job(
        "counts",
        Box::new(move |waker| {
            assert!(!is_inside.swap(true, Ordering::SeqCst), "two workers at once");
            let is_done = job(waker);
            thread::yield_now();
            is_inside.store(false, Ordering::SeqCst);
            is_done
        }),
    );
    let waker = inbox.recv().unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..WAKES_PER_THREAD {
                    goes_up.fetch_add(1, Ordering::SeqCst);
                    waker.wake_by_ref();
                }
            });
        }
    });
    drop(waker);
    drop(inbox);
    // Would be `abandoned` if the last wake-up had been lost.
    assert_eq!(executor.finish(), completed(1));
}

#[test]
fn a_panic_ends_its_task_and_not_its_worker() {
    let timeline = Timeline::new();
    let tally = panicking(&timeline);
    assert_eq!(tally, Tally { completed: 1, panicked: 1, abandoned: 0 });
    assert_eq!(timeline.story_of("clumsy"), ["polled", "panicked: dropped the cup"]);
}

#[test]
fn nobody_waits_for_a_task_that_nobody_can_wake() {
    let timeline = Timeline::new();
    let executor = executor(&timeline, 1);
    executor.spawn("forgetful", pending());
    assert_eq!(executor.finish(), Tally { abandoned: 1, ..Tally::default() });
}

#[test]
fn a_dropped_executor_drops_its_tasks_although_their_wakers_are_kept() {
    let timeline = Timeline::new();
    let executor = executor(&timeline, 2);
    let held = Arc::new(());
    let (wakers, inbox) = mpsc::channel();
    let held_by_task = held.clone();
    executor.spawn("waiting", async move {
        poll_fn(|cx| {
            wakers.send(cx.waker().clone()).unwrap();
            Poll::<()>::Pending
        })
        .await;
        drop(held_by_task);
    });
    let waker = inbox.recv().unwrap();
    drop(executor);
    assert_eq!(Arc::strong_count(&held), 1);
    waker.wake();
    assert_eq!(timeline.count("waiting", &Event::Polled), 1);
}

#[test]
fn a_dropped_executor_does_not_wait_for_timers() {
    let timeline = Timeline::new();
    let executor = executor(&timeline, 1);
    let (started, is_started) = mpsc::channel();
    executor.spawn("late", async move {
        let timer = TimeFuture::start(AN_HOUR).unwrap();
        started.send(()).unwrap();
        timer.await;
    });
    is_started.recv().unwrap();
    drop(executor);
}

#[test]
fn a_task_may_drop_its_own_executor() {
    let timeline = Timeline::new();
    let place = Arc::new(Mutex::new(None::<Executor>));
    let (done, is_done) = mpsc::channel();
    let executor = executor(&timeline, 2);
    let own = place.clone();
    let mut place = place.lock().unwrap();
    executor.spawn("owner", async move {
        drop(own.lock().unwrap().take().unwrap());
        done.send(()).unwrap();
        pending().await
    });
    *place = Some(executor);
    drop(place);
    is_done.recv().unwrap();
}

#[test]
fn time_is_over_no_earlier_than_it_should_be() {
    let start = Instant::now();
    let timeline = Timeline::new();
    let executor = executor(&timeline, 1);
    executor.spawn("sleeper", timer(5));
    assert_eq!(executor.finish(), completed(1));
    assert!(start.elapsed() >= Duration::from_millis(5));
}

#[test]
fn the_waker_of_the_last_question_is_told() {
    struct Telling(mpsc::Sender<&'static str>, &'static str);

    impl Wake for Telling {
        fn wake(self: Arc<Self>) {
            self.0.send(self.1).unwrap();
        }
    }

    let (told, hears) = mpsc::channel();
    let timer = timer(20);
    let mut was_over = false;
    for name in ["first", "second"] {
        was_over |= timer.is_over(&Arc::new(Telling(told.clone(), name)).into());
    }
    drop(told);
    let heard: Vec<_> = hears.iter().collect();
    // On a machine so slow that the time was over before the second question, no waker need be
    // called.
    assert!(was_over || heard == ["second"], "{heard:?}");
}

#[test]
fn a_timer_that_is_dropped_ends_its_thread_and_wakes_nobody() {
    struct Unwanted;

    impl Wake for Unwanted {
        fn wake(self: Arc<Self>) {
            panic!("no task waits any more");
        }
    }

    let timer = TimeFuture::start(AN_HOUR).unwrap();
    let waker = Arc::new(Unwanted);
    assert!(!timer.is_over(&waker.clone().into()));
    drop(timer);
    assert_eq!(Arc::strong_count(&waker), 1);
}
