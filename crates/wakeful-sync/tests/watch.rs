//! `watch`: seen and unseen versions, closing, panics, and random runs checked against a model.

mod support;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;
use std::thread;
use std::time::Instant;

use support::*;
use wakeful_base::block_on;
use wakeful_sync::watch;

#[test]
fn the_first_value_counts_as_seen() {
    let (tx, mut rx) = watch::channel(1);
    assert!(!rx.has_changed().unwrap());
    assert_eq!(*rx.borrow(), 1);
    manual(rx.changed()).pending();
    tx.send(2).unwrap();
    assert!(rx.has_changed().unwrap());
    manual(rx.changed()).ready().unwrap();
    manual(rx.changed()).pending();
}

#[test]
fn all_receivers_are_woken_by_one_send() {
    let (tx, rx) = watch::channel(0);
    // More receivers than are woken in one batch under the lock.
    let mut receivers: Vec<_> = (0..100).map(|_| rx.clone()).collect();
    let mut waits: Vec<_> = receivers.iter_mut().map(|rx| manual(rx.changed())).collect();
    waits.iter_mut().for_each(Manual::pending);
    waits.iter_mut().for_each(Manual::pending);
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    for wait in &mut waits {
        assert_eq!(wait.wakes(), 1);
        wait.ready().unwrap();
    }
    drop(waits);
    assert!(receivers.iter().all(|rx| *rx.borrow() == 2 && !rx.has_changed().unwrap()));
}

#[test]
fn borrow_reports_whether_the_value_was_new() {
    let (tx, mut rx) = watch::channel(0);
    assert!(!rx.borrow().has_changed());
    tx.send(1).unwrap();
    assert!(rx.borrow().has_changed());
    assert!(rx.borrow_and_update().has_changed());
    assert!(!rx.borrow_and_update().has_changed());
    assert!(!tx.borrow().has_changed());
    assert_eq!(format!("{:?}", rx.borrow()), "Ref { inner: 1, has_changed: false }");
}

#[test]
fn the_last_value_is_reported_before_the_close() {
    let (tx, mut rx) = watch::channel(0);
    tx.send(1).unwrap();
    drop(tx);
    assert!(rx.has_changed().is_err() && rx.is_closed());
    manual(rx.changed()).ready().unwrap();
    let error = manual(rx.changed()).ready().unwrap_err();
    assert_eq!(error.to_string(), "channel closed");
    assert_eq!(*rx.borrow(), 1);
}

#[test]
fn dropping_the_last_sender_wakes_waiting_receivers() {
    let (tx, mut rx) = watch::channel(0);
    let second = tx.clone();
    assert_eq!(tx.sender_count(), 2);
    let mut wait = manual(rx.changed());
    wait.pending();
    drop(tx);
    wait.pending();
    assert_eq!(wait.wakes(), 0);
    drop(second);
    assert_eq!(wait.wakes(), 1);
    assert!(wait.ready().is_err());
}

#[test]
fn a_send_without_receivers_changes_nothing() {
    let (tx, rx) = watch::channel(0);
    drop(rx);
    let error = tx.send(1).unwrap_err();
    assert_eq!((error.0, error.to_string()), (1, "channel closed".to_owned()));
    assert_eq!(format!("{error:?}"), "SendError { .. }");
    assert_eq!(*tx.borrow(), 0);
    assert_eq!(tx.send_replace(2), 0);
    tx.send_modify(|value| *value += 1);
    let rx = tx.subscribe();
    assert_eq!((*rx.borrow(), rx.has_changed().unwrap()), (3, false));
}

#[test]
fn an_unmodified_value_wakes_no_receiver() {
    let (tx, mut rx) = watch::channel(0);
    let mut wait = manual(rx.changed());
    wait.pending();
    assert!(!tx.send_if_modified(|_| false));
    assert_eq!(wait.wakes(), 0);
    wait.pending();
    assert!(tx.send_if_modified(|value| {
        *value = 1;
        true
    }));
    assert_eq!(wait.wakes(), 1);
}

#[test]
fn mark_changed_and_mark_unchanged() {
    let (tx, mut rx) = watch::channel(0);
    rx.mark_changed();
    assert!(rx.has_changed().unwrap());
    manual(rx.changed()).ready().unwrap();
    tx.send(1).unwrap();
    rx.mark_unchanged();
    manual(rx.changed()).pending();
    assert!(rx.same_channel(&tx.subscribe()) && tx.same_channel(&tx.clone()));
}

