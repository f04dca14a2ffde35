//! No task starves: tasks that are always ready yield, and every queue is served.

mod support;

use std::future::{Future, poll_fn};
use std::mem::replace;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use support::{Mailbox, current_thread, each_flavor, multi_thread, stress_time};
use wakeful::runtime::Builder;
use wakeful::task::{consume_budget, coop, unconstrained, yield_now};

#[test]
fn an_always_ready_task_lets_others_run() {
    for runtime in [current_thread(), multi_thread(1)] {
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = stop.clone();
        let busy = runtime.spawn(async move {
            while !is_stopped.load(SeqCst) {
                consume_budget().await;
            }
        });
        let other = runtime.spawn(async move { stop.store(true, SeqCst) });
        runtime.block_on(async {
            other.await.unwrap();
            busy.await.unwrap();
        });
    }
}

/// A task wakes itself, and the next poll, of a task in the LIFO slot, blocks. No monitor helps.
#[test]
fn a_woken_task_does_not_wait_beside_a_parked_worker() {
    let runtime =
        Builder::new_multi_thread().worker_threads(2).disable_stall_handoff().build().unwrap();
    for _ in 0..100 {
        let first = runtime.spawn(async {
            let (done, is_done) = mpsc::channel();
            let second =
                wakeful::spawn(async move { is_done.recv_timeout(Duration::from_secs(5)) });
            let mut is_woken = false;
            poll_fn(|cx| {
                if replace(&mut is_woken, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            // An error if the second task has given up. It has reported that already.
            let _is_received = done.send(());
            second.await.unwrap()
        });
        runtime.block_on(first).unwrap().expect("the other worker runs the first task");
    }
}

#[test]
fn a_worker_that_polls_the_driver_after_every_task_runs_tasks() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime =
            builder.worker_threads(1).event_interval(1).global_queue_interval(1).build().unwrap();
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            runtime.block_on(async {
                let task = wakeful::spawn(async {
                    yield_now().await;
                    wakeful::spawn(async { 1 }).await.unwrap() + 1
                });
                done.send(task.await.unwrap()).unwrap();
            });
        });
        assert_eq!(is_done.recv_timeout(Duration::from_secs(10)), Ok(2));
    }
}

#[test]
fn the_budget_is_128_units_a_poll_and_unconstrained_has_none() {
    for runtime in each_flavor() {
        runtime
            .block_on(runtime.spawn(async {
                let mut polls = 0;
                let mut work = std::pin::pin!(async {
                    for _ in 0..129 {
                        consume_budget().await;
                    }
                });
                poll_fn(|cx| {
                    polls += 1;
                    let polled = work.as_mut().poll(cx);
                    assert_eq!(coop::has_budget_remaining(), polled.is_ready());
                    polled
                })
                .await;
                assert_eq!(polls, 2);
                let mut polls = 0;
                let mut work = std::pin::pin!(unconstrained(async {
                    for _ in 0..10_000 {
                        consume_budget().await;
                    }
                }));
                poll_fn(|cx| {
                    polls += 1;
                    work.as_mut().poll(cx)
                })
                .await;
                assert_eq!(polls, 1);
            }))
            .unwrap();
    }
}

/// A waker that counts its wake-ups.
struct Counting(AtomicUsize);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn futures_that_share_a_waker_are_woken_once_when_the_budget_is_used_up() {
    for runtime in each_flavor() {
        let counting = Arc::new(Counting(AtomicUsize::new(0)));
        let seen = counting.clone();
        let task = runtime.spawn(async move {
            poll_fn(|cx| {
                let waker = Waker::from(seen.clone());
                while coop::has_budget_remaining() {
                    let _spent = pin!(consume_budget()).poll(cx);
                }
                for _ in 0..100 {
                    let mut unit = pin!(consume_budget());
                    assert!(unit.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                }
                assert_eq!(
                    seen.0.load(SeqCst),
                    0,
                    "the wake-up must be deferred until the poll has returned"
                );
                Poll::Ready(())
            })
            .await;
            // Deferred wake-ups happen before a task that yields is polled again.
            yield_now().await;
            seen.0.load(SeqCst)
        });
        assert_eq!(runtime.block_on(task).unwrap(), 1);
    }
}

#[test]
fn two_tasks_that_wake_each_other_do_not_keep_the_worker() {
    let runtime = multi_thread(1);
    let stop = Arc::new(AtomicBool::new(false));
    let (ping, pong) = (Mailbox::new(), Mailbox::new());
    let pair = [(ping.clone(), pong.clone()), (pong, ping.clone())].map(|(from, to)| {
        let stop = stop.clone();
        runtime.spawn(async move {
            while !stop.load(SeqCst) {
                from.take().await;
                to.put(());
            }
            to.put(());
        })
    });
    ping.put(());
    runtime.block_on(async {
        wakeful::spawn(async { yield_now().await }).await.unwrap();
        stop.store(true, SeqCst);
        for task in pair {
            task.await.unwrap();
        }
    });
}

#[test]
fn remote_tasks_run_on_a_busy_worker() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = builder.worker_threads(1).global_queue_interval(7).build().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (handle, is_stopped) = (runtime.handle().clone(), stop.clone());
        let remote = thread::spawn(move || {
            thread::sleep(Duration::from_millis(2));
            drop(handle.spawn(async move { stop.store(true, SeqCst) }));
        });
        runtime.block_on(async {
            let busy: Vec<_> = (0..3)
                .map(|_| {
                    let is_stopped = is_stopped.clone();
                    wakeful::spawn(poll_fn(move |cx| {
                        if is_stopped.load(SeqCst) {
                            return Poll::Ready(());
                        }
                        cx.waker().wake_by_ref();
                        Poll::Pending
                    }))
                })
                .collect();
            for task in busy {
                task.await.unwrap();
            }
        });
        remote.join().unwrap();
    }
}

