//! Many threads that wake and abort tasks of a set, for `WAKEFUL_STRESS_SECONDS`.

use super::probes::*;
use std::collections::VecDeque;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Instant;
use wakeful::task::{AbortHandle, JoinHandle, LocalSet, spawn_local};

const THREADS: usize = 3;

/// What a thread gets from each set, to use it repeatedly.
enum Target {
    Waker(Waker),
    /// Used only once: it may be the last reference to the task's memory.
    OnlyWaker(Option<Waker>),
    Abort(AbortHandle),
    Join(JoinHandle<()>),
}

/// Where a thread finds its next targets. `None` tells it to end.
type TargetsSlot = Mutex<Option<Vec<Target>>>;

/// Uses each target repeatedly, until there are new ones.
fn wake_and_abort(slot: &TargetsSlot) {
    let mut targets = Vec::new();
    loop {
        match slot.lock().unwrap().as_mut() {
            Some(new) if new.is_empty() => {}
            Some(new) => targets = std::mem::take(new),
            None => return,
        }
        for target in &mut targets {
            match target {
                Target::Waker(waker) => waker.wake_by_ref(),
                Target::OnlyWaker(waker) => waker.take().map_or((), Waker::wake),
                Target::Abort(abort) => abort.abort(),
                Target::Join(join) => drop(join.is_finished()),
            }
        }
    }
}

#[test]
fn a_set_is_dropped_during_wakes_and_aborts_of_other_threads() {
    const TASKS: usize = 8;
    watched(|| {
        let slots = [(); THREADS].map(|()| TargetsSlot::new(Some(Vec::new())));
        thread::scope(|scope| {
            for slot in &slots {
                scope.spawn(|| wake_and_abort(slot));
            }
            let (start, mut round) = (Instant::now(), 0usize);
            while start.elapsed() < stress_time() {
                round += 1;
                let (drops, mut local) = (Drops::default(), LocalSet::new());
                let (to_us, wakers) = mpsc::channel();
                let mut joins: Vec<_> = (0..TASKS)
                    .map(|_| {
                        let (probe, to_us) = (drops.probe(), to_us.clone());
                        local.spawn_local(async move {
                            let _probe = probe;
                            leave_waker(to_us).await;
                        })
                    })
                    .collect();
                let (_, poller) = WakeCount::new();
                assert!(poll(Pin::new(&mut local), &poller).is_pending());
                let mut wakers: Vec<_> = wakers.try_iter().collect();
                for slot in &slots {
                    let mut targets = Vec::new();
                    if round % 2 == 0 {
                        targets.extend(wakers.iter().cloned().map(Target::Waker));
                        targets.extend(joins.pop().map(Target::Join));
                    } else {
                        let share = wakers.split_off(wakers.len() - TASKS / THREADS);
                        targets.extend(share.into_iter().map(|w| Target::OnlyWaker(Some(w))));
                        joins.clear();
                    }
                    if round % 4 == 0 {
                        targets.extend(joins.iter().map(|join| Target::Abort(join.abort_handle())));
                    }
                    let _not_under_the_lock = slot.lock().unwrap().replace(targets);
                }
                for _ in 0..round % 16 {
                    let _ready_if_all_are_aborted = poll(Pin::new(&mut local), &poller);
                }
                drop(local);
                assert_eq!(drops.count(), TASKS);
            }
            for slot in &slots {
                let _not_under_the_lock = slot.lock().unwrap().take();
            }
            println!("{round} rounds");
        });
    });
}

/// A queue with one receiving task, and any thread as a sender.
#[derive(Default)]
struct Mailbox(Mutex<(VecDeque<u64>, Option<Waker>)>);

