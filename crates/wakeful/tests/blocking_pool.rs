//! `spawn_blocking` and `block_in_place`. The pool grows when needed, shrinks, and never deadlocks.

mod support;

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use support::{current_thread, each_flavor, eventually, multi_thread, stress_time};
use wakeful::runtime::{Builder, Handle};
use wakeful::task::{block_in_place, spawn_blocking, yield_now};

#[test]
fn blocking_calls_return_their_output_or_panic() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            assert_eq!(spawn_blocking(|| 5).await.unwrap(), 5);
            let error = spawn_blocking(|| panic!("on purpose")).await.unwrap_err();
            assert!(error.is_panic());
            // The pool thread survives the panic.
            assert_eq!(spawn_blocking(|| 6).await.unwrap(), 6);
        });
    }
}

#[test]
fn blocking_calls_are_in_the_runtime_and_may_block_on_it() {
    for runtime in [multi_thread(1), multi_thread(2)] {
        let sum = runtime.block_on(async {
            spawn_blocking(|| {
                Handle::current().block_on(async { wakeful::spawn(async { 2 }).await })
            })
            .await
            .unwrap()
            .unwrap()
        });
        assert_eq!(sum, 2);
    }
}

#[test]
fn calls_that_wait_for_each_other_all_get_a_thread() {
    for runtime in each_flavor() {
        for calls in [2, 10, 50] {
            let barrier = Arc::new(Barrier::new(calls));
            let calls: Vec<_> = (0..calls)
                .map(|_| {
                    let barrier = barrier.clone();
                    runtime.spawn_blocking(move || {
                        barrier.wait();
                    })
                })
                .collect();
            runtime.block_on(async {
                for call in calls {
                    call.await.unwrap();
                }
            });
        }
    }
}

#[test]
fn a_blocking_call_after_many_short_ones_does_not_delay_others() {
    let runtime = multi_thread(2);
    runtime.block_on(async {
        // Short calls make the pool expect that the next one is short too.
        for _ in 0..1000 {
            spawn_blocking(|| ()).await.unwrap();
        }
        let (release, released) = mpsc::channel::<()>();
        let stuck = spawn_blocking(move || {
            let _end = released.recv();
        });
        let others: Vec<_> = (0..10).map(|n| spawn_blocking(move || n)).collect();
        for (n, other) in others.into_iter().enumerate() {
            assert_eq!(other.await.unwrap(), n);
        }
        drop(release);
        stuck.await.unwrap();
    });
}

#[test]
fn calls_that_wait_for_each_other_after_many_short_ones_all_get_a_thread() {
    for round in 0..10 {
        let runtime = current_thread();
        let barrier = Arc::new(Barrier::new(9));
        runtime.block_on(async {
            // Two calls at a time, so that the pool has a spare thread.
            for _ in 0..200 {
                let calls = [spawn_blocking(|| ()), spawn_blocking(|| ())];
                for call in calls {
                    call.await.unwrap();
                }
            }
            for _ in 0..8 {
                let barrier = barrier.clone();
                drop(spawn_blocking(move || barrier.wait()));
            }
        });
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            barrier.wait();
            done.send(()).unwrap();
        });
        let result = is_done.recv_timeout(Duration::from_secs(10));
        runtime.shutdown_background();
        assert_eq!(result, Ok(()), "round {round}");
    }
}

#[test]
fn a_worker_may_block_on_a_call_it_has_just_made() {
    let runtime = multi_thread(1);
    let task = runtime.spawn(async {
        for n in 0..200 {
            let (send, receive) = mpsc::channel();
            drop(spawn_blocking(move || send.send(n).unwrap()));
            // Blocking in a task is bad practice, but must not hang.
            assert_eq!(receive.recv_timeout(Duration::from_secs(10)).unwrap(), n);
        }
    });
    runtime.block_on(task).unwrap();
}

#[test]
fn no_more_threads_than_allowed() {
    let runtime =
        Builder::new_multi_thread().worker_threads(1).max_blocking_threads(3).build().unwrap();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let calls: Vec<_> = (0..30)
        .map(|_| {
            let (running, most) = (running.clone(), most.clone());
            runtime.spawn_blocking(move || {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                thread::sleep(Duration::from_millis(2));
                running.fetch_sub(1, SeqCst);
            })
        })
        .collect();
    runtime.block_on(async {
        for call in calls {
            call.await.unwrap();
        }
    });
    assert_eq!(most.load(SeqCst), 3);
    assert!(runtime.metrics().num_blocking_threads() <= 3);
}

