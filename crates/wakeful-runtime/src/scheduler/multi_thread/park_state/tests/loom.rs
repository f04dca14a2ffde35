//! Sleepers in the driver and on their threads. A call that is lost is a deadlock, which loom reports.

use super::*;
use crate::driver::DriverParts;
use crate::testing::model;
use std::sync::Arc;
use wakeful_base::sync::atomic::AtomicBool;
use wakeful_base::sync::thread;
use wakeful_base::{Parker, call_now};

struct Worker {
    park_state: ParkState,
    /// Why it is called. Relaxed: only the call makes the sleeper see it.
    reason: AtomicBool,
}

struct Workers<const N: usize> {
    driver: SharedDriver,
    workers: [Worker; N],
}

fn workers<const N: usize>() -> (Arc<Workers<N>>, Arc<dyn WakeDriver>) {
    let DriverParts { driver, waker, .. } = DriverParts::new(None).unwrap();
    let workers =
        [(); N].map(|()| Worker { park_state: ParkState::new(), reason: AtomicBool::new(false) });
    let driver = SharedDriver::new(driver, waker.clone());
    (Arc::new(Workers { driver, workers }), waker)
}

impl<const N: usize> Workers<N> {
    fn call(&self, index: usize) {
        self.workers[index].reason.store(true, Relaxed);
        self.workers[index].park_state.unpark(&self.driver);
    }

    /// Sleeps until it sees why it was called.
    fn sleeper(self: &Arc<Self>, index: usize) -> thread::JoinHandle<()> {
        let scheduler = self.clone();
        thread::spawn(move || {
            let parker = Parker::new();
            let worker = &scheduler.workers[index];
            worker.park_state.set_unparker(parker.unparker());
            while !worker.reason.load(Relaxed) {
                worker.park_state.park(
                    Some(&scheduler.driver),
                    &Until::called(),
                    &mut call_now,
                    || parker.park(),
                );
            }
        })
    }
}

#[test]
fn a_call_ends_a_sleep_in_the_driver() {
    model(|| {
        let (scheduler, _) = workers::<1>();
        let sleeper = scheduler.sleeper(0);
        scheduler.call(0);
        sleeper.join().unwrap();
    });
}

#[test]
fn a_call_that_meets_an_event_is_not_lost() {
    model(|| {
        let (scheduler, events) = workers::<1>();
        let sleeper = scheduler.sleeper(0);
        let event = thread::spawn(move || events.wake());
        scheduler.call(0);
        event.join().unwrap();
        sleeper.join().unwrap();
    });
}

#[test]
fn two_sleepers_are_called_wherever_they_sleep() {
    model(|| {
        let (scheduler, _) = workers::<2>();
        let sleepers = [scheduler.sleeper(0), scheduler.sleeper(1)];
        scheduler.call(0);
        scheduler.call(1);
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    });
}

#[test]
fn two_calls_for_two_reasons() {
    model(|| {
        let (scheduler, _) = workers::<1>();
        let second = Arc::new(AtomicBool::new(false));
        let (caller, also) = (scheduler.clone(), second.clone());
        let calls = thread::spawn(move || {
            also.store(true, Relaxed);
            caller.workers[0].park_state.unpark(&caller.driver);
        });
        let sleeper = scheduler.sleeper(0);
        scheduler.call(0);
        sleeper.join().unwrap();
        // The same seat with another sitter, whom the other call has to reach.
        let parker = Parker::new();
        scheduler.workers[0].park_state.set_unparker(parker.unparker());
        while !second.load(Relaxed) {
            scheduler.workers[0].park_state.park(
                Some(&scheduler.driver),
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
    f: impl Fn(&Worker, &Parker, &dyn Fn(&dyn Fn()) -> ParkOutcome) + Send + Sync + 'static,
) {
    model(move || {
        let (scheduler, _) = workers::<1>();
        let in_driver = scheduler.driver.driver.try_lock();
        let caller = scheduler.clone();
        let call = thread::spawn(move || caller.call(0));
        let (worker, parker) = (&scheduler.workers[0], Parker::new());
        worker.park_state.set_unparker(parker.unparker());
        f(worker, &parker, &|on_thread| {
            worker.park_state.park(
                Some(&scheduler.driver),
                &Until::called(),
                &mut call_now,
                on_thread,
            )
        });
        call.join().unwrap();
        drop(in_driver);
    });
}

#[test]
fn a_call_ends_a_sleep_that_looks_about_meanwhile() {
    outside_of_the_driver(|worker, parker, sleep| {
        while !worker.reason.load(Relaxed) {
            sleep(&|| {
                // A token that an earlier call left ends a park, but not this sleep.
                while worker.park_state.is_parked() {
                    parker.park();
                }
            });
        }
    });
}

#[test]
fn who_sleeps_on_after_a_while_is_called_all_the_same() {
    outside_of_the_driver(|worker, parker, sleep| {
        let was_notified = sleep(&|| ()).was_notified || sleep(&|| parker.park()).was_notified;
        assert!(was_notified && worker.reason.load(Relaxed));
    });
}
