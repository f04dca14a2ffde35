use super::*;
use wakeful_base::sync::{Arc, thread};

#[test]
fn one_of_two_sets_and_a_waiter_sees_it() {
    ::loom::model(|| {
        let cell = Arc::new(SetOnce::new());
        let other = cell.clone();
        let setter = thread::spawn(move || other.set(Arc::new(1)).is_ok());
        let won = cell.set(Arc::new(2)).is_ok();
        let value = **crate::blocking::block_on("a model", "nothing", cell.wait());
        assert_eq!(value, if won { 2 } else { 1 });
        assert_ne!(setter.join().unwrap(), won);
    });
}

#[test]
fn a_waiter_is_woken() {
    ::loom::model(|| {
        let cell = Arc::new(SetOnce::new());
        let other = cell.clone();
        let setter = thread::spawn(move || other.set(Arc::new(1)).unwrap());
        assert_eq!(**crate::blocking::block_on("a model", "nothing", cell.wait()), 1);
        setter.join().unwrap();
    });
}