#[test]
fn a_clone_has_seen_what_the_original_has() {
    let (tx, mut rx) = watch::channel(0);
    tx.send(1).unwrap();
    let unseen = rx.clone();
    rx.borrow_and_update();
    assert!(unseen.has_changed().unwrap());
    assert!(!rx.clone().has_changed().unwrap());
    assert_eq!(tx.receiver_count(), 2);
}

#[test]
fn wait_for_checks_the_current_value_and_each_change() {
    let (tx, mut rx) = watch::channel(0);
    assert_eq!(*manual(rx.wait_for(|value| *value == 0)).ready().unwrap(), 0);
    let mut asked = Vec::new();
    let mut wait = manual(rx.wait_for(|value| {
        asked.push(*value);
        *value >= 3
    }));
    for value in 1..=3 {
        wait.pending();
        tx.send(value).unwrap();
        assert_eq!(wait.wakes(), value);
    }
    let found = wait.ready().unwrap();
    assert_eq!((*found, found.has_changed()), (3, false), "the wait has marked the value as seen");
    drop((found, wait));
    assert_eq!(asked, [0, 1, 2, 3]);
}

#[test]
fn wait_for_checks_the_last_value_once() {
    let (tx, mut rx) = watch::channel(0);
    tx.send(1).unwrap();
    drop(tx);
    let mut asked = Vec::new();
    let found = manual(rx.wait_for(|value| {
        asked.push(*value);
        false
    }))
    .ready();
    assert!(found.is_err());
    drop(found);
    assert_eq!(asked, [1]);
    assert!(manual(rx.wait_for(|value| *value == 1)).ready().is_ok());
}

#[test]
fn a_panic_in_user_code_leaves_the_channel_usable() {
    let (tx, mut rx) = watch::channel(0);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        tx.send_modify(|value| {
            *value = 1;
            panic!("in the closure");
        })
    }));
    assert!(caught.is_err());
    assert!(!rx.has_changed().unwrap());
    assert_eq!(*rx.borrow(), 1);
    let wait =
        AssertUnwindSafe(|| manual(rx.wait_for(|_| panic!("in the closure"))).poll().is_ready());
    assert!(catch_unwind(wait).is_err());
    tx.send(2).unwrap();
    assert_eq!(*rx.borrow_and_update(), 2);

    let mut other = rx.clone();
    let mut bad = manual(rx.changed());
    assert!(bad.poll_with(&panicking_waker()).is_pending());
    let mut good = manual(other.changed());
    good.pending();
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(3))).is_err());
    assert_eq!(good.wakes(), 1);
    good.ready().unwrap();
    bad.ready().unwrap();
}

#[test]
fn closed_waits_until_there_are_no_receivers() {
    let (tx, rx) = watch::channel(0);
    let second = rx.clone();
    let mut closed = manual(tx.closed());
    closed.pending();
    drop(rx);
    closed.pending();
    assert!(!tx.is_closed());
    drop(second);
    assert_eq!(closed.wakes(), 1);
    // There is a receiver again before the waiting sender is polled, so it continues to wait.
    let third = tx.subscribe();
    closed.pending();
    drop(third);
    closed.ready();
    assert!(tx.is_closed());
}

#[test]
fn values_are_dropped_once() {
    let alive = Alive::default();
    let (tx, rx) = watch::channel(alive.value(0));
    tx.send(alive.value(1)).unwrap();
    assert_eq!(alive.count(), 1);
    drop(tx.send_replace(alive.value(2)));
    drop(tx);
    assert_eq!(rx.borrow().number, 2);
    drop(rx);
    alive.assert_none();
}

#[test]
fn recv_uses_the_budget() {
    wakeful_base::budget::with_initial(|| {
        let (_tx, mut rx) = watch::channel(0);
        let mut spent = 0;
        while {
            rx.mark_changed();
            manual(rx.changed()).poll().is_ready()
        } {
            spent += 1;
        }
        assert_eq!(spent, 128);
    });
}

type Waiting = Pin<Box<dyn Future<Output = (watch::Receiver<u64>, bool)>>>;

enum Listener {
    Idle(watch::Receiver<u64>),
    Waiting(Manual<Waiting>),
}

/// The expected state of a receiver: the version it has seen.
struct Expected {
    seen: u64,
    listener: Listener,
}

