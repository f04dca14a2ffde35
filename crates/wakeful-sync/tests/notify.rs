//! Tests of [`Notify`]: permits, order, dropped waiters, panicking wakers.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Waker;
use std::thread;
use std::time::Instant;

use support::*;
use wakeful_base::block_on;
use wakeful_sync::Notify;
use wakeful_sync::futures::Notified;
#[cfg(target_pointer_width = "64")]
use wakeful_sync::futures::OwnedNotified;

#[test]
fn a_notification_before_the_wait_is_kept_once() {
    let notify = Notify::new();
    notify.notify_one();
    notify.notify_one();
    notify.notify_last();
    manual(notify.notified()).ready();
    manual(notify.notified()).pending();
}

#[test]
fn a_permit_goes_to_the_future_polled_first_not_created_first() {
    let notify = Notify::new();
    let mut asked_first = manual(notify.notified());
    let mut polled_first = manual(notify.notified());
    notify.notify_one();
    polled_first.ready();
    asked_first.pending();
}

#[test]
fn notify_one_wakes_in_order_and_notify_last_from_the_end() {
    let notify = Notify::new();
    let mut waiters: Vec<_> = (0..4).map(|_| manual(notify.notified())).collect();
    waiters.iter_mut().for_each(Manual::pending);
    notify.notify_one();
    assert_eq!(waiters.iter().map(Manual::wakes).collect::<Vec<_>>(), [1, 0, 0, 0]);
    notify.notify_last();
    assert_eq!(waiters.iter().map(Manual::wakes).collect::<Vec<_>>(), [1, 0, 0, 1]);
    notify.notify_one();
    assert_eq!(waiters.iter().map(Manual::wakes).collect::<Vec<_>>(), [1, 1, 0, 1]);
    waiters[0].ready();
    waiters[1].ready();
    waiters[3].ready();
    waiters[2].pending();
}

#[test]
fn notify_waiters_wakes_all_and_stores_no_permit() {
    let notify = Notify::new();
    // More than are woken under one hold of the lock.
    let mut waiters: Vec<_> = (0..100).map(|_| manual(notify.notified())).collect();
    waiters.iter_mut().for_each(Manual::pending);
    notify.notify_waiters();
    for waiter in &mut waiters {
        assert_eq!(waiter.wakes(), 1);
        waiter.ready();
    }
    manual(notify.notified()).pending();
}

#[test]
fn notify_waiters_reaches_unpolled_futures_and_leaves_a_later_permit() {
    let notify = Notify::new();
    let mut before = manual(notify.notified());
    notify.notify_waiters();
    notify.notify_one();
    let mut after = manual(notify.notified());
    before.ready();
    after.ready();
    manual(notify.notified()).pending();
}

#[test]
fn enable_enters_the_queue() {
    let notify = Notify::new();
    let mut waiter = manual(notify.notified());
    assert!(!waiter.pinned().enable());
    assert!(!waiter.pinned().enable());
    notify.notify_one();
    let mut other = manual(notify.notified());
    other.pending();
    assert!(waiter.pinned().enable());
    waiter.ready();
    waiter.ready();
    other.pending();
}

#[test]
fn enable_keeps_the_waker_of_an_earlier_poll() {
    let notify = Notify::new();
    let mut waiter = manual(notify.notified());
    waiter.pending();
    assert!(!waiter.pinned().enable());
    notify.notify_one();
    assert_eq!(waiter.wakes(), 1);
}

