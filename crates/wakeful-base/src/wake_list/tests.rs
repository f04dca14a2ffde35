use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Wake;

struct Count {
    woken: AtomicUsize,
    panics: bool,
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, SeqCst);
        assert!(!self.panics, "this waker panics");
    }
}

fn counter(panics: bool) -> Arc<Count> {
    Arc::new(Count { woken: AtomicUsize::new(0), panics })
}

#[test]
fn calls_each_once_and_can_be_filled_again() {
    let count = counter(false);
    let mut list = WakeList::new();
    for round in 1..=3 {
        while list.can_push() {
            list.push(count.clone().into());
        }
        list.wake_all();
        assert_eq!(count.woken.load(SeqCst), round * CAPACITY);
    }
    drop(list);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn a_panic_does_not_keep_other_wakers_from_being_called() {
    let (good, bad) = (counter(false), counter(true));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut list = WakeList::new();
        for waker in [&good, &bad, &good, &bad, &good] {
            list.push(waker.clone().into());
        }
        list.wake_all();
    }));
    assert!(caught.is_err());
    assert_eq!((good.woken.load(SeqCst), bad.woken.load(SeqCst)), (3, 2));
    assert_eq!((Arc::strong_count(&good), Arc::strong_count(&bad)), (1, 1));
}

#[test]
fn a_panic_is_kept_until_the_last_batch_has_been_called() {
    let (good, bad) = (counter(false), counter(true));
    let mut list = WakeList::new();
    for round in 1..=3 {
        for waker in [&good, &bad, &good, &bad] {
            list.push(waker.clone().into());
        }
        list.wake_batch();
        assert_eq!((good.woken.load(SeqCst), bad.woken.load(SeqCst)), (2 * round, 2 * round));
    }
    while list.can_push() {
        list.push(good.clone().into());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| list.wake_all())).is_err());
    assert_eq!(good.woken.load(SeqCst), 6 + CAPACITY);
    // The stored panic is resumed once only.
    list.wake_all();
}
