//! Models of workers that search, park and are unparked. If a task is left behind while all workers
//! are parked, that is a deadlock, which loom reports.

use super::Idle;
use crate::driver::DriverParts;
use crate::scheduler::inject::InjectionQueue;
use crate::scheduler::multi_thread::park_state::{ParkState, SharedDriver};
use crate::scheduler::multi_thread::queue::{QueueOwner, RunQueue, run_queue};
use crate::testing::{Entries, large_model, model};
use crate::timers::Until;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::{Condvar, Mutex, thread};
use wakeful_base::{Parker, call_now};
use wakeful_task::Runnable;

/// What workers share, as in the real scheduler, but with tasks that do nothing.
struct Scheduler {
    idle: Idle,
    rule: Rule,
    inject: InjectionQueue,
    workers: Box<[Worker]>,
    driver: SharedDriver,
    /// The number of entries not taken yet. The worker that takes the last one stops all workers.
    left: Mutex<usize>,
    all_taken: Condvar,
    stopping: AtomicBool,
}

/// The answers of the notify rule, which depend on estimates. Each of them must be right at any
/// time.
#[derive(Clone, Copy)]
struct Rule {
    /// How many workers may search at a time.
    searchers: usize,
    /// Whether a worker looks for parked workers at each push, or only if it owes a notification.
    polls_are_long: bool,
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
    owes_notify: bool,
    is_blocking: bool,
    got: Vec<Runnable>,
}