/// One thread does random operations on all handles; a version counter says what they must return.
#[test]
fn random_runs_agree_with_a_model() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let tx = watch::Sender::new(0u64);
        // The value is the version.
        let mut version = 0;
        let mut listeners: Vec<Expected> = Vec::new();
        for _ in 0..200 {
            match random.below(6) {
                0 => {
                    version += 1;
                    tx.send_replace(version);
                }
                1 if listeners.len() < 5 => {
                    let listener = Listener::Idle(tx.subscribe());
                    listeners.push(Expected { seen: version, listener });
                }
                2 if !listeners.is_empty() => {
                    drop(listeners.swap_remove(random.below(listeners.len())));
                }
                _ if listeners.is_empty() => {}
                _ => {
                    let at = random.below(listeners.len());
                    let expected = listeners.swap_remove(at);
                    listeners.push(step(expected, version, &mut random));
                }
            }
            assert_eq!(tx.receiver_count(), listeners.len(), "seed {seed}");
        }
        drop(tx);
        for Expected { seen, listener } in listeners {
            if let Listener::Waiting(mut wait) = listener {
                assert!(wait.wakes() > 0, "seed {seed}: the close wakes the receiver");
                let (_, changed) = wait.ready();
                assert_eq!(changed, seen != version, "seed {seed}");
            }
        }
    }
}

fn step(expected: Expected, version: u64, random: &mut Random) -> Expected {
    let Expected { mut seen, listener } = expected;
    let listener = match listener {
        Listener::Waiting(mut wait) => {
            if seen != version {
                assert!(wait.wakes() > 0, "a change wakes the receiver");
            }
            match wait.poll() {
                Poll::Pending => {
                    assert_eq!(seen, version, "a change ends the wait");
                    Listener::Waiting(wait)
                }
                Poll::Ready((rx, changed)) => {
                    assert!(changed && seen != version, "only a change ends the wait");
                    seen = version;
                    Listener::Idle(rx)
                }
            }
        }
        Listener::Idle(mut rx) => match random.below(5) {
            0 => {
                assert_eq!(*rx.borrow(), version);
                assert_eq!(rx.has_changed().unwrap(), seen != version);
                Listener::Idle(rx)
            }
            1 => {
                let look = rx.borrow_and_update();
                assert_eq!((*look, look.has_changed()), (version, seen != version));
                drop(look);
                seen = version;
                Listener::Idle(rx)
            }
            2 => {
                // Started and then cancelled.
                if manual(rx.changed()).poll().is_ready() {
                    assert_ne!(seen, version);
                    seen = version;
                }
                Listener::Idle(rx)
            }
            _ => {
                let mut wait: Manual<Waiting> = manual(Box::pin(async move {
                    let changed = rx.changed().await.is_ok();
                    (rx, changed)
                }));
                match wait.poll() {
                    Poll::Pending => Listener::Waiting(wait),
                    Poll::Ready((rx, changed)) => {
                        assert!(changed && seen != version);
                        seen = version;
                        Listener::Idle(rx)
                    }
                }
            }
        },
    };
    Expected { seen, listener }
}

#[test]
fn stress_every_receiver_sees_the_last_value() {
    let deadline = stress_deadline();
    let (tx, rx) = watch::channel((0u64, 0u64));
    let receivers: Vec<_> = (0..3)
        .map(|seed| {
            let mut rx = rx.clone();
            thread::spawn(move || {
                let mut random = Random::new(seed);
                let mut last = 0;
                loop {
                    if random.below(3) == 0 {
                        // Polls a `changed` that may be cancelled.
                        let _ = manual(rx.changed()).poll();
                    }
                    let over = block_on(rx.changed()).is_err();
                    let (value, twice) = *rx.borrow_and_update();
                    assert_eq!(value * 2, twice, "a borrow sees a complete value");
                    assert!(value >= last, "values do not go back");
                    last = value;
                    if over {
                        return last;
                    }
                }
            })
        })
        .collect();
    drop(rx);
    let mut value = 0;
    while Instant::now() < deadline {
        value += 1;
        tx.send((value, value * 2)).unwrap();
        if value % 64 == 0 {
            thread::yield_now();
        }
    }
    drop(tx);
    for receiver in receivers {
        assert_eq!(receiver.join().unwrap(), value);
    }
}

#[test]
fn send_replace_returns_the_value_though_a_waker_panics() {
    let (tx, mut rx) = watch::channel(1);
    let mut changed = manual(rx.changed());
    assert!(changed.poll_with(&panicking_waker()).is_pending());
    assert_eq!(tx.send_replace(2), 1);
    changed.ready().unwrap();
}
