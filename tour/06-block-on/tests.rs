use std::cell::Cell;
use std::future::{poll_fn, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::{Closed, Reactor, block_on, both, closing, two_timers, wake_before_park};
use crate::panics;
use crate::timeline::{Event, Timeline};

const AN_HOUR: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(5);

fn reactor(timeline: &Timeline) -> Reactor {
    Reactor::start(timeline).unwrap()
}

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

/// A waker that sends a letter, so that a test can wait for it.
struct Telling(mpsc::Sender<()>);

impl Wake for Telling {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
    }
}

/// A waker that must not be called.
struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

#[test]
fn what_is_ready_is_polled_once_and_nobody_parks() {
    let timeline = Timeline::new();
    assert_eq!(block_on(&timeline, "main", ready(7)), 7);
    assert_eq!(timeline.story(), ["main polled", "main returned Ready(7)"]);
}

#[test]
fn the_future_may_borrow_and_need_not_be_send() {
    let cell = Cell::new(1);
    block_on(&Timeline::new(), "main", async { cell.set(cell.get() + 1) });
    assert_eq!(cell.get(), 2);
}

#[test]
fn a_wake_up_before_the_thread_parks_is_not_lost() {
    let timeline = Timeline::new();
    wake_before_park(&timeline);
    // Twice polled in each of the two runs, the second of which used the thread's token up.
    assert_eq!(timeline.count("main", &Event::Polled), 4);
    assert_eq!(timeline.count("main", &Event::Pending), 2);
    let parks = Event::Note("nothing to do: the thread parks".to_owned());
    assert_eq!(timeline.count("main", &parks), 0);
}

#[test]
fn another_thread_wakes_the_one_that_parks() {
    let timeline = Timeline::new();
    let (wakers, inbox) = mpsc::channel::<Waker>();
    let other = thread::spawn(move || inbox.recv().unwrap().wake());
    let mut is_first_poll = true;
    let waits_once = poll_fn(|cx| {
        if !is_first_poll {
            return Poll::Ready("woken");
        }
        is_first_poll = false;
        wakers.send(cx.waker().clone()).unwrap();
        Poll::Pending
    });
    assert_eq!(block_on(&timeline, "main", waits_once), "woken");
    assert_eq!(timeline.count("main", &Event::Polled), 2);
    other.join().unwrap();
}

#[test]
fn a_panic_in_the_future_reaches_the_caller_of_block_on() {
    let timeline = Timeline::new();
    let result = panics::catch(|| {
        let reactor = reactor(&timeline);
        let timer = reactor.handle().timer(SHORT);
        block_on(&timeline, "main", async {
            timer.await.unwrap();
            panic!("no tea today");
        })
    });
    assert_eq!(result, Err("no tea today".to_owned()));
    // On its way it passed the reactor, which was closed and waited for.
    assert_eq!(timeline.story_of("reactor"), ["closes"]);
}