#[test]
fn one_call_at_a_time_needs_few_threads() {
    let runtime = current_thread();
    runtime.block_on(async {
        for _ in 0..500 {
            spawn_blocking(|| ()).await.unwrap();
        }
    });
    let threads = runtime.metrics().num_blocking_threads();
    assert!(threads <= 2, "{threads} threads for calls made one by one");
}

#[test]
fn idle_threads_exit_after_the_keep_alive_time() {
    let runtime =
        Builder::new_current_thread().thread_keep_alive(Duration::from_millis(10)).build().unwrap();
    let barrier = Arc::new(Barrier::new(5));
    for _ in 0..4 {
        let barrier = barrier.clone();
        drop(runtime.spawn_blocking(move || barrier.wait()));
    }
    barrier.wait();
    assert!(runtime.metrics().num_blocking_threads() >= 4);
    eventually("idle threads exit", || runtime.metrics().num_blocking_threads() == 0);
    // And start again when needed.
    assert_eq!(runtime.block_on(runtime.spawn_blocking(|| 1)).unwrap(), 1);
}

#[test]
fn an_aborted_call_that_waits_never_runs() {
    let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let first = runtime.spawn_blocking(move || released.recv().is_err());
    let second = runtime.spawn_blocking(|| unreachable!("it was aborted"));
    second.abort();
    drop(release);
    runtime.block_on(async {
        assert!(first.await.unwrap());
        assert!(second.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn block_in_place_moves_the_other_tasks_away() {
    let runtime = multi_thread(1);
    let (send, receive) = mpsc::channel();
    let task = runtime.spawn(async move {
        // The only worker is blocked, so this task needs another thread.
        drop(wakeful::spawn(async move { send.send(7).unwrap() }));
        block_in_place(|| receive.recv_timeout(Duration::from_secs(10)).unwrap())
    });
    assert_eq!(runtime.block_on(task).unwrap(), 7);
}

#[test]
fn block_in_place_nests_and_may_block_on() {
    let runtime = multi_thread(1);
    let task = runtime.spawn(async {
        block_in_place(|| {
            block_in_place(|| {
                Handle::current().block_on(async {
                    let inner = wakeful::spawn(async { 3 }).await.unwrap();
                    yield_now().await;
                    inner
                })
            })
        })
    });
    assert_eq!(runtime.block_on(task).unwrap(), 3);
    assert_eq!(runtime.block_on(async { block_in_place(|| 4) }), 4);
    assert_eq!(block_in_place(|| 5), 5);
}

#[test]
fn a_task_continues_after_block_in_place_with_or_without_its_worker() {
    let runtime = multi_thread(2);
    let tasks: Vec<_> = (0..50u64)
        .map(|n| {
            runtime.spawn(async move {
                block_in_place(|| thread::sleep(Duration::from_micros(100 * (n % 5))));
                let inner = wakeful::spawn(async move { n });
                yield_now().await;
                inner.await.unwrap()
            })
        })
        .collect();
    runtime.block_on(async {
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), n as u64);
        }
    });
}

#[test]
fn a_task_that_yields_and_blocks_in_one_poll_is_polled_again() {
    let runtime = multi_thread(1);
    let (done, is_done) = mpsc::channel();
    runtime.spawn(async move {
        for _ in 0..20 {
            let mut yielding = pin!(yield_now());
            poll_fn(|cx| {
                let polled = yielding.as_mut().poll(cx);
                if polled.is_pending() {
                    // The other task runs only on a thread that has taken over the worker.
                    let (taken_over, was_taken_over) = mpsc::channel();
                    drop(wakeful::spawn(async move { taken_over.send(()).unwrap() }));
                    block_in_place(|| {
                        was_taken_over.recv_timeout(Duration::from_secs(10)).unwrap()
                    });
                }
                polled
            })
            .await;
        }
        done.send(()).unwrap();
    });
    assert_eq!(is_done.recv_timeout(Duration::from_secs(10)), Ok(()), "a wake-up was lost");
}

#[test]
fn stress_blocking_calls_of_all_lengths() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        .thread_keep_alive(Duration::from_millis(1))
        .build()
        .unwrap();
    let deadline = Instant::now() + stress_time();
    let tasks: Vec<_> = (0..16u64)
        .map(|task| {
            runtime.spawn(async move {
                let mut round = task;
                while Instant::now() < deadline {
                    round =
                        round.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let pause = match (round >> 60) % 8 {
                        0 => Duration::from_micros(500),
                        1 => Duration::from_millis(2),
                        _ => Duration::ZERO,
                    };
                    if (round >> 50) % 16 == 0 {
                        block_in_place(|| thread::sleep(pause));
                    }
                    let call = spawn_blocking(move || {
                        if !pause.is_zero() {
                            thread::sleep(pause);
                        }
                        round
                    });
                    assert_eq!(call.await.unwrap(), round);
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
}
