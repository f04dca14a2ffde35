//! Models of [`Notify`], with two threads each. With three, two threads that wait for the line's
//! lock can yield to each other without end, and loom would follow them.

use super::*;
use wakeful_base::sync::thread;

fn block_on<F: Future>(future: F) -> F::Output {
    crate::blocking::block_on("a model", "nothing", future)
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn notify_one_reaches_a_waiter() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let waiting = notify.clone();
        let waiter = thread::spawn(move || block_on(waiting.notified()));
        notify.notify_one();
        waiter.join().unwrap();
        assert!(!notify.try_take_permit());
    });
}

#[test]
fn a_token_goes_there_and_back() {
    ::loom::model(|| {
        let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (waiting, answer) = (there.clone(), back.clone());
        let waiter = thread::spawn(move || {
            block_on(waiting.notified());
            answer.notify_one();
        });
        there.notify_one();
        block_on(back.notified());
        waiter.join().unwrap();
    });
}

#[test]
fn a_dropped_waiter_passes_its_notification_on() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut quitter = Box::pin(notify.notified());
        assert!(poll_once(quitter.as_mut()).is_pending());
        let other = notify.clone();
        let notifier = thread::spawn(move || other.notify_one());
        let patient = notify.notified();
        drop(quitter);
        block_on(patient);
        notifier.join().unwrap();
        assert!(!notify.try_take_permit());
    });
}

#[test]
fn notify_waiters_reaches_queued_and_unpolled_futures() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let (first, second) = (notify.clone().notified_owned(), notify.notified());
        let waiter = thread::spawn(move || block_on(first));
        notify.notify_waiters();
        block_on(second);
        waiter.join().unwrap();
        assert!(!notify.try_take_permit());
    });
}

#[test]
fn a_waiter_leaves_while_all_are_woken() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut quitter = Box::pin(notify.notified());
        assert!(poll_once(quitter.as_mut()).is_pending());
        let mut stayer = Box::pin(notify.notified());
        assert!(poll_once(stayer.as_mut()).is_pending());
        let other = notify.clone();
        let notifier = thread::spawn(move || other.notify_waiters());
        drop(quitter);
        block_on(stayer);
        notifier.join().unwrap();
        assert!(!notify.try_take_permit());
    });
}

#[test]
fn a_waiter_polled_during_notify_waiters_is_released() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut first = Box::pin(notify.notified());
        assert!(poll_once(first.as_mut()).is_pending());
        let mut last = Box::pin(notify.notified());
        assert!(poll_once(last.as_mut()).is_pending());
        let other = notify.clone();
        let notifier = thread::spawn(move || other.notify_waiters());
        // With another waker each time, and possibly between the wake-ups of the two waiters.
        block_on(last);
        // Created in the new round, and behind `first` in the line if that has not been released
        // yet.
        let mut late = Box::pin(notify.notified());
        assert!(poll_once(late.as_mut()).is_pending());
        assert!(poll_once(late.as_mut()).is_pending());
        assert!(poll_once(first.as_mut()).is_ready());
        notifier.join().unwrap();
        notify.notify_one();
        assert!(poll_once(late.as_mut()).is_ready());
    });
}

#[test]
fn notify_one_beside_notify_waiters_is_used_once() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut waiter = Box::pin(notify.notified());
        assert!(poll_once(waiter.as_mut()).is_pending());
        let other = notify.clone();
        let notifier = thread::spawn(move || other.notify_one());
        notify.notify_waiters();
        assert!(poll_once(waiter.as_mut()).is_ready());
        notifier.join().unwrap();
        // The waiter has used it up if it came before `notify_waiters`; otherwise it is a stored
        // permit.
        let _ = notify.try_take_permit();
        assert!(!notify.try_take_permit());
    });
}