#[test]
fn a_timer_is_never_early() {
    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let start = Instant::now();
    block_on(&timeline, "main", reactor.handle().timer(SHORT)).unwrap();
    assert!(start.elapsed() >= SHORT);
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines() {
    /// Keeps the reactor's thread from its work until the test says so.
    struct Blocking(Mutex<mpsc::Receiver<()>>);

    impl Wake for Blocking {
        fn wake(self: Arc<Self>) {
            self.0.lock().unwrap().recv().unwrap();
        }
    }

    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let timers = reactor.handle();
    let (go_on, is_allowed) = mpsc::channel();
    let waker = Waker::from(Arc::new(Blocking(Mutex::new(is_allowed))));
    let mut first = pin!(timers.timer(Duration::ZERO));
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());

    let now = Instant::now();
    let (fast, slow) = (now + SHORT, now + 2 * SHORT);
    let mut timers = [slow, fast].map(|deadline| Box::pin(timers.timer_at(deadline)));
    for timer in &mut timers {
        assert!(timer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    // Both are due before the thread gets to look at either.
    thread::sleep(slow - now);
    go_on.send(()).unwrap();
    let [slow, fast] = timers;
    let results = block_on(&timeline, "main", both(slow, fast));
    assert_eq!(results, (Ok(()), Ok(())));

    let fired = timeline.entries().into_iter().filter(|entry| entry.event == Event::Fired);
    let fired: Vec<String> = fired.map(|entry| entry.who).collect();
    assert_eq!(fired, ["timer 1", "timer 3", "timer 2"]);
}

#[test]
fn timers_are_polled_by_their_task_and_woken_by_the_reactor() {
    let timeline = Timeline::new();
    two_timers(&timeline);
    let entries = timeline.entries();
    let here = entries.iter().find(|entry| entry.who == "main").unwrap();
    for entry in &entries {
        match entry.event {
            Event::Polled => assert_eq!(entry.thread, here.thread),
            Event::Fired => assert_eq!(entry.thread, "reactor"),
            Event::Woken(ref by) => assert_eq!(by, "reactor"),
            _ => {}
        }
    }
}

#[test]
fn who_waits_when_the_reactor_closes_is_told_at_once() {
    let timeline = Timeline::new();
    closing(&timeline);
    assert_eq!(timeline.story_of("timer 1").last().unwrap(), "returned Ready(Err(Closed))");
    assert_eq!(timeline.count("main", &Event::Woken("reactor".to_owned())), 1);
}

#[test]
fn closing_leaves_those_that_have_fired_their_result() {
    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let (letters, inbox) = mpsc::channel();
    let mut timer = pin!(reactor.handle().timer(SHORT));
    let waker = Waker::from(Arc::new(Telling(letters)));
    let mut cx = Context::from_waker(&waker);
    assert!(timer.as_mut().poll(&mut cx).is_pending());
    inbox.recv().unwrap();
    drop(reactor);
    assert_eq!(timer.as_mut().poll(&mut cx), Poll::Ready(Ok(())));
}

#[test]
fn a_timer_made_or_first_polled_after_closing_is_closed() {
    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let timers = reactor.handle();
    let made_before = timers.timer(SHORT);
    drop(reactor);
    let made_after = timers.timer(SHORT);
    let results = block_on(&timeline, "main", both(made_before, made_after));
    assert_eq!(results, (Err(Closed), Err(Closed)));
}

#[test]
fn no_entry_stays_on_the_board() {
    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let timers = reactor.handle();
    block_on(&timeline, "main", timers.timer(SHORT)).unwrap();
    {
        let mut dropped_early = pin!(timers.timer(AN_HOUR));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(dropped_early.as_mut().poll(&mut cx).is_pending());
        assert_eq!(timers.entries(), 1);
    }
    assert_eq!(timers.entries(), 0);
}

#[test]
fn only_the_waker_of_the_last_poll_is_woken() {
    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let mut timer = pin!(reactor.handle().timer(AN_HOUR));
    let (first, second) = (Arc::new(Counting::default()), Arc::new(Counting::default()));
    for waker in [first.clone().into(), second.clone().into()] {
        assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    drop(reactor);
    assert_eq!((first.count(), second.count()), (0, 1));
}

#[test]
fn a_waker_that_panics_does_not_take_the_reactor_with_it() {
    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let timers = reactor.handle();
    let mut unlucky = pin!(timers.timer(Duration::ZERO));
    let waker = Waker::from(Arc::new(Panicking));
    assert!(unlucky.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    block_on(&timeline, "main", timers.timer(SHORT)).unwrap();
    let told = "its waker panicked: a waker that panics";
    assert!(timeline.story_of("timer 1").contains(&told.to_owned()));
}

#[test]
fn the_last_owner_may_be_the_reactors_own_thread() {
    /// Owns the reactor, and is dropped by the thread that wakes it.
    struct Owning(mpsc::Sender<()>, #[expect(dead_code, reason = "to be dropped")] Reactor);

    impl Wake for Owning {
        fn wake(self: Arc<Self>) {
            let done = self.0.clone();
            drop(self);
            done.send(()).unwrap();
        }
    }

    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let (done, is_done) = mpsc::channel();
    let mut timer = pin!(reactor.handle().timer(SHORT));
    let waker = Waker::from(Arc::new(Owning(done, reactor)));
    assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    is_done.recv().unwrap();
}

#[test]
#[should_panic = "polled after it had completed"]
fn a_timer_panics_when_polled_after_completion() {
    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    let mut timer = pin!(reactor.handle().timer(Duration::ZERO));
    block_on(&timeline, "main", timer.as_mut()).unwrap();
    let _ = timer.poll(&mut Context::from_waker(Waker::noop()));
}

#[test]
fn a_reactor_that_nobody_asked_for_anything_ends_too() {
    let timeline = Timeline::new();
    let reactor = reactor(&timeline);
    drop(reactor);
    assert_eq!(timeline.story(), ["reactor closes"]);
}
