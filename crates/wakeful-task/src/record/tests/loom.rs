//! Loom models of the origin and the record: a poll installs the record, while other threads name
//! the task, wake it and read; then the last reference frees all of it.

use crate::record::Origin;
use crate::recording::Guard;
use crate::tests::home::TestHome;
use crate::tests::probes::Gate;
use crate::{Polled, Runnable, set_name};
use std::panic::Location;
use std::sync::Arc;
use wakeful_base::sync::thread;

fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(f);
}

/// Runs an entry as a worker would that records polls.
fn run(home: &TestHome, runnable: Runnable) {
    match runnable.run_observed(|| false) {
        Polled::Pending(running) => {
            if let Some(again) = running.idle() {
                again.schedule();
            }
        }
        Polled::Ended(finishing) => {
            home.end(finishing, crate::tests::home::Ending::AtOnce);
        }
    }
}

#[test]
fn a_record_is_installed_while_the_task_is_named_and_read() {
    let _recording = Guard::begin();
    model(|| {
        let origin = Arc::new(Origin::new(Location::caller()));
        let line = origin.location().line();
        let (names, reads) = (origin.clone(), origin.clone());
        let naming = thread::spawn(move || {
            names.set_name("one");
            assert_eq!(names.name(), Some("one"));
        });
        let reading = thread::spawn(move || {
            assert_eq!(reads.location().line(), line);
            if let Some(record) = reads.record() {
                assert_eq!(record.age(1), None);
            }
        });
        let epoch = crate::recording::epoch().unwrap();
        assert_eq!(origin.record_or_install().begin_poll(epoch, 1), None);
        naming.join().unwrap();
        reading.join().unwrap();
        assert_eq!(origin.name(), Some("one"));
        assert_eq!(origin.location().line(), line);
        assert_eq!(origin.record().unwrap().read(epoch, 1).unwrap().polls, 1);
    });
}

#[test]
fn two_names_leave_one() {
    model(|| {
        let origin = Arc::new(Origin::new(Location::caller()));
        let names = origin.clone();
        let naming = thread::spawn(move || names.set_name("one"));
        origin.set_name("two");
        naming.join().unwrap();
        assert!(matches!(origin.name(), Some("one" | "two")));
    });
}

#[test]
fn wakes_during_and_after_a_recorded_poll_are_counted() {
    let _recording = Guard::begin();
    model(|| {
        let (home, gate) = (TestHome::new(), Gate::default());
        let join = home.spawn(gate.then(()));
        run(&home, home.pop().unwrap());
        let waker = gate.take_waker();
        let header_of = waker.clone();
        // SAFETY: the waker's data is the task, which the waker keeps alive.
        let header = unsafe { &*header_of.data().cast::<crate::Header>() };
        let other = thread::spawn(move || waker.wake());
        set_name(&join, "waits");
        if let Some(entry) = home.pop() {
            run(&home, entry);
        }
        other.join().unwrap();
        let figures = header.figures(wakeful_base::ticks::now()).unwrap();
        assert_eq!((figures.wakes, header.name()), (1, Some("waits")));
        gate.open();
        header_of.wake_by_ref();
        while let Some(entry) = home.pop() {
            run(&home, entry);
        }
        let figures = header.figures(wakeful_base::ticks::now()).unwrap();
        // Two if the second wake-up found the task in the queue.
        assert!(matches!(figures.polls, 2 | 3) && figures.wakes == 2, "{figures:?}");
        assert!(join.is_finished());
        drop((join, header_of, gate));
        home.assert_all_freed();
    });
}
