//! Races between an owner that fires and a sleeper on another thread.
//!
//! The sleeper polls with other wakers, leaves, or moves to another wheel.
//!
//! Entries are counted, to check that each one is freed once. A lost wake-up shows as a sleeper
//! that had to wait and was not woken.

use super::super::entry::{LeftTimer, live};
use super::*;
use ::loom::sync::Arc;
use ::loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::task::{Poll, Wake};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn counted() -> (std::sync::Arc<Count>, Waker) {
    let count = std::sync::Arc::new(Count::default());
    (count.clone(), count.into())
}

const DEADLINE_NS: u64 = 1 << 20;

struct Owner {
    timers: Timers,
    inbox: Arc<TimerInbox>,
}

impl Owner {
    fn new() -> Owner {
        Owner { timers: Timers::new(OwnerId(0)), inbox: Arc::new(TimerInbox::new()) }
    }

    fn fire(&mut self) {
        let mut wakers = WakeList::new();
        self.timers.fire(DEADLINE_NS, &mut wakers);
        wakers.wake_all();
    }

    fn clear_left(&mut self) {
        self.timers.clear_left(&self.inbox);
    }

    /// Ends the runtime: entries that reach the inbox later are freed with it.
    fn end(mut self) {
        self.clear_left();
        let mut wakers = WakeList::new();
        self.timers.fire_all(&mut wakers);
        wakers.wake_all();
    }
}

fn leave(timer: ArmedTimer, inbox: &TimerInbox) -> Option<Waker> {
    match timer.leave() {
        LeftTimer::ToInbox(left, waker) => {
            let _wake_owner = inbox.push(left);
            waker
        }
        LeftTimer::Gone => None,
    }
}

fn model(test: impl Fn() + Send + Sync + 'static) {
    ::loom::model(move || {
        let before = live::count();
        test();
        assert_eq!(live::count(), before, "each entry is freed, once");
    });
}

#[test]
fn fire_and_leave() {
    model(|| {
        let mut owner = Owner::new();
        let (count, waker) = counted();
        let timer = owner.timers.arm(DEADLINE_NS, Some(waker));
        let inbox = owner.inbox.clone();
        let sleeper = thread::spawn(move || drop(leave(timer, &inbox)));
        owner.fire();
        owner.clear_left();
        owner.end();
        sleeper.join().unwrap();
        assert_eq!(std::sync::Arc::strong_count(&count), 1, "the waker is gone");
    });
}

#[test]
fn leave_and_drain_the_inbox_then_fire() {
    model(|| {
        let mut owner = Owner::new();
        // In the near heap, which keeps a removed timer until its deadline.
        owner.timers.fire(DEADLINE_NS - 1, &mut WakeList::new());
        let timer = owner.timers.arm(DEADLINE_NS, Some(counted().1));
        let inbox = owner.inbox.clone();
        let sleeper = thread::spawn(move || drop(leave(timer, &inbox)));
        owner.clear_left();
        owner.fire();
        sleeper.join().unwrap();
        owner.end();
    });
}

#[test]
fn a_sleeper_that_must_wait_is_woken() {
    model(|| {
        let mut owner = Owner::new();
        let (first, waker) = counted();
        let mut timer = owner.timers.arm(DEADLINE_NS, Some(waker));
        let inbox = owner.inbox.clone();
        let sleeper = thread::spawn(move || {
            let (second, waker) = counted();
            let polled = timer.poll(&waker);
            (timer, polled, second)
        });
        owner.fire();
        let (timer, polled, second) = sleeper.join().unwrap();
        assert!(timer.is_due());
        assert!(polled == Poll::Ready(()) || second.0.load(SeqCst) == 1);
        assert!(first.0.load(SeqCst) + second.0.load(SeqCst) <= 1);
        drop(leave(timer, &inbox));
        owner.end();
        assert_eq!(std::sync::Arc::strong_count(&first), 1);
        assert_eq!(std::sync::Arc::strong_count(&second), 1);
    });
}

#[test]
fn two_polls_and_a_drop_on_another_thread() {
    model(|| {
        let mut owner = Owner::new();
        let (first, waker) = counted();
        let mut timer = owner.timers.arm(DEADLINE_NS, Some(waker.clone()));
        let inbox = owner.inbox.clone();
        let sleeper = thread::spawn(move || {
            if timer.poll(&waker).is_pending() {
                let _another = timer.poll(Waker::noop());
            }
            drop(leave(timer, &inbox));
        });
        owner.fire();
        owner.end();
        sleeper.join().unwrap();
        assert_eq!(std::sync::Arc::strong_count(&first), 1);
    });
}

/// The target of a waker that panics if it is dropped and not woken.
#[derive(Default)]
struct PanicsUnlessWoken(AtomicBool);

impl Wake for PanicsUnlessWoken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

impl Drop for PanicsUnlessWoken {
    fn drop(&mut self) {
        if !*self.0.get_mut() {
            std::panic::resume_unwind(Box::new("the drop of a waker panics"));
        }
    }
}

#[test]
fn a_poll_leaves_no_waker_in_a_due_entry_if_the_old_wakers_drop_panics() {
    model(|| {
        let mut owner = Owner::new();
        let old = std::sync::Arc::<PanicsUnlessWoken>::default().into();
        let mut timer = owner.timers.arm(DEADLINE_NS, Some(old));
        let inbox = owner.inbox.clone();
        let sleeper = thread::spawn(move || {
            let (new, waker) = counted();
            let _panics_or_not = catch_unwind(AssertUnwindSafe(|| timer.poll(&waker)));
            (timer, new)
        });
        owner.fire();
        let (timer, new) = sleeper.join().unwrap();
        assert!(timer.is_due());
        assert_eq!(std::sync::Arc::strong_count(&new), 1, "the entry has kept the waker");
        drop(leave(timer, &inbox));
        owner.end();
    });
}

#[test]
fn a_reset_on_another_thread_moves_the_waker_to_another_wheel() {
    model(|| {
        let mut owner = Owner::new();
        let (count, waker) = counted();
        let timer = owner.timers.arm(DEADLINE_NS, Some(waker));
        let inbox = owner.inbox.clone();
        let sleeper = thread::spawn(move || {
            let mut other = Owner::new();
            let was_called = match leave(timer, &inbox) {
                // Woken by the first wheel, for a deadline that does not count any more.
                None => true,
                Some(waker) => {
                    let timer = other.timers.arm(DEADLINE_NS, Some(waker));
                    other.fire();
                    assert!(timer.is_due());
                    drop(leave(timer, &other.inbox));
                    false
                }
            };
            other.end();
            was_called
        });
        owner.fire();
        let _either_wheel_has_called_it = sleeper.join().unwrap();
        owner.end();
        assert_eq!(count.0.load(SeqCst), 1);
        assert_eq!(std::sync::Arc::strong_count(&count), 1);
    });
}

#[test]
fn two_sleepers_leave_at_once() {
    model(|| {
        let mut owner = Owner::new();
        let sleepers = [(); 2].map(|()| {
            let (timer, inbox) = (owner.timers.arm(DEADLINE_NS, None), owner.inbox.clone());
            thread::spawn(move || drop(leave(timer, &inbox)))
        });
        owner.clear_left();
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
        owner.end();
    });
}