impl Mailbox {
    fn send(&self, value: u64) {
        let waker = {
            let mut mailbox = self.0.lock().unwrap();
            mailbox.0.push_back(value);
            mailbox.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn recv(&self) -> u64 {
        poll_fn(|cx| {
            let mut mailbox = self.0.lock().unwrap();
            if let Some(value) = mailbox.0.pop_front() {
                return Poll::Ready(value);
            }
            mailbox.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

#[test]
fn no_wake_up_from_another_thread_is_lost() {
    const TASKS: usize = 4;
    const MESSAGES: u64 = 200;
    for runtime in [current_thread(), multi_thread()] {
        watched(|| {
            let start = Instant::now();
            while start.elapsed() < stress_time() / 2 {
                let mailboxes = [(); TASKS].map(|()| Arc::<Mailbox>::default());
                thread::scope(|scope| {
                    for _ in 0..THREADS {
                        scope.spawn(|| {
                            for n in 1..=MESSAGES {
                                mailboxes[n as usize % TASKS].send(n);
                            }
                        });
                    }
                    let sum = LocalSet::new().block_on(&runtime, async {
                        let tasks = mailboxes.clone().map(|mailbox| {
                            spawn_local(async move {
                                let mut sum = 0;
                                for _ in 0..THREADS * MESSAGES as usize / TASKS {
                                    sum += mailbox.recv().await;
                                }
                                sum
                            })
                        });
                        let mut sum = 0;
                        for task in tasks {
                            sum += task.await.unwrap();
                        }
                        sum
                    });
                    assert_eq!(sum, THREADS as u64 * MESSAGES * (MESSAGES + 1) / 2);
                });
            }
        });
    }
}

#[test]
fn ping_pong() {
    for runtime in [current_thread(), multi_thread()] {
        watched(|| {
            let (to_task, to_thread) = (Arc::<Mailbox>::default(), mpsc::channel::<u64>());
            let there = {
                let (to_task, from_task) = (to_task.clone(), to_thread.1);
                thread::spawn(move || from_task.into_iter().for_each(|n| to_task.send(n)))
            };
            let to_thread = to_thread.0;
            let local = LocalSet::new();
            local.spawn_local(async move {
                let (start, mut n) = (Instant::now(), 0);
                while start.elapsed() < stress_time() / 2 {
                    n += 1;
                    to_thread.send(n).unwrap();
                    assert_eq!(to_task.recv().await, n);
                }
            });
            runtime.block_on(local);
            there.join().unwrap();
        });
    }
}

/// The set once wrote the slot of its waker while another thread took the waker out.
#[test]
fn wakers_whose_clone_polls_the_set_are_called_and_dropped_once() {
    thread_local! {
        static SET: LocalSet = LocalSet::new();
    }
    fn poll_set(waker: &Waker) {
        SET.with(|set| assert!(poll(pin!(set.run_until(pending::<()>())), waker).is_pending()));
    }

    watched(|| {
        let (to_us, wakers) = mpsc::channel();
        for _ in 0..32 {
            let mut to_us = Some(to_us.clone());
            let task = poll_fn(move |cx| -> Poll<()> {
                if let Some(to_us) = to_us.take() {
                    to_us.send(cx.waker().clone()).unwrap();
                }
                Poll::Pending
            });
            drop(SET.with(|set| set.spawn_local(task)));
        }
        poll_set(Waker::noop());
        let wakers: Vec<Waker> = wakers.try_iter().collect();
        assert_eq!(wakers.len(), 32);
        let (_, inner) = WakeCount::new();
        let for_clone = inner.clone();
        let outer = CloneHook::new(move || poll_set(&for_clone));
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Relaxed) {
                    wakers.iter().for_each(Waker::wake_by_ref);
                }
            });
            let start = Instant::now();
            while start.elapsed() < stress_time() {
                // Another waker each time, so that each poll clones it.
                poll_set(Waker::noop());
                poll_set(&outer.waker());
            }
            is_done.store(true, Relaxed);
        });
        poll_set(Waker::noop());
        assert_eq!(Arc::strong_count(&outer), 1, "the set has kept or lost a waker");
    });
}
