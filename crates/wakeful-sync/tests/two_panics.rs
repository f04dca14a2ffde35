//! One call runs several pieces of user code, and more than one of them panics: the first panic
//! reaches the caller, and the process continues. (A panic that leaves a destructor during
//! unwinding aborts the process, so without the fix a test here ends the whole program.)

mod support;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

use support::*;
use wakeful_sync::{Notify, Semaphore, broadcast, mpsc, oneshot, watch};

const WAKE_PANICS: &str = "a waker panics";
const DROP_OF_WAKER_PANICS: &str = "the drop of a waker panics";

/// Calls `f`, which has to panic, and returns the message.
#[track_caller]
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { panic!("the call should panic") };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().unwrap().to_string(),
    }
}

/// A waker whose last reference panics when it is dropped, during unwinding too.
fn drop_panics() -> Waker {
    struct DropPanics;
    impl Wake for DropPanics {
        fn wake(self: Arc<Self>) {
            std::mem::forget(self);
        }
    }
    impl Drop for DropPanics {
        fn drop(&mut self) {
            panic!("{DROP_OF_WAKER_PANICS}");
        }
    }
    Arc::new(DropPanics).into()
}

/// A waker that calls a function when it is called.
fn on_wake(f: impl Fn() + Send + Sync + 'static) -> Waker {
    struct OnWake<F>(F);
    impl<F: Fn() + Send + Sync> Wake for OnWake<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }
    Arc::new(OnWake(f)).into()
}

/// Returns a waker that calls `on_clone` when it is cloned, and whose clones panic when they are
/// dropped, during unwinding too.
fn clones_panic<F: Fn() + Send + Sync>(on_clone: &'static F, on_wake: fn()) -> Waker {
    struct Data<F: 'static> {
        on_clone: &'static F,
        on_wake: fn(),
    }
    impl<F: Fn()> Data<F> {
        const ORIGINAL: &'static RawWakerVTable = &RawWakerVTable::new(
            |data| {
                (Self::get(data).on_clone)();
                RawWaker::new(data, Self::CLONE)
            },
            |_| (),
            |_| (),
            |_| (),
        );
        const CLONE: &'static RawWakerVTable = &RawWakerVTable::new(
            |data| RawWaker::new(data, Self::CLONE),
            |data| (Self::get(data).on_wake)(),
            |data| (Self::get(data).on_wake)(),
            |_| panic!("{DROP_OF_WAKER_PANICS}"),
        );

        fn get(data: *const ()) -> &'static Self {
            // SAFETY: `data` is the box that is leaked below.
            unsafe { &*data.cast() }
        }
    }
    let data: &'static Data<F> = Box::leak(Box::new(Data { on_clone, on_wake }));
    let raw = RawWaker::new(std::ptr::from_ref(data).cast(), Data::<F>::ORIGINAL);
    // SAFETY: `F` is `Sync` and the data leaked, so it may be used on any thread at any time. The
    // vtables' functions release nothing.
    unsafe { Waker::from_raw(raw) }
}

#[test]
fn broadcast_send_with_a_waker_and_the_overwritten_value() {
    let alive = Alive::default();
    let (tx, lagging) = broadcast::channel(1);
    let mut rx = tx.subscribe();
    assert!(tx.send(PanicsWhenDropped(alive.value(1), true)).is_ok());
    // The clone panics when it is dropped.
    std::mem::forget(rx.try_recv());
    let mut waiting = manual(rx.recv());
    assert!(waiting.poll_with(&panicking_waker()).is_pending());

    assert_eq!(panic_of(|| tx.send(PanicsWhenDropped(alive.value(2), false))), WAKE_PANICS);
    assert_eq!(waiting.ready().unwrap().0.number, 2);
    drop(waiting);
    drop((rx, lagging));
    assert_eq!(alive.count(), 1, "only the clone that was forgotten is left");
}

