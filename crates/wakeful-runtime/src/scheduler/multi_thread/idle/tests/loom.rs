//! Workers that search, sleep and are woken. A task left behind with everybody asleep is a deadlock,
//! which loom reports.

use super::Idle;
use crate::driver::DriverParts;
use crate::scheduler::inject::InjectQueue;
use crate::scheduler::multi_thread::queue::{QueueOwner, RunQueue, run_queue};
use crate::scheduler::multi_thread::sleep::{SharedDriver, Sleep};
use crate::testing::{Entries, large_model, model};
use crate::timers::Until;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::{Condvar, Mutex, thread};
use wakeful_base::{Parker, call_now};
use wakeful_task::Runnable;

/// What workers share, as in the scheduler but without tasks that do anything.
struct Workers {
    idle: Idle,
    inject: InjectQueue,
    seats: Box<[Seat]>,
    driver: SharedDriver,
    /// Entries that nobody has taken yet; who takes the last one stops all.
    left: Mutex<usize>,
    all_taken: Condvar,
    stopping: AtomicBool,
}

struct Seat {
    queue: RunQueue,
    sleep: Sleep,
}

/// The worker's side of a seat.
struct Worker {
    shared: Arc<Workers>,
    index: usize,
    owner: QueueOwner,
    searching: bool,
    is_blocking: bool,
    got: Vec<Runnable>,
}

fn workers(count: usize, entries: usize) -> (Arc<Workers>, Vec<Worker>) {
    let DriverParts { driver, waker, .. } = DriverParts::new(None).unwrap();
    let (queues, owners): (Vec<_>, Vec<_>) = (0..count).map(|_| run_queue()).unzip();
    let seat = |queue| Seat { queue, sleep: Sleep::new() };
    let shared = Arc::new(Workers {
        idle: Idle::new(count),
        inject: InjectQueue::new(),
        seats: queues.into_iter().map(seat).collect(),
        driver: SharedDriver::new(driver, waker),
        left: Mutex::new(entries),
        all_taken: Condvar::new(),
        stopping: false.into(),
    });
    let worker = |(index, owner)| {
        let shared = shared.clone();
        Worker { shared, index, owner, searching: false, is_blocking: count > 1, got: Vec::new() }
    };
    let all = owners.into_iter().enumerate().map(worker).collect();
    (shared, all)
}

impl Workers {
    fn push_remote(&self, entry: Runnable) {
        self.inject.push(entry).expect("nobody closes it");
        self.wake_worker();
    }

    fn wake_worker(&self) {
        if let Some(index) = self.idle.worker_to_wake() {
            self.seats[index].sleep.call(&self.driver);
        }
    }

    fn has_visible_work(&self) -> bool {
        !self.inject.is_empty() || self.seats.iter().any(|seat| !seat.queue.is_empty())
    }

    fn stop(&self) {
        self.stopping.store(true, SeqCst);
        self.all_taken.notify_all();
        for seat in &self.seats {
            seat.sleep.call(&self.driver);
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }
}

impl Worker {
    /// As `Sitter::run`, until all entries have been taken by somebody.
    fn run(mut self) -> (Vec<Runnable>, QueueOwner) {
        let parker = Parker::new();
        self.seat().sleep.sit(parker.unparker());
        while !self.shared.is_stopping() {
            match self.next() {
                Some(entry) => self.poll(entry),
                None => self.sleep(&parker),
            }
        }
        (self.got, self.owner)
    }

    /// As a worker's own wakes: without a fence, so that a worker falling asleep may be missed.
    fn push_own(mut self, entries: Vec<Runnable>) -> Worker {
        let shared = self.shared.clone();
        for entry in entries {
            self.owner.push(&shared.seats[self.index].queue, entry);
            if shared.idle.wants_wake() {
                shared.wake_worker();
            }
        }
        self
    }

    fn seat(&self) -> &Seat {
        &self.shared.seats[self.index]
    }

    fn next(&mut self) -> Option<Runnable> {
        let shared = self.shared.clone();
        let own = &shared.seats[self.index].queue;
        let local = self.owner.pop(own);
        let local = local.or_else(|| self.take_injected());
        if local.is_some() {
            return local;
        }
        if !self.searching {
            self.searching = shared.idle.begin_search();
        }
        if !self.searching {
            return None;
        }
        let mut others = shared.seats.iter().filter(|seat| !std::ptr::eq(&seat.queue, own));
        let stolen = others.find_map(|seat| seat.queue.steal_into(own, &mut self.owner));
        stolen.map(|(entry, _)| entry).or_else(|| self.take_injected())
    }

