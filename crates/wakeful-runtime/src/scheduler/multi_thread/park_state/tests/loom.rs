//! Models of workers that park in the driver or on their threads. A lost notification is a
//! deadlock, which loom reports.

use super::*;
use crate::driver::DriverParts;
use crate::testing::model;
use std::sync::Arc;
use wakeful_base::sync::atomic::AtomicBool;
use wakeful_base::sync::thread;
use wakeful_base::{Parker, call_now};

struct Worker {
    park_state: ParkState,
    /// The reason to unpark the worker. Relaxed: only the notification makes the worker see it.
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
    fn unpark(&self, index: usize) {
        self.workers[index].reason.store(true, Relaxed);
        self.workers[index].park_state.unpark(&self.driver);
    }

    /// Starts a worker that parks until it sees the reason.
    fn parked_worker(self: &Arc<Self>, index: usize) -> thread::JoinHandle<()> {
        let scheduler = self.clone();
        thread::spawn(move || {
            let parker = Parker::new();
            let worker = &scheduler.workers[index];
            worker.park_state.set_unparker(parker.unparker());
            while !worker.reason.load(Relaxed) {
                worker.park_state.park(
                    Some(&scheduler.driver),
                    &Until::until_notified(),
                    &mut call_now,
                    || parker.park(),
                );
            }
        })
    }
}

#[test]
fn unpark_ends_a_park_in_the_driver() {
    model(|| {
        let (scheduler, _) = workers::<1>();
        let parked_worker = scheduler.parked_worker(0);
        scheduler.unpark(0);
        parked_worker.join().unwrap();
    });
}

#[test]
fn an_unpark_that_races_with_an_event_is_not_lost() {
    model(|| {
        let (scheduler, events) = workers::<1>();
        let parked_worker = scheduler.parked_worker(0);
        let event = thread::spawn(move || events.wake());
        scheduler.unpark(0);
        event.join().unwrap();
        parked_worker.join().unwrap();
    });
}

#[test]
fn two_workers_are_unparked_wherever_they_park() {
    model(|| {
        let (scheduler, _) = workers::<2>();
        let parked_workers = [scheduler.parked_worker(0), scheduler.parked_worker(1)];
        scheduler.unpark(0);
        scheduler.unpark(1);
        for parked_worker in parked_workers {
            parked_worker.join().unwrap();
        }
    });
}

#[test]
fn two_unparks_for_two_reasons() {
    model(|| {
        let (scheduler, _) = workers::<1>();
        let second = Arc::new(AtomicBool::new(false));
        let (other, also) = (scheduler.clone(), second.clone());
        let unparks = thread::spawn(move || {
            also.store(true, Relaxed);
            other.workers[0].park_state.unpark(&other.driver);
        });
        let parked_worker = scheduler.parked_worker(0);
        scheduler.unpark(0);
        parked_worker.join().unwrap();
        // The same worker on another thread, which the other notification has to reach.
        let parker = Parker::new();
        scheduler.workers[0].park_state.set_unparker(parker.unparker());
        while !second.load(Relaxed) {
            scheduler.workers[0].park_state.park(
                Some(&scheduler.driver),
                &Until::until_notified(),
                &mut call_now,
                || parker.park(),
            );
        }
        unparks.join().unwrap();
    });
}

/// Runs `f` while the driver is not free and another thread unparks the worker once. The function
/// that `f` is given parks the worker, with the given closure to park the thread.
fn park_outside_the_driver(
    f: impl Fn(&Worker, &Parker, &dyn Fn(&dyn Fn()) -> ParkOutcome) + Send + Sync + 'static,
) {
    model(move || {
        let (scheduler, _) = workers::<1>();
        let in_driver = scheduler.driver.driver.try_lock();
        let other = scheduler.clone();
        let unpark = thread::spawn(move || other.unpark(0));
        let (worker, parker) = (&scheduler.workers[0], Parker::new());
        worker.park_state.set_unparker(parker.unparker());
        f(worker, &parker, &|on_thread| {
            worker.park_state.park(
                Some(&scheduler.driver),
                &Until::until_notified(),
                &mut call_now,
                on_thread,
            )
        });
        unpark.join().unwrap();
        drop(in_driver);
    });
}

#[test]
fn unpark_ends_a_park_that_survives_a_stale_token() {
    park_outside_the_driver(|worker, parker, park| {
        while !worker.reason.load(Relaxed) {
            park(&|| {
                // A token that an earlier notification left ends the park of the thread, but not
                // the worker's.
                while worker.park_state.is_parked() {
                    parker.park();
                }
            });
        }
    });
}

#[test]
fn unpark_ends_the_second_park_after_the_first_returned() {
    park_outside_the_driver(|worker, parker, park| {
        let was_notified = park(&|| ()).was_notified || park(&|| parker.park()).was_notified;
        assert!(was_notified && worker.reason.load(Relaxed));
    });
}
