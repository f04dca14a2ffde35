//! Sleepers in the driver and on their threads. A call that is lost is a deadlock, which loom reports.

use super::*;
use crate::driver::DriverParts;
use crate::testing::model;
use std::sync::Arc;
use wakeful_base::sync::atomic::AtomicBool;
use wakeful_base::sync::thread;
use wakeful_base::{Parker, call_now};

struct Seat {
    sleep: Sleep,
    /// Why it is called. Relaxed: only the call makes the sleeper see it.
    reason: AtomicBool,
}

struct Seats<const N: usize> {
    driver: SharedDriver,
    seats: [Seat; N],
}

fn seats<const N: usize>() -> (Arc<Seats<N>>, Arc<dyn WakeDriver>) {
    let DriverParts { driver, waker, .. } = DriverParts::new(None).unwrap();
    let seats = [(); N].map(|()| Seat { sleep: Sleep::new(), reason: AtomicBool::new(false) });
    let driver = SharedDriver::new(driver, waker.clone());
    (Arc::new(Seats { driver, seats }), waker)
}

impl<const N: usize> Seats<N> {
    fn call(&self, index: usize) {
        self.seats[index].reason.store(true, Relaxed);
        self.seats[index].sleep.call(&self.driver);
    }

    /// Sleeps until it sees why it was called.
    fn sleeper(self: &Arc<Self>, index: usize) -> thread::JoinHandle<()> {
        let shared = self.clone();
        thread::spawn(move || {
            let parker = Parker::new();
            let seat = &shared.seats[index];
            seat.sleep.sit(parker.unparker());
            while !seat.reason.load(Relaxed) {
                seat.sleep
                    .sleep(Some(&shared.driver), &Until::called(), &mut call_now, || parker.park());
            }
        })
    }
}

#[test]
fn a_call_ends_a_sleep_in_the_driver() {
    model(|| {
        let (shared, _) = seats::<1>();
        let sleeper = shared.sleeper(0);
        shared.call(0);
        sleeper.join().unwrap();
    });
}

#[test]
fn a_call_that_meets_an_event_is_not_lost() {
    model(|| {
        let (shared, events) = seats::<1>();
        let sleeper = shared.sleeper(0);
        let event = thread::spawn(move || events.wake());
        shared.call(0);
        event.join().unwrap();
        sleeper.join().unwrap();
    });
}

#[test]
fn two_sleepers_are_called_wherever_they_sleep() {
    model(|| {
        let (shared, _) = seats::<2>();
        let sleepers = [shared.sleeper(0), shared.sleeper(1)];
        shared.call(0);
        shared.call(1);
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    });
}

#[test]
fn two_calls_for_two_reasons() {
    model(|| {
        let (shared, _) = seats::<1>();
        let second = Arc::new(AtomicBool::new(false));
        let (caller, also) = (shared.clone(), second.clone());
        let calls = thread::spawn(move || {
            also.store(true, Relaxed);
            caller.seats[0].sleep.call(&caller.driver);
        });
        let sleeper = shared.sleeper(0);
        shared.call(0);
        sleeper.join().unwrap();
        // The same seat with another sitter, whom the other call has to reach.
        let parker = Parker::new();
        shared.seats[0].sleep.sit(parker.unparker());
        while !second.load(Relaxed) {
            shared.seats[0].sleep.sleep(
                Some(&shared.driver),
                &Until::called(),
                &mut call_now,
                || parker.park(),
            );
        }
        calls.join().unwrap();
    });
}

/// The driver is not free, and the sleeper is called once: `f` has it sleep by the function it is given, however that is to
/// be done on the thread.
fn outside_of_the_driver(
    f: impl Fn(&Seat, &Parker, &dyn Fn(&dyn Fn()) -> Slept) + Send + Sync + 'static,
) {
    model(move || {
        let (shared, _) = seats::<1>();
        let in_driver = shared.driver.driver.try_lock();
        let caller = shared.clone();
        let call = thread::spawn(move || caller.call(0));
        let (seat, parker) = (&shared.seats[0], Parker::new());
        seat.sleep.sit(parker.unparker());
        f(seat, &parker, &|on_thread| {
            seat.sleep.sleep(Some(&shared.driver), &Until::called(), &mut call_now, on_thread)
        });
        call.join().unwrap();
        drop(in_driver);
    });
}

#[test]
fn a_call_ends_a_sleep_that_looks_about_meanwhile() {
    outside_of_the_driver(|seat, parker, sleep| {
        while !seat.reason.load(Relaxed) {
            sleep(&|| {
                // A token that an earlier call left ends a park, but not this sleep.
                while seat.sleep.is_asleep() {
                    parker.park();
                }
            });
        }
    });
}

#[test]
fn who_sleeps_on_after_a_while_is_called_all_the_same() {
    outside_of_the_driver(|seat, parker, sleep| {
        let was_called = sleep(&|| ()).was_called || sleep(&|| parker.park()).was_called;
        assert!(was_called && seat.reason.load(Relaxed));
    });
}
