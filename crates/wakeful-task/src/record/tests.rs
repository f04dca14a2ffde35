use super::*;
use crate::tests::home::TestHome;
use crate::tests::probes::Gate;
use crate::{Header, Polled, Runnable, recording, set_name};

const EPOCH: Epoch = Epoch(7);

fn record_of(origin: &Origin) -> &Record {
    origin.record_or_install()
}

#[test]
fn a_name_is_kept_with_and_without_a_record() {
    let here = Location::caller();
    let origin = Origin::new(here);
    assert_eq!((origin.name(), origin.location()), (None, here));
    origin.set_name("first");
    origin.set_name("second");
    assert_eq!((origin.name(), origin.location()), (Some("first"), here));
    record_of(&origin);
    assert_eq!((origin.name(), origin.location()), (Some("first"), here));

    let origin = Origin::new(here);
    record_of(&origin);
    assert_eq!((origin.name(), origin.location()), (None, here));
    origin.set_name("late");
    assert_eq!((origin.name(), origin.location()), (Some("late"), here));
}

#[test]
fn a_poll_adds_its_time_and_the_delay_before_it() {
    let origin = Origin::new(Location::caller());
    let record = record_of(&origin);
    assert_eq!(record.read(EPOCH, 1), None);
    record.note_spawn(EPOCH, 10_000, 3);
    assert_eq!(record.begin_poll(EPOCH, 15_000), Some(5_000));
    assert_eq!(record.end_poll(15_000, 45_000, false, 9), 30_000);
    let figures = record.read(EPOCH, 50_000).unwrap();
    let time = |ticks| Duration::from_nanos(ticks::to_ns(ticks));
    assert_eq!((figures.polls, figures.wakes, figures.woken_by), (1, 0, Some(3)));
    assert_eq!((figures.busy, figures.scheduled), (time(30_000), time(5_000)));
    assert_eq!((figures.last_poll_ago, figures.woken_ago), (Some(time(35_000)), None));

    // Two wake-ups before the next poll: the delay counts from the first one.
    assert!(record.note_wake(EPOCH, 60_000, 4, false));
    assert!(record.note_wake(EPOCH, 70_000, 5, false));
    assert_eq!(record.read(EPOCH, 80_000).unwrap().woken_ago, Some(time(20_000)));
    assert_eq!(record.begin_poll(EPOCH, 90_000), Some(30_000));
    // A wake-up during the poll: the delay counts from its end.
    assert!(record.note_wake(EPOCH, 95_000, 9, true));
    record.end_poll(90_000, 100_000, false, 9);
    assert_eq!(record.begin_poll(EPOCH, 101_000), Some(1_000));
    record.end_poll(101_000, 102_000, true, 9);
    assert_eq!(record.begin_poll(EPOCH, 104_000), Some(2_000));
    let figures = record.read(EPOCH, 104_000).unwrap();
    assert_eq!((figures.polls, figures.wakes, figures.self_wakes), (4, 4, 2));
    assert_eq!(figures.woken_by, Some(9));
}

#[test]
fn figures_begin_anew_in_another_recording() {
    let origin = Origin::new(Location::caller());
    let record = record_of(&origin);
    let spawned = 1 << 40;
    record.note_spawn(EPOCH, spawned, 3);
    record.begin_poll(EPOCH, spawned + 10);
    record.end_poll(spawned + 10, spawned + 20, false, 9);
    let next = Epoch(8);
    assert_eq!(record.read(next, spawned + 30), None);
    assert!(!record.note_wake(next, spawned + 30, 1, false), "not before a poll");
    assert_eq!(record.begin_poll(next, spawned + 40), None);
    let figures = record.read(next, spawned + 50).unwrap();
    assert_eq!((figures.polls, figures.wakes, figures.busy), (1, 0, Duration::ZERO));
    assert!(record.age(spawned + (1 << 30)).is_some(), "the age does not depend on it");
}

fn run_observed(runnable: Runnable, home: &TestHome) -> Option<Runnable> {
    match runnable.run_observed(|| false) {
        Polled::Pending(running) => running.idle(),
        Polled::Ended(finishing) => {
            home.end(finishing, crate::tests::home::Ending::AtOnce);
            None
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_copy_of_a_header_has_the_place_of_a_recorded_and_named_task() {
    let _recording = recording::Guard::begin();
    let (home, gate) = (TestHome::new(), Gate::default());
    let (runnable, join) = home.task(gate.then(()));
    let (id, site) = (runnable.id().as_u64(), runnable.spawned_at());
    let task = runnable.task();
    let copied = || {
        let copy = Header::copy_of(task).unwrap();
        // SAFETY: the task is alive.
        unsafe { copy.id_and_site() }
    };
    assert_eq!(copied(), (id, site));
    set_name(&join, "copied");
    assert_eq!(copied(), (id, site));
    assert!(run_observed(runnable, &home).is_none());
    assert_eq!(copied(), (id, site));
    gate.open();
    gate.take_waker().wake();
    assert!(run_observed(home.pop().unwrap(), &home).is_none());
    drop((join, gate));
    home.assert_all_freed();
}

#[test]
fn wakes_are_noted_from_the_first_recorded_poll_to_the_first_that_is_not() {
    let guard = recording::Guard::begin();
    let (home, gate) = (TestHome::new(), Gate::default());
    let (runnable, join) = home.task(gate.then(()));
    let task = runnable.retain();
    assert!(run_observed(runnable, &home).is_none());
    let wakes = || task.figures(ticks::now()).map(|figures| figures.wakes);
    assert_eq!(wakes(), Some(0));
    gate.take_waker().wake();
    assert_eq!(wakes(), Some(1));
    let again = home.pop().unwrap();
    // Not recorded, as if there were no guard any more.
    assert!(matches!(
        home.run(again, crate::tests::home::Ending::AtOnce),
        crate::tests::home::RunResult::Idle
    ));
    gate.take_waker().wake();
    assert_eq!(wakes(), Some(1));
    gate.open();
    assert!(run_observed(home.pop().unwrap(), &home).is_none());
    drop((guard, join, task, gate));
    home.assert_all_freed();
}
