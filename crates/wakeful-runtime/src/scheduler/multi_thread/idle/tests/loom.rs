//! Models of workers that search, park and are unparked. If a task is left behind while all workers
//! are parked, that is a deadlock, which loom reports.

use super::Idle;
use crate::driver::DriverParts;
use crate::scheduler::inject::InjectionQueue;
use crate::scheduler::multi_thread::park_state::{ParkState, SharedDriver};
use crate::scheduler::multi_thread::queue::{QueueOwner, RunQueue, run_queue};
use crate::testing::{Entries, large_model, model};
use crate::timers::Until;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::{Condvar, Mutex, thread};
use wakeful_base::{Parker, call_now};
use wakeful_task::Runnable;

/// What workers share, as in the real scheduler, but with tasks that do nothing.
struct Scheduler {
    idle: Idle,
    /// How many workers may search at a time, according to the notify rule.
    searchers: usize,
    inject: InjectionQueue,
    workers: Box<[Worker]>,
    driver: SharedDriver,
    /// The number of entries not taken yet. The worker that takes the last one stops all workers.
    left: Mutex<usize>,
    all_taken: Condvar,
    stopping: AtomicBool,
}

struct Worker {
    queue: RunQueue,
    park_state: ParkState,
}

/// A worker as its own thread sees it.
struct WorkerThread {
    scheduler: Arc<Scheduler>,
    index: usize,
    owner: QueueOwner,
    searching: bool,
    is_blocking: bool,
    got: Vec<Runnable>,
}

fn workers(count: usize, searchers: usize, entries: usize) -> (Arc<Scheduler>, Vec<WorkerThread>) {
    let DriverParts { driver, waker, .. } = DriverParts::new(None).unwrap();
    let (queues, owners): (Vec<_>, Vec<_>) = (0..count).map(|_| run_queue()).unzip();
    let worker = |queue| Worker { queue, park_state: ParkState::new() };
    let scheduler = Arc::new(Scheduler {
        idle: Idle::new(count),
        searchers,
        inject: InjectionQueue::new(),
        workers: queues.into_iter().map(worker).collect(),
        driver: SharedDriver::new(driver, waker),
        left: Mutex::new(entries),
        all_taken: Condvar::new(),
        stopping: false.into(),
    });
    let worker = |(index, owner)| {
        let scheduler = scheduler.clone();
        WorkerThread {
            scheduler,
            index,
            owner,
            searching: false,
            is_blocking: count > 1,
            got: Vec::new(),
        }
    };
    let all = owners.into_iter().enumerate().map(worker).collect();
    (scheduler, all)
}

impl Scheduler {
    fn push_remote(&self, entry: Runnable) {
        self.inject.push(entry).expect("the queue is never closed");
        self.notify_parked();
    }

    /// As the real rule, whose answer depends on estimates: one searcher at least, or more.
    fn notify_parked(&self) {
        if let Some(index) = self.idle.worker_to_notify(self.searchers) {
            self.workers[index].park_state.unpark(&self.driver);
        }
    }

    fn has_visible_work(&self) -> bool {
        !self.inject.is_empty() || self.idle.queued().any(|i| !self.workers[i].queue.is_empty())
    }

    fn stop(&self) {
        self.stopping.store(true, SeqCst);
        self.all_taken.notify_all();
        for worker in &self.workers {
            worker.park_state.unpark(&self.driver);
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }
}

impl WorkerThread {
    /// As the real `WorkerThread::run`, until all entries have been taken.
    fn run(mut self) -> (Vec<Runnable>, QueueOwner) {
        let parker = Parker::new();
        self.worker().park_state.set_unparker(parker.unparker());
        while !self.scheduler.is_stopping() {
            match self.next() {
                Some(entry) => self.poll(entry),
                None => self.park(&parker),
            }
        }
        (self.got, self.owner)
    }

    /// Pushes as a worker's own wake-ups do: without a fence, so that they may miss a worker that
    /// is about to park.
    fn push_own(mut self, entries: Vec<Runnable>) -> WorkerThread {
        let scheduler = self.scheduler.clone();
        for entry in entries {
            self.owner.push(&scheduler.workers[self.index].queue, entry);
            scheduler.idle.set_queued(self.index);
            if scheduler.idle.should_notify(scheduler.searchers) {
                scheduler.notify_parked();
            }
        }
        self
    }

    fn worker(&self) -> &Worker {
        &self.scheduler.workers[self.index]
    }

    fn next(&mut self) -> Option<Runnable> {
        let scheduler = self.scheduler.clone();
        let own = &scheduler.workers[self.index].queue;
        let local = self.owner.pop(own);
        let local = local.or_else(|| self.take_injected());
        if local.is_some() {
            return local;
        }
        if !self.searching {
            self.searching = scheduler.idle.begin_search();
        }
        if !self.searching {
            return None;
        }
        self.steal().or_else(|| self.take_injected())
    }

