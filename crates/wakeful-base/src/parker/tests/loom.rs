use super::*;
use crate::sync::atomic::AtomicBool;

#[test]
fn an_unpark_is_never_lost() {
    ::loom::model(|| {
        let parker = Parker::new();
        let flag = Arc::new(AtomicBool::new(false));
        let (unparker, set) = (parker.unparker(), flag.clone());
        let other = thread::spawn(move || {
            set.store(true, Release);
            unparker.unpark();
        });
        while !flag.load(Acquire) {
            parker.park();
        }
        other.join().unwrap();
    });
}

#[test]
fn two_unparkers_leave_at_most_one_token() {
    ::loom::model(|| {
        let parker = Parker::new();
        let (a, b) = (parker.unparker(), parker.unparker());
        let first = thread::spawn(move || a.unpark());
        let second = thread::spawn(move || b.unpark());
        parker.park();
        first.join().unwrap();
        second.join().unwrap();
        parker.park_timeout(Duration::from_nanos(1));
        assert_ne!(parker.inner.state.load(Acquire), NOTIFIED);
    });
}
