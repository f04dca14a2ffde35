use super::super::entry::{LeftTimer, live};
use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Poll, Wake};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn counted() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (count.clone(), count.into())
}

fn fire(timers: &mut Timers, now_ns: u64) {
    let mut wakers = WakeList::new();
    while timers.fire(now_ns, &mut wakers) {
        wakers.wake_all();
    }
    wakers.wake_all();
}

/// Runs `test`, then checks that it has left no entry behind.
fn with_timers(test: impl FnOnce(&mut Timers, &TimerInbox)) {
    let before = live::count();
    let (mut timers, inbox) = (Timers::new(OwnerId(7)), TimerInbox::new());
    test(&mut timers, &inbox);
    timers.clear_left(&inbox);
    timers.fire_all(&mut WakeList::new());
    drop((timers, inbox));
    assert_eq!(live::count(), before, "entries left behind");
}

#[test]
fn fires_once_and_not_early() {
    with_timers(|timers, _| {
        let (count, waker) = counted();
        let mut timer = timers.arm(1_000_000, Some(waker.clone()));
        assert_eq!(timer.owner(), OwnerId(7));
        fire(timers, 999_999);
        assert_eq!(timers.look(&mut timer, &waker), Looked::Waits);
        fire(timers, 1_000_000);
        assert_eq!(timers.look(&mut timer, &waker), Looked::Due);
        fire(timers, 2_000_000);
        assert_eq!(count.0.load(SeqCst), 1);
        assert!(timers.disarm(timer).is_none());
    });
}

#[test]
fn another_waker_takes_the_place_of_the_first() {
    with_timers(|timers, _| {
        let ((first, first_waker), (second, second_waker)) = (counted(), counted());
        let mut timer = timers.arm(5, Some(first_waker));
        assert_eq!(timers.look(&mut timer, &second_waker), Looked::OtherWaker);
        drop(timers.set_waker(&mut timer, second_waker.clone()));
        fire(timers, 5);
        assert_eq!((first.0.load(SeqCst), second.0.load(SeqCst)), (0, 1));
        assert!(timers.set_waker(&mut timer, second_waker).is_err());
        assert!(timer.poll(Waker::noop()).is_ready());
        assert!(timers.disarm(timer).is_none());
    });
}

#[test]
fn rearming_moves_a_timer_both_ways_wherever_it_is() {
    with_timers(|timers, _| {
        let (count, waker) = counted();
        // From a slot to a later one, within that one, to an earlier one, to the near heap, out of
        // it, and after it fired.
        let mut timer = timers.arm(10_000_000, Some(waker));
        for deadline_ns in [70_000_000, 70_000_001, 20_000_000, 1_000, 30_000_000, 500] {
            timers.rearm(&mut timer, deadline_ns);
        }
        fire(timers, 499);
        assert_eq!(count.0.load(SeqCst), 0);
        fire(timers, 500);
        assert_eq!(count.0.load(SeqCst), 1);
        timers.rearm(&mut timer, 40_000_000);
        assert_eq!(timers.next_ns().map(|next| next <= 40_000_000), Some(true));
        drop(timers.set_waker(&mut timer, counted().1));
        fire(timers, 40_000_000);
        assert!(timer.is_due());
        assert!(timers.disarm(timer).is_none());
    });
}

#[test]
fn a_timer_of_another_wheel_is_refused() {
    with_timers(|timers, _| {
        let mut other = Timers::new(OwnerId(8));
        let (count, waker) = counted();
        let mut timer = timers.arm(5, Some(waker.clone()));
        let looked = catch_unwind(AssertUnwindSafe(|| other.look(&mut timer, &waker)));
        let set = catch_unwind(AssertUnwindSafe(|| other.set_waker(&mut timer, waker)));
        let rearmed = catch_unwind(AssertUnwindSafe(|| other.rearm(&mut timer, 10)));
        assert!(looked.is_err() && set.is_err() && rearmed.is_err());
        assert!(other.is_empty());
        fire(timers, 5);
        assert_eq!(count.0.load(SeqCst), 1);
        assert!(timers.disarm(timer).is_none());
    });
}

#[test]
fn timers_left_on_other_threads_are_freed_with_the_inbox() {
    with_timers(|timers, inbox| {
        let before = live::count();
        for _ in 0..10_000 {
            let (count, waker) = counted();
            let LeftTimer::ToInbox(left, waker) = timers.arm(60_000_000_000, Some(waker)).leave()
            else {
                panic!("an armed timer goes through the inbox")
            };
            drop(waker);
            assert_eq!(Arc::strong_count(&count), 1, "the waker went with its sleeper");
            let _wake_owner = inbox.push(left);
            timers.clear_left(inbox);
        }
        assert_eq!(live::count(), before);
        assert!(timers.is_empty());
    });
}

#[test]
fn a_left_timer_may_become_due_before_the_inbox_is_drained() {
    with_timers(|timers, inbox| {
        let LeftTimer::ToInbox(left, _) = timers.arm(5, None).leave() else { panic!("not armed") };
        let _wake_owner = inbox.push(left);
        fire(timers, 10);
        timers.clear_left(inbox);
    });
}

#[test]
fn many_left_timers_wake_the_owner_once_per_batch() {
    with_timers(|timers, inbox| {
        let mut calls = 0;
        for _ in 0..1000 {
            let LeftTimer::ToInbox(left, _) = timers.arm(5, None).leave() else {
                panic!("not armed")
            };
            calls += usize::from(inbox.push(left));
        }
        assert_eq!(calls, 1000 / 64);
    });
}

#[test]
fn polls_on_other_threads_see_what_the_owner_did() {
    with_timers(|timers, _| {
        let (count, waker) = counted();
        let mut timer = timers.arm(5, None);
        assert_eq!(timer.poll(&waker), Poll::Pending);
        assert_eq!(timer.poll(&waker), Poll::Pending);
        fire(timers, 5);
        assert_eq!(count.0.load(SeqCst), 1);
        assert_eq!(timer.poll(&waker), Poll::Ready(()));
        let before = live::count();
        assert!(matches!(timer.leave(), LeftTimer::Gone));
        assert_eq!(live::count(), before - 1, "freed by its sleeper");
    });
}