#[test]
fn tasks_behind_a_long_poll_are_stolen() {
    let runtime = multi_thread(2);
    let done = Arc::new(AtomicUsize::new(0));
    let count = done.clone();
    let task = runtime.spawn(async move {
        for _ in 0..20 {
            let count = count.clone();
            drop(wakeful::spawn(async move {
                count.fetch_add(1, SeqCst);
            }));
        }
        // The other worker can steal all tasks except the one in the LIFO slot.
        let deadline = Instant::now() + Duration::from_secs(10);
        while count.load(SeqCst) < 19 {
            assert!(Instant::now() < deadline, "no task was stolen");
            std::hint::spin_loop();
        }
    });
    runtime.block_on(task).unwrap();
}

#[test]
fn stress_tasks_of_all_kinds() {
    let runtime = multi_thread(4);
    let deadline = Instant::now() + stress_time();
    let tasks: Vec<_> = (0..8u64)
        .map(|seed| {
            runtime.spawn(async move {
                let mut round = seed;
                while Instant::now() < deadline {
                    round =
                        round.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    match (round >> 60) % 5 {
                        0 => assert_eq!(wakeful::spawn(async move { round }).await.unwrap(), round),
                        1 => {
                            let children: Vec<_> = (0..50)
                                .map(|n| {
                                    wakeful::spawn(async move {
                                        if n % 3 == 0 {
                                            yield_now().await;
                                        }
                                        n
                                    })
                                })
                                .collect();
                            for (n, child) in children.into_iter().enumerate() {
                                assert_eq!(child.await.unwrap(), n);
                            }
                        }
                        2 => {
                            let mailbox = Mailbox::new();
                            let to = mailbox.clone();
                            drop(wakeful::spawn(async move { to.put(round) }));
                            assert_eq!(mailbox.take().await, round);
                        }
                        3 => {
                            let mailbox = Mailbox::new();
                            let to = mailbox.clone();
                            drop(thread::spawn(move || to.put(round)));
                            assert_eq!(mailbox.take().await, round);
                        }
                        _ => {
                            let aborted = wakeful::spawn(std::future::pending::<()>());
                            aborted.abort();
                            assert!(aborted.await.unwrap_err().is_cancelled());
                        }
                    }
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

#[test]
fn without_the_lifo_slot_a_task_woken_by_a_timer_runs_before_the_worker_parks() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).disable_lifo_slot().enable_all().build().unwrap();
    let (done, is_done) = mpsc::channel();
    runtime.spawn(async move {
        // About as long as a worker spins before it parks.
        for i in 0..5_000 {
            wakeful::time::sleep(Duration::from_micros(15 + i % 15)).await;
        }
        done.send(()).unwrap();
    });
    assert_eq!(is_done.recv_timeout(Duration::from_secs(60)), Ok(()));
}

#[test]
fn a_task_woken_by_a_timer_does_not_wait_behind_many_tasks() {
    const TASKS: usize = 10_000;
    let runtime = current_thread();
    let ran = Arc::new(AtomicUsize::new(0));
    let ran_before = runtime.block_on(async {
        let span = Duration::from_millis(1);
        let (seen, deadline) = (ran.clone(), Instant::now() + span);
        let sleeper = wakeful::spawn(async move {
            wakeful::time::sleep(span).await;
            seen.load(SeqCst)
        });
        yield_now().await;
        while Instant::now() < deadline + span {
            thread::sleep(span);
        }
        for _ in 0..TASKS {
            let ran = ran.clone();
            wakeful::spawn(async move { ran.fetch_add(1, SeqCst) });
        }
        sleeper.await.unwrap()
    });
    assert!(ran_before < TASKS / 10, "{ran_before} tasks ran before the sleeper");
}

#[test]
fn many_timers_all_fire_between_two_polls_of_a_blocking_task() {
    const SLEEPERS: usize = 100;
    let runtime = current_thread();
    let fired = Arc::new(AtomicUsize::new(0));
    for _ in 0..SLEEPERS {
        let fired = fired.clone();
        runtime.spawn(async move {
            loop {
                wakeful::time::sleep(Duration::from_millis(1)).await;
                fired.fetch_add(1, SeqCst);
            }
        });
    }
    let blocks = async move {
        let mut rounds = Vec::new();
        for _ in 0..5 {
            thread::sleep(Duration::from_millis(20));
            let before = fired.load(SeqCst);
            yield_now().await;
            rounds.push(fired.load(SeqCst) - before);
        }
        rounds
    };
    let other = runtime.spawn(async {
        loop {
            thread::sleep(Duration::from_millis(5));
            yield_now().await;
        }
    });
    let rounds = runtime.block_on(runtime.spawn(blocks)).unwrap();
    other.abort();
    // In the first round, not all sleepers have registered their timers yet.
    assert!(rounds[1..].iter().all(|&served| served >= SLEEPERS), "{rounds:?}");
}
