use super::*;
use crate::testing::{block_on, no_threads, plain_config, plain_info};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;

fn scheduler() -> Arc<CurrentThread> {
    let driver = DriverParts::new(None).unwrap();
    let info = plain_info(&driver);
    new(plain_config(), no_threads(), info, driver, None)
}

#[test]
fn a_waiting_thread_registers_once_and_unregisters() {
    let scheduler = scheduler();
    let (polled, is_polled) = mpsc::channel();
    let driving = scheduler.clone();
    let first = thread::spawn(move || {
        // Pending until the receiver is dropped.
        let until_alone = poll_fn(|cx| match polled.send(cx.waker().clone()) {
            Ok(()) => Poll::Pending,
            Err(_) => Poll::Ready(()),
        });
        block_on(&driving, until_alone);
    });
    // The future is polled, so the first thread has the core.
    let first_waker = is_polled.recv().unwrap();
    let mut polls = 0;
    block_on(
        &scheduler,
        poll_fn(|cx| {
            assert_eq!(scheduler.core_slot.lock().waiters.len(), 1);
            polls += 1;
            cx.waker().wake_by_ref();
            if polls < 100 { Poll::Pending } else { Poll::Ready(()) }
        }),
    );
    assert!(scheduler.core_slot.lock().waiters.is_empty());
    let panics = || block_on(&scheduler, async { resume_unwind(Box::new(())) });
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert!(scheduler.core_slot.lock().waiters.is_empty());
    drop(is_polled);
    first_waker.wake();
    first.join().unwrap();
    // The core is free again.
    let task = scheduler.spawn(pending::<()>(), Id::next(), Location::caller());
    task.abort();
    assert!(block_on(&scheduler, task).unwrap_err().is_cancelled());
    scheduler.shutdown();
}