    /// One pass over the queues with tasks, as the real `steal`.
    fn steal(&mut self) -> Option<Runnable> {
        let scheduler = self.scheduler.clone();
        let (idle, own) = (&scheduler.idle, &scheduler.workers[self.index].queue);
        let mut at = 0;
        while let Some(index) = idle.next_queued(at, scheduler.workers.len() - at, self.index) {
            let victim = &scheduler.workers[index].queue;
            if victim.is_empty() {
                idle.clear_queued(index);
                if !victim.is_empty() {
                    idle.set_queued(index);
                }
            }
            if let Some((entry, count)) = victim.steal_into(own, &mut self.owner) {
                if count > 1 {
                    idle.set_queued(self.index);
                }
                return Some(entry);
            }
            at = index + 1;
        }
        None
    }

    fn take_injected(&mut self) -> Option<Runnable> {
        let scheduler = self.scheduler.clone();
        if scheduler.inject.is_empty() {
            return None;
        }
        let (mut first, own) = (None, &scheduler.workers[self.index].queue);
        scheduler.inject.pop_many(
            |len| len,
            |entry| match first {
                None => first = Some(entry),
                Some(_) => {
                    self.owner.push(own, entry);
                    scheduler.idle.set_queued(self.index);
                }
            },
        );
        first
    }

    fn poll(&mut self, entry: Runnable) {
        if std::mem::take(&mut self.searching)
            && self.scheduler.idle.end_search()
            && self.scheduler.has_visible_work()
        {
            self.scheduler.notify_parked();
        }
        self.got.push(entry);
        let mut left = self.scheduler.left.lock();
        *left -= 1;
        if *left == 0 {
            drop(left);
            return self.scheduler.stop();
        }
        // A poll that blocks: the other workers have to take what is left.
        while self.is_blocking && *left > 0 {
            left = self.scheduler.all_taken.wait(left);
        }
    }

    fn park(&mut self, parker: &Parker) {
        let scheduler = &self.scheduler;
        scheduler.idle.begin_park(self.index, self.searching);
        scheduler.idle.clear_queued(self.index);
        let sees_work = !scheduler.inject.is_empty() || scheduler.idle.is_any_queued();
        if !sees_work && !scheduler.is_stopping() {
            let (until, call) = (Until::until_notified(), &mut call_now);
            self.worker().park_state.park(Some(&scheduler.driver), &until, call, || parker.park());
        } else {
            thread::yield_now();
        }
        self.searching = scheduler.idle.end_park(self.index, sees_work);
    }
}

/// How many entries the first worker pushes to its own queue, and how many come from another
/// thread.
#[derive(Clone, Copy)]
struct Pushes {
    own: usize,
    remote: usize,
}

/// Runs the workers until all entries are taken.
fn run(count: usize, searchers: usize, pushes: Pushes) {
    let made = Entries::new();
    let (scheduler, mut workers) = workers(count, searchers, pushes.own + pushes.remote);
    // Polls may block only if every push is sure to notify the other workers.
    workers[0].is_blocking &= pushes.own == 0;
    let own: Vec<_> = (0..pushes.own).map(|_| made.make()).collect();
    let first = workers.remove(0);
    let mut threads = vec![thread::spawn(move || first.push_own(own).run())];
    threads.extend(workers.into_iter().map(|worker| thread::spawn(move || worker.run())));
    for _ in 0..pushes.remote {
        scheduler.push_remote(made.make());
    }
    let (mut got, mut owners) = (Vec::new(), Vec::new());
    for thread in threads {
        let (entries, owner) = thread.join().unwrap();
        got.extend(entries);
        // No thread uses a queue after its owner's side is dropped.
        owners.push(owner);
    }
    made.assert_all(got);
}

/// Two workers park outside the driver if they may, and only a worker in the driver sees the event.
#[test]
fn the_last_worker_to_park_is_in_the_driver() {
    model(|| {
        let DriverParts { driver, waker, .. } = DriverParts::new(None).unwrap();
        let driver = SharedDriver::new(driver, waker.clone());
        let scheduler = Arc::new((Idle::new(2), driver, [ParkState::new(), ParkState::new()]));
        let threads = [0, 1].map(|index| {
            let scheduler = scheduler.clone();
            thread::spawn(move || {
                let (idle, driver, park_states) = &*scheduler;
                let parker = Parker::new();
                park_states[index].set_unparker(parker.unparker());
                idle.begin_park(index, false);
                let in_driver = idle.are_all_parked().then_some(driver);
                let (until, call) = (Until::until_notified(), &mut call_now);
                if park_states[index].park(in_driver, &until, call, || parker.park()).was_in_driver
                {
                    park_states[1 - index].unpark(driver);
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
fn a_remote_push_races_with_the_only_worker_parking() {
    model(|| run(1, 1, Pushes { own: 0, remote: 2 }));
}

#[test]
fn the_other_worker_takes_what_a_blocked_worker_leaves() {
    for searchers in [1, 2] {
        large_model(move || run(2, searchers, Pushes { own: 0, remote: 2 }));
    }
}

#[test]
fn a_workers_push_is_run_by_itself_or_a_thief() {
    for searchers in [1, 2] {
        large_model(move || run(2, searchers, Pushes { own: 2, remote: 0 }));
    }
}

#[test]
fn own_and_remote_pushes_race_with_a_worker_parking() {
    for searchers in [1, 2] {
        large_model(move || run(2, searchers, Pushes { own: 1, remote: 1 }));
    }
}