/// Returns a channel whose receiver's waker panics when it is dropped, and whose sender's waker
/// panics when it is called.
fn oneshot_with_hostile_wakers<T>() -> (oneshot::Sender<T>, oneshot::Receiver<T>) {
    let (mut tx, mut rx) = oneshot::channel();
    {
        let waker = drop_panics();
        assert!(Pin::new(&mut rx).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert!(tx.poll_closed(&mut Context::from_waker(&panicking_waker())).is_pending());
    (tx, rx)
}

#[test]
fn oneshot_receiver_dropped_with_both_wakers() {
    let (tx, rx) = oneshot_with_hostile_wakers::<u8>();
    assert_eq!(panic_of(|| drop(rx)), WAKE_PANICS);
    assert_eq!(tx.send(1), Err(1));
}

#[test]
fn oneshot_receiver_closed_with_both_wakers() {
    let (tx, mut rx) = oneshot_with_hostile_wakers::<u8>();
    assert_eq!(panic_of(|| rx.close()), WAKE_PANICS);
    assert!(rx.try_recv().is_err());
    assert_eq!(tx.send(1), Err(1));
}

#[test]
fn watch_send_with_a_waker_and_the_replaced_value() {
    let alive = Alive::default();
    let (tx, mut rx) = watch::channel(PanicsWhenDropped(alive.value(1), true));
    let mut changed = manual(rx.changed());
    assert!(changed.poll_with(&panicking_waker()).is_pending());

    assert_eq!(panic_of(|| tx.send(PanicsWhenDropped(alive.value(2), false))), WAKE_PANICS);
    assert!(changed.ready().is_ok());
    drop(changed);
    assert_eq!(rx.borrow().0.number, 2);
    drop((tx, rx));
    alive.assert_none();
}

#[test]
fn mpsc_registration_with_the_new_and_the_old_waker() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    {
        let waker = drop_panics();
        assert!(rx.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    }
    // The send comes while the waker is registered, which leaves the wake-up to the receiver.
    let send = Box::leak(Box::new(move || tx.send(1).unwrap()));
    let waker = clones_panic(send, || panic!("{WAKE_PANICS}"));
    assert_eq!(panic_of(|| rx.poll_recv(&mut Context::from_waker(&waker))), WAKE_PANICS);
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn mpsc_owned_permit_with_two_wakers_of_the_receiver() {
    let (tx, rx) = mpsc::channel(1);
    let permit = tx.try_reserve_owned().unwrap();
    let rx = Arc::new(Mutex::new(rx));
    let receiver = rx.clone();
    let waker = on_wake(move || {
        let mut rx = receiver.lock().unwrap();
        assert_eq!(rx.try_recv(), Ok(1));
        assert!(rx.poll_recv(&mut Context::from_waker(&panicking_waker())).is_pending());
        drop(rx);
        panic!("the first waker panics");
    });
    assert!(rx.lock().unwrap().poll_recv(&mut Context::from_waker(&waker)).is_pending());
    // The drop of the only sender, which the call would have returned, calls the second waker.
    assert_eq!(panic_of(|| permit.send(1)), "the first waker panics");
    assert!(rx.lock().unwrap().is_closed());
}

#[test]
fn semaphore_waiter_that_leaves_with_its_waker_and_that_of_the_next() {
    let semaphore = Semaphore::new(1);
    let mut first = manual(semaphore.acquire_many(2));
    {
        let waker = drop_panics();
        assert!(first.poll_with(&waker).is_pending());
    }
    let mut second = manual(semaphore.acquire());
    assert!(second.poll_with(&panicking_waker()).is_pending());

    assert_eq!(panic_of(|| drop(first)), WAKE_PANICS);
    drop(second.ready().unwrap());
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn semaphore_permit_is_acquired_though_the_drop_of_a_clone_panics() {
    static CLONES: AtomicUsize = AtomicUsize::new(0);
    let semaphore = Arc::new(Semaphore::new(0));
    let mut waiting = manual(semaphore.acquire());
    waiting.pending();
    let released = semaphore.clone();
    let on_clone = Box::leak(Box::new(move || match CLONES.fetch_add(1, SeqCst) {
        0 => released.add_permits(1),
        _ => panic!("the clone of a waker panics"),
    }));
    // The clone is not needed, since its creation grants the permit.
    assert!(waiting.poll_with(&clones_panic(on_clone, || ())).is_ready());
    drop(waiting);
    assert_eq!(semaphore.available_permits(), 1);
}

/// More waiters than one batch of wakers holds.
const MANY: usize = 40;

#[test]
fn broadcast_value_is_received_though_the_drop_of_the_waker_panics() {
    let (tx, _) = broadcast::channel(1);
    let wait = || {
        let mut rx = tx.subscribe();
        manual(async move { rx.recv().await })
    };
    let mut waiting: Vec<_> = (0..MANY).map(|_| wait()).collect();
    let last = Arc::new(Mutex::new(wait()));
    let received = Arc::new(Mutex::new(Poll::Pending));
    let (polled, result) = (last.clone(), received.clone());
    // Called before the last waiter is released, which holds a waker whose drop panics.
    let waker = on_wake(move || *result.lock().unwrap() = polled.lock().unwrap().poll());
    assert!(waiting[0].poll_with(&waker).is_pending());
    waiting[1..].iter_mut().for_each(Manual::pending);
    {
        let waker = drop_panics();
        assert!(last.lock().unwrap().poll_with(&waker).is_pending());
    }
    tx.send(7).unwrap();
    assert_eq!(*received.lock().unwrap(), Poll::Ready(Ok(7)));
}

#[test]
fn poll_that_releases_other_waiters_with_their_wakers_and_its_own() {
    static POLLS: AtomicUsize = AtomicUsize::new(0);
    let notify = Arc::new(Notify::new());
    let mut waiting: Vec<_> = (0..MANY).map(|_| manual(notify.notified())).collect();
    let own = std::mem::ManuallyDrop::new(clones_panic(&|| (), || ()).clone());
    let other = notify.clone();
    // The waiters behind the first batch are released by the second poll of `late`.
    let waker = on_wake(move || {
        let mut late = Box::pin(async { other.notified().await });
        for _ in 0..2 {
            assert!(late.as_mut().poll(&mut Context::from_waker(&own)).is_pending());
            POLLS.fetch_add(1, SeqCst);
        }
    });
    for (i, waiter) in waiting.iter_mut().enumerate() {
        match i {
            0 => assert!(waiter.poll_with(&waker).is_pending()),
            35 => assert!(waiter.poll_with(&panicking_waker()).is_pending()),
            _ => waiter.pending(),
        }
    }
    notify.notify_waiters();
    assert_eq!(POLLS.load(SeqCst), 2);
    waiting.iter_mut().for_each(|waiter| waiter.ready());
}