fn workers(count: usize, rule: Rule, entries: usize) -> (Arc<Scheduler>, Vec<WorkerThread>) {
    let DriverParts { driver, waker, .. } = DriverParts::new(None).unwrap();
    let (queues, owners): (Vec<_>, Vec<_>) = (0..count).map(|_| run_queue()).unzip();
    let worker = |queue| Worker { queue, park_state: ParkState::new() };
    let scheduler = Arc::new(Scheduler {
        idle: Idle::new(count),
        rule,
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
            owes_notify: false,
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

    fn notify_parked(&self) {
        if let Some(index) = self.idle.worker_to_notify(self.rule.searchers) {
            self.workers[index].park_state.unpark(&self.driver);
        }
    }

    fn has_visible_work(&self) -> bool {
        let has_tasks = |index: usize| self.idle.has_tasks(index, &self.workers[index].queue);
        !self.inject.is_empty() || self.idle.queued().any(has_tasks)
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

    /// Pushes as user code on a worker does.
    fn push_all(mut self, entries: Vec<Runnable>) -> WorkerThread {
        for entry in entries {
            self.push_own(entry);
            self.notify_for_queued();
        }
        self
    }

    /// Waits, as a poll that blocks, until the other workers have taken all entries.
    fn block(self) -> (Vec<Runnable>, QueueOwner) {
        let mut left = self.scheduler.left.lock();
        while *left > 0 {
            left = self.scheduler.all_taken.wait(left);
        }
        drop(left);
        (self.got, self.owner)
    }

    fn push_own(&mut self, entry: Runnable) {
        let scheduler = self.scheduler.clone();
        self.owner.push(&scheduler.workers[self.index].queue, entry);
        self.owes_notify |= scheduler.idle.set_queued(self.index);
    }

    fn notify_for_queued(&mut self) {
        let scheduler = self.scheduler.clone();
        let may_notify = self.owes_notify || scheduler.rule.polls_are_long;
        if !may_notify || self.worker().queue.is_empty() {
            return;
        }
        self.owes_notify = false;
        if scheduler.idle.has_parked() && scheduler.idle.should_notify(scheduler.rule.searchers) {
            scheduler.notify_parked();
        }
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
            self.searching = scheduler.idle.begin_search(scheduler.rule.searchers);
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
            if idle.has_tasks(index, victim) {
                if let Some((entry, count)) = victim.steal_into(own, &mut self.owner) {
                    if count > 1 {
                        self.owes_notify |= idle.set_queued(self.index);
                    }
                    return Some(entry);
                }
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
        let mut first = None;
        scheduler.inject.pop_many(
            |len| len,
            |entry| match first {
                None => first = Some(entry),
                Some(_) => self.push_own(entry),
            },
        );
        first
    }

    fn poll(&mut self, entry: Runnable) {
        if take(&mut self.searching) {
            if self.scheduler.idle.end_search() && self.scheduler.has_visible_work() {
                self.scheduler.notify_parked();
            }
        }
        self.notify_for_queued();
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
        scheduler.idle.clear_queued(self.index);
        let checks = scheduler.idle.begin_park(self.index, self.searching);
        let sees_work = checks && (!scheduler.inject.is_empty() || scheduler.idle.is_any_queued());
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
fn run(count: usize, rule: Rule, pushes: Pushes) {
    let made = Entries::new();
    let (scheduler, mut workers) = workers(count, rule, pushes.own + pushes.remote);
    let own: Vec<_> = (0..pushes.own).map(|_| made.make()).collect();
    let first = workers.remove(0);
    let mut threads = vec![thread::spawn(move || first.push_all(own).run())];
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
                let _no_queue_to_check = idle.begin_park(index, false);
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
    let rule = Rule { searchers: 1, polls_are_long: false };
    model(move || run(1, rule, Pushes { own: 0, remote: 2 }));
}

/// Runs a model of two workers with each rule.
fn run_two(pushes: Pushes) {
    for searchers in [1, 2] {
        for polls_are_long in [false, true] {
            let rule = Rule { searchers, polls_are_long };
            large_model(move || run(2, rule, pushes));
        }
    }
}

#[test]
fn the_other_worker_takes_what_a_blocked_worker_leaves() {
    run_two(Pushes { own: 0, remote: 2 });
}

#[test]
fn a_workers_push_is_run_by_itself_or_a_thief() {
    run_two(Pushes { own: 2, remote: 0 });
}

/// The worker that pushes does not run the entries, and each other worker takes one only.
#[test]
fn two_thieves_take_what_a_worker_pushes_in_a_poll_that_blocks() {
    let rule = Rule { searchers: 1, polls_are_long: false };
    large_model(move || {
        let made = Entries::new();
        let (_, mut workers) = workers(3, rule, 2);
        let own: Vec<_> = (0..2).map(|_| made.make()).collect();
        let first = workers.remove(0);
        let mut threads = vec![thread::spawn(move || first.push_all(own).block())];
        threads.extend(workers.into_iter().map(|worker| thread::spawn(move || worker.run())));
        let (got, _owners): (Vec<Vec<_>>, Vec<_>) =
            threads.into_iter().map(|thread| thread.join().unwrap()).unzip();
        made.assert_all(got.into_iter().flatten().collect::<Vec<_>>());
    });
}

/// One entry is pushed between two polls, as a task is that wakes itself, and the next poll is not
/// that entry's, but of a task in the LIFO slot.
#[test]
fn a_push_between_two_polls_does_not_wait_for_a_poll_that_blocks() {
    let rule = Rule { searchers: 1, polls_are_long: false };
    large_model(move || {
        let made = Entries::new();
        let (_, mut workers) = workers(2, rule, 2);
        let (mut first, second) = (workers.remove(0), workers.remove(0));
        let (pushed, in_lifo_slot) = (made.make(), made.make());
        let first = thread::spawn(move || {
            first.push_own(pushed);
            first.poll(in_lifo_slot);
            first.run()
        });
        let second = thread::spawn(move || second.run());
        let (got, _owners): (Vec<Vec<_>>, Vec<_>) =
            [first, second].map(|thread| thread.join().unwrap()).into_iter().unzip();
        made.assert_all(got.into_iter().flatten().collect::<Vec<_>>());
    });
}

/// At a look, late or not, the monitor publishes a task that a worker in a poll has kept, and then
/// looks for parked workers. The poll goes on.
#[test]
fn a_task_that_the_monitor_publishes_does_not_wait_for_a_poll_that_blocks() {
    let rule = Rule { searchers: 1, polls_are_long: false };
    large_model(move || {
        let made = Entries::new();
        let (scheduler, mut workers) = workers(2, rule, 1);
        let (mut stalled, other) = (workers.remove(0), workers.remove(0));
        let kept = made.make();
        let monitor = thread::spawn(move || {
            stalled.push_own(kept);
            if scheduler.has_visible_work() {
                scheduler.notify_parked();
            }
            stalled.block()
        });
        let other = thread::spawn(move || other.run());
        let (got, _owners): (Vec<Vec<_>>, Vec<_>) =
            [monitor, other].map(|thread| thread.join().unwrap()).into_iter().unzip();
        made.assert_all(got.into_iter().flatten().collect::<Vec<_>>());
    });
}

#[test]
fn own_and_remote_pushes_race_with_a_worker_parking() {
    run_two(Pushes { own: 1, remote: 1 });
}
