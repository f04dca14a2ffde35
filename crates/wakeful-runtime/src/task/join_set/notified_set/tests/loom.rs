use super::*;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use wakeful_base::sync::thread;
use wakeful_base::{Parker, Unparker};

/// Adds a member that is not announced yet.
fn insert<V: 'static>(set: &mut NotifiedSet<V>, value: V) -> Waker {
    let mut announce = None;
    let arm = |_: &mut V, waker: &Waker| {
        announce = Some(waker.clone());
        true
    };
    set.insert(value, arm);
    announce.unwrap()
}

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for the next announcement; a lost one is a deadlock, which loom reports.
fn wait<V>(set: &mut NotifiedSet<V>) -> V {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(Unpark(parker.unparker())));
    while set.poll_announced(&waker).is_pending() {
        parker.park();
    }
    set.pop().expect("announced")
}

#[test]
fn no_announcement_is_lost() {
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
fn one_thread_announces_in_order() {
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
fn a_member_woken_from_two_sides_comes_out_once() {
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
fn a_waker_that_changes_meets_the_announcement() {
    ::loom::model(|| {
        let mut set = NotifiedSet::new();
        let member = insert(&mut set, ());
        let other = thread::spawn(move || member.wake());
        let counters = [(); 2].map(|()| Arc::new(Counter(AtomicUsize::new(0))));
        let mut waits_with = None;
        for counter in &counters {
            let polled = set.poll_announced(&Waker::from(counter.clone()));
            waits_with = polled.is_pending().then_some(counter);
            if polled.is_ready() {
                break;
            }
        }
        other.join().unwrap();
        if let Some(counter) = waits_with {
            assert_eq!(counter.0.load(SeqCst), 1, "the one it waits with");
        }
        assert_eq!(set.pop(), Some(()));
    });
}

#[test]
fn members_that_leave_announce_themselves_to_nobody() {
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
fn the_set_goes_while_members_announce_themselves() {
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
