//! One call runs several pieces of user code, and more than one of them panics: the first panic
//! reaches the caller, and the process goes on. (A panic that leaves a destructor during unwinding
//! aborts the process, so without the fix a test here ends the whole program.)

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use support::*;
use wakeful_sync::broadcast;

const WAKE_PANICS: &str = "a waker panics";

/// Calls `f`, which has to panic, and returns the message.
#[track_caller]
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { panic!("the call should panic") };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().unwrap().to_string(),
    }
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
