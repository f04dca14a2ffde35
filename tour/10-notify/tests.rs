use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::bell::Bell;
use super::notify::Notify;
use super::{delay, passed_on, too_early};
use crate::block_on::block_on;
use crate::timeline::{Event, Timeline};

const AN_HOUR: Duration = Duration::from_secs(3600);

/// A waker that counts how often it was called.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Counting {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn ask<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_ring_that_nobody_waits_for_is_lost() {
    let bell = Bell::default();
    bell.ring();
    let mut listener = pin!(bell.rung());
    assert!(ask(listener.as_mut()).is_pending());
    assert!(ask(listener.as_mut()).is_pending());
    bell.ring();
    assert!(ask(listener.as_mut()).is_ready());
}

#[test]
fn a_ring_wakes_all_that_wait() {
    let bell = Bell::default();
    let waker = Arc::new(Counting::default());
    let mut listeners = [Box::pin(bell.rung()), Box::pin(bell.rung())];
    for listener in &mut listeners {
        let waker = Waker::from(waker.clone());
        assert!(listener.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    bell.ring();
    assert_eq!(waker.count(), 2);
    assert!(listeners.iter_mut().all(|listener| ask(listener.as_mut()).is_ready()));
}

#[test]
fn a_notification_that_nobody_waits_for_is_kept() {
    let notify = Notify::default();
    notify.notify_one();
    assert!(ask(pin!(notify.notified())).is_ready());
}

#[test]
fn one_permit_is_kept_and_no_more() {
    let notify = Notify::default();
    notify.notify_one();
    notify.notify_one();
    assert!(ask(pin!(notify.notified())).is_ready());
    assert!(ask(pin!(notify.notified())).is_pending());
}

#[test]
fn a_notification_wakes_one_that_waits_and_leaves_no_permit() {
    let notify = Notify::default();
    let waker = Arc::new(Counting::default());
    let mut waiter = pin!(notify.notified());
    let as_waker = Waker::from(waker.clone());
    assert!(waiter.as_mut().poll(&mut Context::from_waker(&as_waker)).is_pending());
    notify.notify_one();
    assert_eq!(waker.count(), 1);
    assert!(ask(waiter).is_ready());
    assert!(ask(pin!(notify.notified())).is_pending());
}

#[test]
fn who_came_first_is_told_first() {
    let notify = Notify::default();
    let mut waiters = [(); 3].map(|()| Box::pin(notify.notified()));
    for waiter in &mut waiters {
        assert!(ask(waiter.as_mut()).is_pending());
    }
    for told in 0..3 {
        notify.notify_one();
        for (index, waiter) in waiters.iter_mut().enumerate().skip(told) {
            assert_eq!(ask(waiter.as_mut()).is_ready(), index == told);
        }
    }
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let notify = Notify::default();
    let (first, second) = (Arc::new(Counting::default()), Arc::new(Counting::default()));
    let mut waiter = pin!(notify.notified());
    for waker in [first.clone().into(), second.clone().into()] {
        assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    notify.notify_one();
    assert_eq!((first.count(), second.count()), (0, 1));
}

#[test]
fn who_leaves_the_line_is_not_told() {
    let notify = Notify::default();
    let mut leaves = Box::pin(notify.notified());
    let mut stays = Box::pin(notify.notified());
    assert!(ask(leaves.as_mut()).is_pending());
    assert!(ask(stays.as_mut()).is_pending());
    drop(leaves);
    notify.notify_one();
    assert!(ask(stays.as_mut()).is_ready());
}

#[test]
fn a_notification_that_was_not_seen_is_passed_on() {
    let timeline = Timeline::new();
    passed_on(&timeline);
    let told = timeline.story();
    let second_woken = told.iter().position(|line| line.starts_with("second woken")).unwrap();
    let first_dropped = told.iter().position(|line| line.starts_with("first is dropped")).unwrap();
    assert!(first_dropped < second_woken, "{told:?}");
    assert_eq!(told.last().unwrap(), "second returned Ready()");
}

#[test]
fn a_notification_that_was_not_seen_becomes_a_permit_if_nobody_waits() {
    let notify = Notify::default();
    let mut unseen = Box::pin(notify.notified());
    assert!(ask(unseen.as_mut()).is_pending());
    notify.notify_one();
    drop(unseen);
    assert!(ask(pin!(notify.notified())).is_ready());
}

#[test]
fn a_waker_may_use_the_notify_that_calls_it() {
    /// Notifies again when it is woken.
    #[derive(Default)]
    struct Again(OnceLock<Arc<Notify>>);

    impl Wake for Again {
        fn wake(self: Arc<Self>) {
            self.0.get().unwrap().notify_one();
        }
    }

    let notify = Arc::new(Notify::default());
    let again = Arc::new(Again::default());
    assert!(again.0.set(notify.clone()).is_ok());
    let mut waiter = pin!(notify.notified());
    assert!(waiter.as_mut().poll(&mut Context::from_waker(&again.into())).is_pending());
    notify.notify_one();
    assert!(ask(waiter).is_ready());
    assert!(ask(pin!(notify.notified())).is_ready());
}

#[test]
#[should_panic = "polled after it had completed"]
fn a_notified_panics_when_polled_after_completion() {
    let notify = Notify::default();
    notify.notify_one();
    let mut waiter = pin!(notify.notified());
    assert!(ask(waiter.as_mut()).is_ready());
    let _ = ask(waiter);
}

#[test]
fn two_threads_that_notify_each_other_never_both_sleep() {
    const ROUNDS: usize = 300;
    let (ping, pong) = (Notify::default(), Notify::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            block_on(&Timeline::new(), "pong", async {
                for _ in 0..ROUNDS {
                    ping.notified().await;
                    pong.notify_one();
                }
            });
        });
        block_on(&Timeline::new(), "ping", async {
            for _ in 0..ROUNDS {
                ping.notify_one();
                pong.notified().await;
            }
        });
    });
}

#[test]
fn the_news_that_came_too_early_is_kept_by_notify_only() {
    let timeline = Timeline::new();
    too_early(&timeline);
    assert_eq!(timeline.count("listener", &Event::Pending), 1);
    assert_eq!(timeline.story_of("waiter")[1], "returned Ready()");
}

#[test]
fn a_delay_is_never_early_and_never_oversleeps() {
    let timeline = Timeline::new();
    // With nothing to wait for, either side may be first.
    for length in [Duration::ZERO, Duration::from_millis(2)].repeat(20) {
        let start = Instant::now();
        block_on(&timeline, "main", delay(length, &timeline));
        assert!(start.elapsed() >= length);
    }
}

#[test]
fn a_delay_that_is_dropped_ends_its_thread() {
    let timeline = Timeline::new();
    {
        let mut delay = pin!(delay(AN_HOUR, &timeline));
        assert!(ask(delay.as_mut()).is_pending());
    }
    assert_eq!(timeline.count("delay", &Event::Fired), 0);
}
