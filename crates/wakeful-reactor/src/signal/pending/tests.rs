use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{RawWaker, RawWakerVTable, Wake};
use wakeful_base::call_now;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn counter() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (count.clone(), count.into())
}

fn poll(listener: &mut Listener<'_>) -> Poll<()> {
    listener.poll_delivery(Waker::noop())
}

#[test]
fn signals_that_come_together_are_one_delivery() {
    let pending = PendingSignals::new(4);
    let (mut first, mut second, mut other) =
        (pending.listen(1), pending.listen(1), pending.listen(2));
    pending.set_pending(1);
    pending.set_pending(1);
    assert!(poll(&mut first).is_pending(), "nothing is handed out yet");
    pending.distribute(&mut call_now);
    pending.set_pending(1);
    pending.distribute(&mut call_now);
    for listener in [&mut first, &mut second] {
        assert!(poll(listener).is_ready());
        assert!(poll(listener).is_pending());
    }
    assert!(poll(&mut other).is_pending());
}

#[test]
fn a_listener_receives_a_signal_that_was_pending_before_it() {
    let pending = PendingSignals::new(1);
    pending.set_pending(0);
    let mut early = pending.listen(0);
    pending.distribute(&mut call_now);
    let mut late = pending.listen(0);
    assert!(poll(&mut early).is_ready());
    assert!(poll(&mut late).is_pending());
}

#[test]
fn every_waker_is_called_once_and_the_last_one_only() {
    let pending = PendingSignals::new(1);
    // More listeners than fit into one batch of wakers.
    let mut listeners: Vec<_> = (0..100).map(|_| pending.listen(0)).collect();
    let ((old, old_waker), (new, new_waker)) = (counter(), counter());
    for listener in &mut listeners {
        assert!(listener.poll_delivery(&old_waker).is_pending());
        assert!(listener.poll_delivery(&new_waker).is_pending());
    }
    pending.set_pending(0);
    pending.distribute(&mut call_now);
    pending.set_pending(0);
    pending.distribute(&mut call_now);
    assert_eq!((old.0.load(SeqCst), new.0.load(SeqCst)), (0, 100));
    assert!(listeners.iter_mut().all(|listener| poll(listener).is_ready()));
}

#[test]
fn a_dropped_listeners_entry_is_reused() {
    let pending = PendingSignals::new(1);
    let (count, waker) = counter();
    let mut dropped = pending.listen(0);
    assert!(dropped.poll_delivery(&waker).is_pending());
    drop(waker);
    drop(dropped);
    assert_eq!(Arc::strong_count(&count), 1, "its waker went with it");
    for _ in 0..1000 {
        drop((pending.listen(0), pending.listen(0)));
    }
    assert_eq!(pending.channels[0].listeners.lock().wakers.len(), 0);
}

#[test]
fn a_waker_that_panics_does_not_affect_others() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker's own");
        }
    }
    let pending = PendingSignals::new(1);
    let (mut first, mut second) = (pending.listen(0), pending.listen(0));
    let (count, waker) = counter();
    assert!(first.poll_delivery(&Arc::new(Panics).into()).is_pending());
    assert!(second.poll_delivery(&waker).is_pending());
    pending.set_pending(0);
    pending.distribute(&mut call_now);
    assert_eq!(count.0.load(SeqCst), 1);
}

#[test]
fn a_waker_may_poll_listen_and_drop() {
    struct Busy(Mutex<Option<Listener<'static>>>, &'static PendingSignals);
    impl Wake for Busy {
        fn wake(self: Arc<Self>) {
            let mut listener = self.0.lock().take().unwrap();
            assert!(poll(&mut listener).is_ready());
            drop(listener);
            drop(self.1.listen(0));
            self.1.set_pending(0);
        }
    }
    let pending: &'static PendingSignals = Box::leak(Box::new(PendingSignals::new(1)));
    let busy = Arc::new(Busy(Mutex::new(None), pending));
    let mut listener = pending.listen(0);
    assert!(listener.poll_delivery(&busy.clone().into()).is_pending());
    *busy.0.lock() = Some(listener);
    pending.set_pending(0);
    pending.distribute(&mut call_now);
    assert!(busy.0.lock().is_none());
}

#[test]
fn a_delivery_is_not_lost_if_the_drop_of_a_wakers_clone_panics() {
    /// Its clone delivers a signal, and panics when it is dropped.
    static HOSTILE: RawWakerVTable = RawWakerVTable::new(
        |_| {
            PENDING.with(|pending| {
                pending.set_pending(0);
                pending.distribute(&mut call_now);
            });
            RawWaker::new(std::ptr::null(), &PANICS_ON_DROP)
        },
        |_| (),
        |_| (),
        |_| (),
    );
    static PANICS_ON_DROP: RawWakerVTable = RawWakerVTable::new(
        |data| RawWaker::new(data, &PANICS_ON_DROP),
        |_| (),
        |_| (),
        |_| panic!("the drop of a waker panics"),
    );
    thread_local! {
        static PENDING: &'static PendingSignals = Box::leak(Box::new(PendingSignals::new(1)));
    }

    let mut listener = PENDING.with(|pending| pending.listen(0));
    // SAFETY: the functions of both tables ignore their data and access a thread-local.
    let hostile = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &HOSTILE)) };
    let polled = catch_unwind(AssertUnwindSafe(|| listener.poll_delivery(&hostile)));
    polled.expect_err("the drop panics, which goes to the caller: it is its waker");
    assert!(poll(&mut listener).is_ready(), "the delivery is lost");
    assert!(poll(&mut listener).is_pending());
}
