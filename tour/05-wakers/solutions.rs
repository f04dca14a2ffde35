//! Solutions to the exercises of step 5. `SOLUTIONS.md` explains them.
//!
//! 第 5 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{RawWaker, RawWakerVTable, Wake, Waker};

/// `Waker::noop`, by hand. The data is never used, so it may be a null pointer.
fn noop() -> Waker {
    const RAW: RawWaker = RawWaker::new(ptr::null(), &VTABLE);
    static VTABLE: RawWakerVTable = RawWakerVTable::new(|_| RAW, |_| (), |_| (), |_| ());
    // SAFETY: the functions do nothing and use no data, so they may be called from any thread, at
    // any time, any number of times.
    unsafe { Waker::from_raw(RAW) }
}

#[test]
fn a_waker_that_does_nothing_needs_no_data() {
    let waker = noop();
    let clone = waker.clone();
    clone.wake_by_ref();
    clone.wake();
    assert!(waker.will_wake(&noop()));
}

/// A task whose `wake` hands its own reference on to the queue.
struct Task {
    is_queued: AtomicBool,
    queue: mpsc::Sender<Arc<Task>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            // Of the sender there has to be a clone: the task moves into the queue with its own.
            let queue = self.queue.clone();
            let _ = queue.send(self);
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.clone().wake();
    }
}

#[test]
fn wake_can_hand_its_reference_to_the_queue() {
    let (queue, scheduled) = mpsc::channel();
    let task = Arc::new(Task { is_queued: AtomicBool::new(false), queue });
    let waker = Waker::from(task.clone());
    assert_eq!(Arc::strong_count(&task), 2);
    waker.wake();
    // The waker's reference is the queue's now: none was counted up, none down.
    assert_eq!(Arc::strong_count(&task), 2);
    let queued = scheduled.recv().unwrap();
    assert!(Arc::ptr_eq(&queued, &task));
}
