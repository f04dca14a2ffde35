use super::*;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use wakeful_base::sync::thread;
use wakeful_base::{Parker, Unparker};

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

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for the next notified member. A lost notification is a deadlock, which loom reports.
fn wait<V>(set: &mut NotifiedSet<V>) -> V {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(Unpark(parker.unparker())));
    while set.poll_notified(&waker).is_pending() {
        parker.park();
    }
    set.pop().expect("a notified member")
}

#[test]
fn no_notification_is_lost() {
    ::loom::model(|| {
        let mut set = NotifiedSet::new();
        let (first, second) = (insert(&mut set, 1), insert(&mut set, 2));
        let first = thread::spawn(move || first.wake());
        let second = thread::spawn(move || second.wake());
        assert_eq!(wait(&mut set) + wait(&mut set), 3);
        assert!(set.is_empty());
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn notifications_of_one_thread_keep_their_order() {
    ::loom::model(|| {
        let mut set = NotifiedSet::new();
        let (first, second) = (insert(&mut set, 1), insert(&mut set, 2));
        let other = thread::spawn(move || {
            first.wake();
            second.wake();
        });
        assert_eq!([wait(&mut set), wait(&mut set)], [1, 2]);
        other.join().unwrap();
    });
}

#[test]
fn a_member_woken_by_two_threads_is_popped_once() {
    ::loom::model(|| {
        let mut set = NotifiedSet::new();
        let (first, second) = (insert(&mut set, 1), insert(&mut set, 2));
        let again = first.clone();
        let other = thread::spawn(move || first.wake());
        let another = thread::spawn(move || {
            again.wake();
            second.wake();
        });
        assert_eq!([wait(&mut set), wait(&mut set)], [1, 2]);
        other.join().unwrap();
        another.join().unwrap();
    });
}

/// Counts how often it is woken.
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_waker_replaced_during_a_notification_is_not_lost() {
    ::loom::model(|| {
        let mut set = NotifiedSet::new();
        let member = insert(&mut set, ());
        let other = thread::spawn(move || member.wake());
        let counters = [(); 2].map(|()| Arc::new(Counter(AtomicUsize::new(0))));
        let mut registered = None;
        for counter in &counters {
            let polled = set.poll_notified(&Waker::from(counter.clone()));
            registered = polled.is_pending().then_some(counter);
            if polled.is_ready() {
                break;
            }
        }
        other.join().unwrap();
        if let Some(counter) = registered {
            assert_eq!(counter.0.load(SeqCst), 1, "the last registered waker is woken once");
        }
        assert_eq!(set.pop(), Some(()));
    });
}

#[test]
fn drained_members_notify_no_owner() {
    ::loom::model(|| {
        let mut set = NotifiedSet::new();
        let gone = insert(&mut set, "gone");
        let other = thread::spawn(move || gone.wake());
        set.drain(|value| assert_eq!(value, "gone"));
        let new = insert(&mut set, "new");
        let another = thread::spawn(move || new.wake());
        assert_eq!(wait(&mut set), "new");
        other.join().unwrap();
        another.join().unwrap();
    });
}

#[test]
fn the_set_is_dropped_while_members_are_notified() {
    ::loom::model(|| {
        let mut set = NotifiedSet::new();
        let value = Arc::new(());
        let wakers = [insert(&mut set, value.clone()), insert(&mut set, value.clone())];
        let others = wakers.map(|member| thread::spawn(move || member.wake()));
        drop(set.pop());
        drop(set);
        assert_eq!(Arc::strong_count(&value), 1);
        for other in others {
            other.join().unwrap();
        }
    });
}
