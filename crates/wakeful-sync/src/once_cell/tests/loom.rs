//! Models of [`OnceCell`], with two threads each, for the reason given in the models of `Notify`.

use super::*;
use std::future::ready;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use wakeful_base::block_on;
use wakeful_base::sync::{Arc, thread};

#[test]
fn one_of_two_makes_the_value_and_both_see_it() {
    ::loom::model(|| {
        let cell = Arc::new(OnceCell::new());
        let other = cell.clone();
        let maker = thread::spawn(move || **block_on(other.get_or_init(|| ready(Arc::new(1)))));
        let seen = **block_on(cell.get_or_init(|| ready(Arc::new(2))));
        assert_eq!(maker.join().unwrap(), seen);
    });
}

#[test]
fn a_value_is_set_while_another_is_made() {
    ::loom::model(|| {
        let cell = Arc::new(OnceCell::new());
        let other = cell.clone();
        let setter = thread::spawn(move || other.set(Arc::new(1)).is_ok());
        let seen = **block_on(cell.get_or_init(|| ready(Arc::new(2))));
        assert_eq!(setter.join().unwrap(), seen == 1);
        assert_eq!(**cell.get().unwrap(), seen);
    });
}

#[test]
fn a_cancelled_initializer_passes_the_permit_on() {
    ::loom::model(|| {
        let cell = Arc::new(OnceCell::new());
        let other = cell.clone();
        let maker = thread::spawn(move || **block_on(other.get_or_init(|| ready(Arc::new(1)))));
        {
            let given_up = pin!(cell.get_or_init(std::future::pending));
            match given_up.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(value) => assert_eq!(**value, 1),
                Poll::Pending => {}
            }
        }
        assert_eq!(maker.join().unwrap(), 1);
    });
}
