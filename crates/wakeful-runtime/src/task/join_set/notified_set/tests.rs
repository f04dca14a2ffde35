use super::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Counts how often it is woken.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Counter {
    fn new() -> (Arc<Counter>, Waker) {
        let counter = Arc::new(Counter::default());
        (counter.clone(), counter.into())
    }

    fn woken(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// Adds a member that is not notified yet, and returns its waker.
fn insert<V: 'static>(set: &mut NotifiedSet<V>, value: V) -> Waker {
    let mut member_waker = None;
    let arm = |_: &mut V, waker: &Waker| {
        member_waker = Some(waker.clone());
        true
    };
    set.insert(value, arm);
    member_waker.unwrap()
}

#[test]
fn members_are_popped_in_the_order_of_notification() {
    let mut set = NotifiedSet::new();
    let wakers: Vec<Waker> = (0..4).map(|n| insert(&mut set, n)).collect();
    assert_eq!((set.len(), set.pop()), (4, None));
    wakers[2].wake_by_ref();
    wakers[0].wake_by_ref();
    assert_eq!(set.pop(), Some(2));
    wakers[3].wake_by_ref();
    wakers[1].wake_by_ref();
    assert_eq!([set.pop(), set.pop(), set.pop()], [Some(0), Some(3), Some(1)]);
    assert_eq!((set.is_empty(), set.pop()), (true, None));
}

#[test]
fn a_member_that_cannot_be_armed_is_notified_immediately() {
    let mut set = NotifiedSet::new();
    set.insert("ready", |_, _| false);
    assert!(set.poll_notified(Waker::noop()).is_ready());
    assert_eq!(set.pop(), Some("ready"));
}

#[test]
fn a_member_is_notified_once() {
    let mut set = NotifiedSet::new();
    let (first, second) = (insert(&mut set, 1), insert(&mut set, 2));
    let (counter, waker) = Counter::new();
    assert!(set.poll_notified(&waker).is_pending());
    for _ in 0..3 {
        first.wake_by_ref();
    }
    assert_eq!((set.pop(), set.pop()), (Some(1), None));
    assert!(set.poll_notified(&waker).is_pending());
    first.wake();
    assert_eq!((counter.woken(), set.pop()), (1, None));
    second.wake();
    assert_eq!((counter.woken(), set.pop()), (2, Some(2)));
}

#[test]
fn a_waiting_owner_is_woken_once_per_wait() {
    let mut set = NotifiedSet::new();
    let members: Vec<Waker> = (0..3).map(|n| insert(&mut set, n)).collect();
    let (counter, waker) = Counter::new();
    assert!(set.poll_notified(&waker).is_pending());
    members[0].wake_by_ref();
    members[1].wake_by_ref();
    assert_eq!(counter.woken(), 1);
    assert!(set.poll_notified(&waker).is_ready());
    assert_eq!([set.pop(), set.pop(), set.pop()], [Some(0), Some(1), None]);
    assert!(set.poll_notified(&waker).is_pending());
    members[2].wake_by_ref();
    assert_eq!(counter.woken(), 2);
}

#[test]
fn only_the_last_waker_is_woken() {
    let mut set = NotifiedSet::new();
    let member = insert(&mut set, ());
    let ((first, first_waker), (second, second_waker)) = (Counter::new(), Counter::new());
    assert!(set.poll_notified(&first_waker).is_pending());
    assert!(set.poll_notified(&second_waker).is_pending());
    member.wake();
    assert_eq!((first.woken(), second.woken()), (0, 1));
}

#[test]
fn a_pop_without_result_keeps_the_waker() {
    let mut set = NotifiedSet::new();
    let member = insert(&mut set, ());
    let (counter, waker) = Counter::new();
    assert!(set.poll_notified(&waker).is_pending());
    assert_eq!(set.pop(), None);
    member.wake();
    assert_eq!(counter.woken(), 1);
}

#[test]
fn a_drain_keeps_the_waker() {
    let mut set = NotifiedSet::new();
    let gone = insert(&mut set, "gone");
    let (counter, waker) = Counter::new();
    assert!(set.poll_notified(&waker).is_pending());
    set.drain(|value| assert_eq!(value, "gone"));
    gone.wake();
    assert_eq!((counter.woken(), set.pop()), (0, None));
    insert(&mut set, "new").wake();
    assert_eq!((counter.woken(), set.pop()), (1, Some("new")));
}

#[test]
fn a_drain_takes_members_in_every_state() {
    let mut set = NotifiedSet::new();
    let wakers: Vec<Waker> = (0..4).map(|n| insert(&mut set, n)).collect();
    wakers[0].wake_by_ref();
    wakers[1].wake_by_ref();
    assert_eq!(set.pop(), Some(0));
    wakers[2].wake_by_ref();
    let mut drained = Vec::new();
    set.drain(|value| drained.push(value));
    assert_eq!(drained, [1, 2, 3]);
    wakers[3].wake_by_ref();
    assert_eq!((set.len(), set.pop()), (0, None));
}

#[test]
fn values_are_dropped_with_the_set_and_entries_with_their_wakers() {
    let value = Arc::new(());
    let mut set = NotifiedSet::new();
    let wakers: Vec<Waker> = (0..3).map(|_| insert(&mut set, value.clone())).collect();
    let queue = Arc::downgrade(set.queue.as_ref().unwrap());
    wakers[1].wake_by_ref();
    drop(set);
    assert_eq!(Arc::strong_count(&value), 1);
    wakers[0].wake_by_ref();
    assert!(queue.upgrade().is_some(), "the remaining wakers still refer to the queue");
    drop(wakers);
    assert!(queue.upgrade().is_none());
}

#[test]
fn a_panic_during_a_drain_loses_no_value() {
    let value = Arc::new(());
    let mut set = NotifiedSet::new();
    for _ in 0..3 {
        insert(&mut set, value.clone());
    }
    let drained = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        set.drain(|_| panic!("at the first"));
    }));
    assert!(drained.is_err());
    assert_eq!((set.len(), Arc::strong_count(&value)), (2, 3));
    drop(set);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn threads_notify_members_while_the_owner_waits() {
    const MEMBERS: usize = if cfg!(miri) { 20 } else { 20_000 };
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut set = NotifiedSet::new();
    let mut shares: Vec<Vec<Waker>> = (0..4).map(|_| Vec::new()).collect();
    for n in 0..MEMBERS {
        shares[n % 4].push(insert(&mut set, n));
    }
    let mut seen = vec![false; MEMBERS];
    std::thread::scope(|scope| {
        for share in shares {
            scope.spawn(|| share.into_iter().for_each(Waker::wake));
        }
        while !set.is_empty() {
            while set.poll_notified(&waker).is_pending() {
                std::thread::park();
            }
            let n = set.pop().expect("a notified member");
            assert!(!std::mem::replace(&mut seen[n], true), "{n} came out twice");
        }
    });
    assert!(seen.into_iter().all(|seen| seen));
}