    fn take_injected(&mut self) -> Option<Runnable> {
        let shared = self.shared.clone();
        if shared.inject.is_empty() {
            return None;
        }
        let (mut first, own) = (None, &shared.seats[self.index].queue);
        shared.inject.pop_many(
            |len| len,
            |entry| match first {
                None => first = Some(entry),
                Some(_) => self.owner.push(own, entry),
            },
        );
        first
    }

    fn poll(&mut self, entry: Runnable) {
        if std::mem::take(&mut self.searching)
            && self.shared.idle.end_search()
            && self.shared.has_visible_work()
        {
            self.shared.wake_worker();
        }
        self.got.push(entry);
        let mut left = self.shared.left.lock();
        *left -= 1;
        if *left == 0 {
            drop(left);
            return self.shared.stop();
        }
        // A poll that blocks: it is for the other workers to take what is left.
        while self.is_blocking && *left > 0 {
            left = self.shared.all_taken.wait(left);
        }
    }

    fn sleep(&mut self, parker: &Parker) {
        let shared = &self.shared;
        shared.idle.begin_sleep(self.index, self.searching);
        let sees_work = shared.has_visible_work();
        if !sees_work && !shared.is_stopping() {
            let (until, call) = (Until::called(), &mut call_now);
            self.seat().sleep.sleep(Some(&shared.driver), &until, call, || parker.park());
        } else {
            thread::yield_now();
        }
        self.searching = shared.idle.end_sleep(self.index, sees_work);
    }
}

/// Entries that the first worker has on its own queue, and those that come from elsewhere.
struct Pushes {
    own: usize,
    remote: usize,
}

/// Runs the workers until all entries are taken.
fn run(count: usize, pushes: Pushes) {
    let made = Entries::new();
    let (shared, mut workers) = workers(count, pushes.own + pushes.remote);
    // Polls that block are for those only whose tasks others are told of without fail.
    workers[0].is_blocking &= pushes.own == 0;
    let own: Vec<_> = (0..pushes.own).map(|_| made.make()).collect();
    let first = workers.remove(0);
    let mut threads = vec![thread::spawn(move || first.push_own(own).run())];
    threads.extend(workers.into_iter().map(|worker| thread::spawn(move || worker.run())));
    for _ in 0..pushes.remote {
        shared.push_remote(made.make());
    }
    let (mut got, mut owners) = (Vec::new(), Vec::new());
    for thread in threads {
        let (entries, owner) = thread.join().unwrap();
        got.extend(entries);
        // Nobody looks at a queue whose owner's side is gone.
        owners.push(owner);
    }
    made.assert_all(got);
}

/// Two workers that step back if they may, and an event that only who is in the driver sees.
#[test]
fn of_two_that_step_back_one_is_in_the_driver() {
    model(|| {
        let DriverParts { driver, waker, .. } = DriverParts::new(None).unwrap();
        let driver = SharedDriver::new(driver, waker.clone());
        let shared = Arc::new((Idle::new(2), driver, [Sleep::new(), Sleep::new()]));
        let threads = [0, 1].map(|index| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (idle, driver, sleeps) = &*shared;
                let parker = Parker::new();
                sleeps[index].sit(parker.unparker());
                idle.begin_sleep(index, false);
                let in_driver = idle.are_all_asleep().then_some(driver);
                let (until, call) = (Until::called(), &mut call_now);
                if sleeps[index].sleep(in_driver, &until, call, || parker.park()).was_in_driver {
                    sleeps[1 - index].call(driver);
                }
            })
        });
        waker.wake();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_remote_push_meets_the_only_worker_going_to_sleep() {
    model(|| run(1, Pushes { own: 0, remote: 2 }));
}

#[test]
fn what_one_worker_blocks_on_the_other_takes() {
    large_model(|| run(2, Pushes { own: 0, remote: 2 }));
}

#[test]
fn what_a_worker_pushes_is_taken_by_itself_or_a_thief() {
    large_model(|| run(2, Pushes { own: 2, remote: 0 }));
}

#[test]
fn own_and_remote_pushes_meet_a_worker_going_to_sleep() {
    large_model(|| run(2, Pushes { own: 1, remote: 1 }));
}