#[test]
fn the_latest_waker_is_the_one_called() {
    let notify = Notify::new();
    let mut waiter = manual(notify.notified());
    waiter.pending();
    let second = Arc::new(AtomicUsize::new(0));
    struct Second(Arc<AtomicUsize>);
    impl std::task::Wake for Second {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    assert!(waiter.poll_with(&Waker::from(Arc::new(Second(second.clone())))).is_pending());
    notify.notify_one();
    assert_eq!((waiter.wakes(), second.load(SeqCst)), (0, 1));
}

#[test]
fn a_notification_that_a_dropped_future_did_not_see_is_passed_on() {
    let notify = Notify::new();
    let mut waiters: Vec<_> = (0..3).map(|_| manual(notify.notified())).collect();
    waiters.iter_mut().for_each(Manual::pending);
    notify.notify_one();
    drop(waiters.remove(0));
    assert_eq!(waiters.iter().map(Manual::wakes).collect::<Vec<_>>(), [1, 0]);
    notify.notify_last();
    drop(waiters.pop());
    // Both notifications have been passed on: one to the last waiter, one became the permit.
    waiters[0].ready();
    manual(notify.notified()).ready();
    manual(notify.notified()).pending();
}

#[test]
fn notify_waiters_is_not_passed_on() {
    let notify = Notify::new();
    let mut waiter = manual(notify.notified());
    waiter.pending();
    notify.notify_waiters();
    drop(waiter);
    manual(notify.notified()).pending();
}

#[test]
fn a_future_dropped_in_the_queue_leaves_no_trace() {
    let notify = Notify::new();
    for gone in 0..3 {
        let mut waiters: Vec<_> = (0..3).map(|_| manual(notify.notified())).collect();
        waiters.iter_mut().for_each(Manual::pending);
        drop(waiters.remove(gone));
        notify.notify_one();
        notify.notify_one();
        waiters.iter_mut().for_each(Manual::ready);
    }
    drop(manual(notify.notified()));
    notify.notify_one();
    manual(notify.notified()).ready();
}

#[test]
fn owned_futures_keep_the_notify_alive() {
    let notify = Arc::new(Notify::new());
    let mut waiter = manual(notify.clone().notified_owned());
    waiter.pending();
    notify.notify_waiters();
    drop(notify);
    waiter.ready();
}

/// A waker that blocks the waking thread until it is let go.
#[derive(Default)]
struct HoldingWaker {
    is_called: AtomicBool,
    is_released: AtomicBool,
}

impl std::task::Wake for HoldingWaker {
    fn wake(self: Arc<Self>) {
        self.is_called.store(true, SeqCst);
        wait_for(&self.is_released);
    }
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

/// Calls `f` in the middle of a `notify_waiters` with 70 waiters. The first 32, as many as are
/// released under one hold of the lock, have been woken, but the last of their wakers blocks the
/// notifying thread. So the other 38 are stale.
fn while_half_woken<'n>(notify: &'n Notify, f: impl FnOnce(Vec<Manual<Notified<'n>>>)) {
    let holding = Arc::new(HoldingWaker::default());
    let mut waiters: Vec<_> = (0..70).map(|_| manual(notify.notified())).collect();
    for (i, waiter) in waiters.iter_mut().enumerate() {
        if i == 31 {
            assert!(waiter.poll_with(&holding.clone().into()).is_pending());
        } else {
            waiter.pending();
        }
    }
    thread::scope(|scope| {
        scope.spawn(|| notify.notify_waiters());
        wait_for(&holding.is_called);
        assert_eq!(wakes(&waiters), 31);
        let checked = catch_unwind(AssertUnwindSafe(|| f(waiters)));
        holding.is_released.store(true, SeqCst);
        if let Err(failed) = checked {
            resume_unwind(failed);
        }
    });
}

fn wakes(waiters: &[Manual<Notified<'_>>]) -> usize {
    waiters.iter().map(Manual::wakes).sum()
}

#[test]
fn panicking_wakers_do_not_stop_other_wake_ups() {
    let notify = Notify::new();
    let mut waiters: Vec<_> = (0..110).map(|_| manual(notify.notified())).collect();
    for (i, waiter) in waiters.iter_mut().enumerate() {
        if i % 50 == 0 {
            assert!(waiter.poll_with(&panicking_waker()).is_pending());
        } else {
            waiter.pending();
        }
    }
    assert!(catch_unwind(AssertUnwindSafe(|| notify.notify_waiters())).is_err());
    assert_eq!(wakes(&waiters), 107);
    waiters.iter_mut().for_each(Manual::ready);
    manual(notify.notified()).pending();
}

#[test]
fn any_number_of_wakers_may_panic() {
    let notify = Notify::new();
    let waiters = (0..10_000).map(|_| notify.notified());
    let mut all = release_many_that_panic(waiters, || notify.notify_waiters());
    all.iter_mut().for_each(Manual::ready);
}

#[test]
fn notify_one_wakes_stale_waiters_and_stores_its_own_permit() {
    let notify = Notify::new();
    while_half_woken(&notify, |mut waiters| {
        waiters[..32].iter_mut().for_each(Manual::ready);
        notify.notify_one();
        assert_eq!(wakes(&waiters[32..]), 38);
        waiters[32..].iter_mut().for_each(Manual::ready);
        manual(notify.notified()).ready();
    });
}

#[test]
fn notify_one_survives_a_panicking_waker_of_a_stale_waiter() {
    struct NotifiesOne(Arc<Notify>);
    impl std::task::Wake for NotifiesOne {
        fn wake(self: Arc<Self>) {
            catch_unwind(AssertUnwindSafe(|| self.0.notify_one())).unwrap_err();
        }
    }
    let notify = Arc::new(Notify::new());
    let mut waiters: Vec<_> = (0..40).map(|_| manual(notify.notified())).collect();
    for (i, waiter) in waiters.iter_mut().enumerate() {
        let waker = match i {
            // One of the first 32, which is woken while the others are stale.
            0 => Waker::from(Arc::new(NotifiesOne(notify.clone()))),
            35 => panicking_waker(),
            _ => Waker::noop().clone(),
        };
        assert!(waiter.poll_with(&waker).is_pending());
    }
    notify.notify_waiters();
    waiters.iter_mut().for_each(Manual::ready);
    manual(notify.notified()).ready();
}

#[test]
fn a_stale_waiter_that_polls_wakes_the_other_stale_ones() {
    let notify = Notify::new();
    while_half_woken(&notify, |mut waiters| {
        waiters[50].ready();
        assert_eq!(wakes(&waiters[32..50]), 18);
        assert_eq!(wakes(&waiters[51..]), 19);
        waiters.iter_mut().for_each(Manual::ready);
    });
}

#[test]
fn a_waiter_of_the_new_round_is_not_released_with_stale_ones() {
    let notify = Notify::new();
    while_half_woken(&notify, |mut waiters| {
        let mut late = manual(notify.notified());
        late.pending();
        // The last stale waiters leave by themselves.
        waiters.truncate(68);
        drop(waiters.remove(66));
        late.pending();
        assert_eq!(wakes(&waiters[32..]), 35);
        assert!(!late.is_woken());
        notify.notify_one();
        assert_eq!(late.wakes(), 1);
        late.ready();
        waiters.iter_mut().for_each(Manual::ready);
        manual(notify.notified()).pending();
    });
}

#[test]
fn waiters_of_the_new_round_wait_on_after_stale_ones_left() {
    let notify = Notify::new();
    while_half_woken(&notify, |mut waiters| {
        let mut late = manual(notify.notified());
        late.pending();
        waiters.truncate(32);
        late.pending();
        assert!(!late.is_woken());
        notify.notify_waiters();
        assert_eq!(late.wakes(), 1);
        late.ready();
    });
}

#[test]
fn a_panicking_waker_uses_up_its_notification() {
    let notify = Notify::new();
    let mut waiter = manual(notify.notified());
    assert!(waiter.poll_with(&panicking_waker()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| notify.notify_one())).is_err());
    waiter.ready();
    manual(notify.notified()).pending();
}

#[test]
fn a_permit_survives_a_panic_in_the_drop_of_an_unneeded_waker() {
    static NOTIFY: Notify = Notify::const_new();
    // The clone adds the permit, so that the future need not wait and drops the clone, which
    // panics.
    let waker = waker_with_hostile_clones(&|| NOTIFY.notify_one());
    let mut waiter = manual(NOTIFY.notified());
    catch_unwind(AssertUnwindSafe(|| waiter.poll_with(&waker).is_ready())).unwrap_err();
    waiter.ready();
}

#[test]
fn a_waker_may_use_the_same_notify() {
    struct Reenter(Arc<Notify>);
    impl std::task::Wake for Reenter {
        fn wake(self: Arc<Self>) {
            self.0.notify_one();
            drop(manual(self.0.notified()));
        }
    }
    let notify = Arc::new(Notify::new());
    let mut waiter = manual(notify.notified());
    assert!(waiter.poll_with(&Waker::from(Arc::new(Reenter(notify.clone())))).is_pending());
    notify.notify_waiters();
    waiter.ready();
    manual(notify.notified()).ready();
}

/// Threads pass one token around. Half of the waits are cancelled and started anew.
#[test]
fn stress_no_notification_is_lost() {
    let deadline = stress_deadline();
    let notify = Arc::new(Notify::new());
    let has_token = Arc::new(AtomicBool::new(true));
    let turns = Arc::new(AtomicUsize::new(0));
    notify.notify_one();
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            let (notify, has_token, turns) = (notify.clone(), has_token.clone(), turns.clone());
            thread::spawn(move || {
                let mut random = Random::new(seed);
                loop {
                    let mut waiter = manual(notify.notified());
                    let gives_up = random.below(2) == 0 && waiter.poll().is_pending();
                    if !gives_up {
                        block_on(waiter.into_inner());
                        assert!(has_token.swap(false, SeqCst), "the token is given to one");
                        turns.fetch_add(1, SeqCst);
                        has_token.store(true, SeqCst);
                        notify.notify_one();
                    }
                    if Instant::now() >= deadline {
                        break;
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(turns.load(SeqCst) > 0);
}

#[test]
fn stress_notify_waiters_wakes_all_while_waiters_come_and_go() {
    let deadline = stress_deadline();
    let notify = Arc::new(Notify::new());
    let over = Arc::new(AtomicBool::new(false));
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let (notify, over) = (notify.clone(), over.clone());
            thread::spawn(move || {
                loop {
                    let waiting = notify.notified();
                    if over.load(SeqCst) {
                        return;
                    }
                    let mut many: Vec<_> = (0..40).map(|_| manual(notify.notified())).collect();
                    for waiter in &mut many {
                        let _ = waiter.poll();
                    }
                    many.truncate(20);
                    block_on(waiting);
                    for waiter in many {
                        block_on(waiter.into_inner());
                    }
                }
            })
        })
        .collect();
    while Instant::now() < deadline {
        notify.notify_waiters();
    }
    over.store(true, SeqCst);
    while waiters.iter().any(|thread| !thread.is_finished()) {
        notify.notify_waiters();
        thread::yield_now();
    }
    waiters.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A program with a million waiting tasks has a million of these futures. Most tasks have room for
/// two, since an async block that awaits a captured future stores both the captured and the awaited
/// one.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_notified_future_takes_at_most_five_words() {
    // The `Notify`, two links, and two words for the waker that also hold all the rest.
    assert!(size_of::<Notified<'_>>() <= 40, "{}", size_of::<Notified<'_>>());
    assert!(size_of::<OwnedNotified>() <= 40, "{}", size_of::<OwnedNotified>());
}
