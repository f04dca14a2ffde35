//! A task that blocks its thread does not stall other tasks.
//!
//! Most of these tasks block until an event that needs another thread to take over their worker.
//! Without the hand-off they would block until the timeout of `Flag::block` fails the test.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use support::{DropCount, Flag, eventually, multi_thread};
use wakeful::io::AsyncReadExt;
use wakeful::runtime::{Builder, Runtime, StallOutcome};
use wakeful::task::{block_in_place, yield_now};

/// Runs `block` in a task of a runtime with one worker. A task queued behind it sets the flag that
/// `block` waits for.
#[track_caller]
fn assert_handed_off(block: impl FnOnce(Flag) + Send + 'static) {
    let (runtime, flag) = (multi_thread(1), Flag::default());
    let (begun, has_begun) = mpsc::channel();
    let waits = flag.clone();
    let blocks = runtime.spawn(async move {
        begun.send(()).unwrap();
        block(waits);
    });
    has_begun.recv().unwrap();
    let sets = runtime.spawn(async move { flag.set() });
    runtime.block_on(async {
        blocks.await.unwrap();
        sets.await.unwrap();
    });
}

#[test]
fn a_blocking_recv_is_handed_off() {
    assert_handed_off(|flag| {
        let (sends, receives) = mpsc::channel();
        thread::spawn(move || {
            flag.block();
            sends.send(()).unwrap();
        });
        receives.recv().unwrap();
    });
}

#[test]
fn a_condition_variable_is_handed_off() {
    assert_handed_off(|flag| flag.block());
}

#[test]
fn a_sleep_of_the_thread_is_handed_off() {
    assert_handed_off(|flag| {
        while !flag.is_set() {
            thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn an_endless_loop_is_handed_off() {
    assert_handed_off(|flag| {
        while !flag.is_set() {
            std::hint::spin_loop();
        }
    });
}

#[test]
fn a_locked_mutex_is_handed_off() {
    assert_handed_off(|flag| {
        let mutex = Arc::new(Mutex::new(()));
        let (held, is_held) = mpsc::channel();
        let holds = mutex.clone();
        thread::spawn(move || {
            let _held = holds.lock().unwrap();
            held.send(()).unwrap();
            flag.block();
        });
        is_held.recv().unwrap();
        drop(mutex.lock().unwrap());
    });
}

#[test]
fn a_blocking_read_is_handed_off() {
    assert_handed_off(|flag| {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            flag.block();
            far.write_all(b"x").unwrap();
        });
        near.read_exact(&mut [0]).unwrap();
    });
}

#[test]
fn block_in_place_works_after_a_handoff() {
    assert_handed_off(|flag| {
        flag.block();
        let next = Flag::default();
        let sets = next.clone();
        wakeful::spawn(async move { sets.set() });
        block_in_place(|| next.block());
    });
}

#[test]
fn a_stall_after_block_in_place_is_handed_off() {
    assert_handed_off(|flag| {
        block_in_place(|| ());
        flag.block();
    });
}

/// Runs `task` on a runtime with one worker.
fn on_one_worker<F>(task: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let runtime = multi_thread(1);
    let task = runtime.spawn(task);
    runtime.block_on(task).unwrap()
}

#[test]
fn tasks_spawned_before_a_stall_run() {
    on_one_worker(async {
        let flags = [(); 3].map(|()| Flag::default());
        for flag in flags.clone() {
            wakeful::spawn(async move { flag.set() });
        }
        flags.iter().for_each(Flag::block);
    });
}

#[test]
fn a_task_that_yielded_before_a_stall_runs() {
    on_one_worker(async {
        let flag = Flag::default();
        let (sets, gives_way) = (flag.clone(), Flag::default());
        let gave_way = gives_way.clone();
        wakeful::spawn(async move {
            gave_way.set();
            yield_now().await;
            sets.set();
        });
        while !gives_way.is_set() {
            yield_now().await;
        }
        flag.block();
    });
}

#[test]
fn a_timer_of_a_blocked_worker_fires() {
    on_one_worker(async {
        let flag = Flag::default();
        let (sets, sleeps) = (flag.clone(), Flag::default());
        let begins = sleeps.clone();
        wakeful::spawn(async move {
            let mut sleep = pin!(wakeful::time::sleep(Duration::from_millis(30)));
            std::future::poll_fn(|cx| {
                begins.set();
                sleep.as_mut().poll(cx)
            })
            .await;
            sets.set();
        });
        while !sleeps.is_set() {
            yield_now().await;
        }
        flag.block();
    });
}

/// Events are delivered while the only worker, or the one that waited for them, is blocked.
#[test]
fn events_are_delivered_while_a_worker_is_blocked() {
    for workers in [1, 2] {
        let (runtime, flag) = (multi_thread(workers), Flag::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        far.set_nonblocking(true).unwrap();
        let (sets, waits) = (flag.clone(), flag.clone());
        let reads = runtime.spawn(async move {
            let mut far = wakeful::net::TcpStream::from_std(far).unwrap();
            let mut byte = [0];
            far.read_exact(&mut byte).await.unwrap();
            wakeful::spawn(async move { waits.block() });
            far.read_exact(&mut byte).await.unwrap();
            sets.set();
        });
        near.write_all(b"1").unwrap();
        // Long enough that the other task usually blocks by then. The test is correct in any case.
        thread::sleep(Duration::from_millis(30));
        near.write_all(b"2").unwrap();
        flag.block();
        runtime.block_on(reads).unwrap();
    }
}

#[test]
fn an_external_timer_fires_while_all_workers_are_blocked() {
    let (runtime, flag) = (multi_thread(1), Flag::default());
    let (begun, has_begun) = mpsc::channel();
    let waits = flag.clone();
    let blocks = runtime.spawn(async move {
        begun.send(()).unwrap();
        waits.block();
    });
    has_begun.recv().unwrap();
    runtime.block_on(async {
        wakeful::time::sleep(Duration::from_millis(20)).await;
        flag.set();
        blocks.await.unwrap();
    });
}

#[test]
fn all_workers_block_at_once() {
    const WORKERS: usize = 4;
    let (runtime, flag) = (multi_thread(WORKERS), Flag::default());
    let all_block = Arc::new(Barrier::new(WORKERS + 1));
    let blocks: Vec<_> = (0..WORKERS)
        .map(|_| {
            let (all_block, flag) = (all_block.clone(), flag.clone());
            runtime.spawn(async move {
                all_block.wait();
                flag.block();
            })
        })
        .collect();
    all_block.wait();
    let sets = runtime.spawn(async move { flag.set() });
    runtime.block_on(async {
        sets.await.unwrap();
        for task in blocks {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_hundred_tasks_block_until_all_of_them_do() {
    const TASKS: usize = 100;
    let (runtime, all_block) = (multi_thread(2), Arc::new(Barrier::new(TASKS)));
    let blocks: Vec<_> = (0..TASKS)
        .map(|_| {
            let all_block = all_block.clone();
            runtime.spawn(async move {
                all_block.wait();
            })
        })
        .collect();
    runtime.block_on(async {
        for task in blocks {
            task.await.unwrap();
        }
    });
    assert!(runtime.metrics().stall_handoff_count() >= TASKS as u64 - 2);
}

#[test]
fn threads_are_limited_and_the_report_says_so() {
    let (reporter, reports) = mpsc::channel();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(2)
        .on_stall(move |stall| reporter.send((stall.outcome(), stall.to_string())).unwrap())
        .build()
        .unwrap();
    let flag = Flag::default();
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let flag = flag.clone();
            runtime.spawn(async move { flag.block() })
        })
        .collect();
    let outcomes: Vec<_> =
        (0..3).map(|_| reports.recv_timeout(Duration::from_secs(20)).unwrap()).collect();
    assert_eq!(outcomes[0].0, StallOutcome::HandedOff);
    assert_eq!(outcomes[1].0, StallOutcome::HandedOff);
    assert_eq!(outcomes[2].0, StallOutcome::NoThread);
    assert!(outcomes[2].1.contains("max_blocking_threads"), "{}", outcomes[2].1);
    assert_eq!(runtime.metrics().stall_handoff_count(), 2);
    flag.set();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_thread_without_its_worker_can_use_the_runtime() {
    let out = on_one_worker(async {
        let (flag, drops) = (Flag::default(), DropCount::default());
        let sets = flag.clone();
        wakeful::spawn(async move { sets.set() });
        let (guard, never) = (drops.guard(), std::future::pending::<()>());
        let waits = wakeful::spawn(async move {
            let _guard = guard;
            never.await;
        });
        flag.block();
        // From here to the first `await` that is pending, this thread has no worker.
        let spawned = wakeful::spawn(async { 1 });
        let called = wakeful::task::spawn_blocking(|| 2);
        let sleep = wakeful::time::sleep(Duration::from_millis(1));
        waits.abort();
        let sum = spawned.await.unwrap() + called.await.unwrap();
        sleep.await;
        yield_now().await;
        assert!(waits.await.unwrap_err().is_cancelled());
        assert_eq!(drops.get(), 1);
        sum
    });
    assert_eq!(out, 3);
}

#[test]
fn a_task_that_yields_after_a_handoff_is_polled_again() {
    on_one_worker(async {
        let flag = Flag::default();
        let sets = flag.clone();
        wakeful::spawn(async move { sets.set() });
        flag.block();
        yield_now().await;
    });
}

#[test]
fn a_panic_after_a_handoff_reaches_the_join_handle() {
    let runtime = multi_thread(1);
    let flag = Flag::default();
    let sets = flag.clone();
    let panics = runtime.spawn(async move {
        wakeful::spawn(async move { sets.set() });
        flag.block();
        panic!("after all");
    });
    assert!(runtime.block_on(panics).unwrap_err().is_panic());
    assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
}

#[test]
fn an_abort_ends_a_blocked_task_when_its_poll_returns() {
    let (runtime, flag, drops) = (multi_thread(1), Flag::default(), DropCount::default());
    let (begun, has_begun) = mpsc::channel();
    let (waits, guard) = (flag.clone(), drops.guard());
    let blocks = runtime.spawn(async move {
        let _guard = guard;
        begun.send(()).unwrap();
        waits.block();
        std::future::pending::<()>().await;
    });
    has_begun.recv().unwrap();
    blocks.abort();
    runtime.block_on(runtime.spawn(async move { flag.set() })).unwrap();
    assert!(runtime.block_on(blocks).unwrap_err().is_cancelled());
    assert_eq!(drops.get(), 1);
}

/// Creates a runtime on which one task blocks until another one is dropped.
fn blocked_until_another_is_dropped() -> (Runtime, Flag) {
    struct SetOnDrop(Flag);

    impl Drop for SetOnDrop {
        fn drop(&mut self) {
            self.0.set();
        }
    }

    let (runtime, flag, done) = (multi_thread(2), Flag::default(), Flag::default());
    let sets = SetOnDrop(flag.clone());
    runtime.spawn(async move {
        let _sets = sets;
        std::future::pending::<()>().await;
    });
    let both_block = Arc::new(Barrier::new(3));
    for _ in 0..2 {
        let (flag, done, both_block) = (flag.clone(), done.clone(), both_block.clone());
        runtime.spawn(async move {
            both_block.wait();
            flag.block();
            done.set();
        });
    }
    both_block.wait();
    (runtime, done)
}

#[test]
fn a_drop_of_the_runtime_drops_the_other_tasks_while_all_workers_block() {
    let (runtime, done) = blocked_until_another_is_dropped();
    drop(runtime);
    assert!(done.is_set(), "the drop waits for threads");
}

#[test]
fn a_shutdown_in_the_background_drops_the_other_tasks_while_all_workers_block() {
    let (runtime, done) = blocked_until_another_is_dropped();
    runtime.shutdown_background();
    done.block();
}

#[test]
fn a_task_can_shut_down_its_runtime_after_a_handoff() {
    let (runtime, drops) = (multi_thread(1), DropCount::default());
    let (flag, done) = (Flag::default(), Flag::default());
    let (sets, is_done, guard) = (flag.clone(), done.clone(), drops.guard());
    let runtime = Arc::new(Mutex::new(Some(runtime)));
    let takes = runtime.clone();
    let own = runtime.lock().unwrap();
    own.as_ref().unwrap().spawn(async move {
        wakeful::spawn(async move {
            let _guard = guard;
            sets.set();
            std::future::pending::<()>().await;
        });
        flag.block();
        // This thread has lost its worker, and holds the last reference to the runtime.
        let runtime = takes.lock().unwrap().take().unwrap();
        runtime.shutdown_background();
        assert!(wakeful::spawn(async {}).await.unwrap_err().is_cancelled());
        is_done.set();
    });
    drop(own);
    done.block();
    eventually("the other task is dropped", || drops.get() == 1);
}

#[test]
fn a_worker_with_nothing_queued_is_not_handed_off() {
    let runtime = multi_thread(2);
    let metrics = runtime.metrics();
    let flag = Flag::default();
    let waits = flag.clone();
    let blocks = runtime.spawn(async move { waits.block() });
    eventually("the stall is counted", || metrics.stall_count() == 1);
    eventually("it lasts", || metrics.longest_stall() >= Duration::from_millis(100));
    assert_eq!(metrics.stall_handoff_count(), 0);
    flag.set();
    runtime.block_on(blocks).unwrap();
}

#[test]
fn a_disabled_handoff_is_still_reported() {
    let (reporter, reports) = mpsc::channel();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .disable_stall_handoff()
        .on_stall(move |stall| reporter.send(stall.clone()).unwrap())
        .build()
        .unwrap();
    let (flag, ran) = (Flag::default(), Arc::new(AtomicBool::new(false)));
    let (waits, runs) = (flag.clone(), ran.clone());
    let blocks = runtime.spawn(async move {
        wakeful::spawn(async move { runs.store(true, SeqCst) });
        waits.block();
    });
    let stall = reports.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(stall.outcome(), StallOutcome::Waits);
    assert_eq!(stall.task_id(), Some(blocks.id()));
    assert_eq!(stall.spawned_at().unwrap().file(), file!());
    assert_eq!(stall.worker(), Some(0));
    assert!(stall.duration() >= Duration::from_millis(2), "{:?}", stall.duration());
    assert!(!ran.load(SeqCst));
    flag.set();
    runtime.block_on(blocks).unwrap();
    eventually("the other task runs", || ran.load(SeqCst));
    assert_eq!(runtime.metrics().stall_handoff_count(), 0);
}

#[test]
fn without_the_handoff_idle_workers_steal_from_a_blocked_one() {
    let runtime =
        Builder::new_multi_thread().worker_threads(2).disable_stall_handoff().build().unwrap();
    let flag = Flag::default();
    let blocks = runtime.spawn(async move {
        // Short polls, so that the worker expects further ones to be short.
        for _ in 0..10_000 {
            yield_now().await;
        }
        // The second task displaces the first from the LIFO slot, so that it can be stolen.
        let sets = flag.clone();
        wakeful::spawn(async move { sets.set() });
        wakeful::spawn(async {});
        flag.block();
    });
    runtime.block_on(blocks).unwrap();
}

#[test]
fn without_the_handoff_a_worker_keeps_no_task_local() {
    let runtime =
        Builder::new_multi_thread().worker_threads(2).disable_stall_handoff().build().unwrap();
    for _ in 0..20 {
        let (flag, left) = (Flag::default(), Arc::new(AtomicUsize::new(8)));
        let tasks = runtime.spawn(async move {
            let block = flag.clone();
            let blocks = wakeful::spawn(async move { block.block() });
            for _ in 0..8 {
                let (flag, left) = (flag.clone(), left.clone());
                wakeful::spawn(async move {
                    if left.fetch_sub(1, SeqCst) == 1 {
                        flag.set();
                    }
                });
            }
            blocks.await.unwrap();
        });
        runtime.block_on(tasks).unwrap();
    }
}

#[test]
fn surplus_threads_exit() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_keep_alive(Duration::from_millis(10))
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    let flag = Flag::default();
    for _ in 0..3 {
        let flag = flag.clone();
        runtime.spawn(async move { flag.block() });
    }
    eventually("all block", || metrics.num_stalled_threads() >= 2);
    assert!(metrics.num_blocking_threads() >= 2);
    flag.set();
    eventually("they end", || metrics.num_blocking_threads() == 0);
    assert_eq!(metrics.num_stalled_threads(), 0);
}

/// The pool's only thread is busy, so no thread takes over a worker that was given away. Another
/// worker fires its timers.
#[test]
fn timers_of_a_worker_without_a_thread_fire() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let (flag, fired) = (Flag::default(), Flag::default());
    let (waits, sets) = (flag.clone(), fired.clone());
    let taken = runtime.spawn_blocking(move || waits.block());
    let task = runtime.spawn(async move {
        let mut sleep = Box::pin(wakeful::time::sleep(Duration::from_millis(30)));
        std::future::poll_fn(|cx| {
            let _registered_on_this_worker = sleep.as_mut().poll(cx);
            std::task::Poll::Ready(())
        })
        .await;
        wakeful::spawn(async move {
            sleep.await;
            sets.set();
        });
        block_in_place(|| fired.block());
    });
    runtime.block_on(task).unwrap();
    flag.set();
    runtime.block_on(taken).unwrap();
}

/// Computing tasks compete for the CPUs, so the number of threads that take over from them is
/// limited.
#[test]
#[cfg(target_os = "linux")]
fn computing_tasks_do_not_get_a_thread_each() {
    const WORKERS: usize = 2;
    let runtime = multi_thread(WORKERS);
    let metrics = runtime.metrics();
    let compute = || async {
        let until = Instant::now() + Duration::from_millis(20);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    };
    let tasks: Vec<_> = (0..100).map(|_| runtime.spawn(compute())).collect();
    let mut most = 0;
    while tasks.iter().any(|task| !task.is_finished()) {
        most = most.max(metrics.num_stalled_threads());
        thread::sleep(Duration::from_millis(1));
    }
    let limit = 4 * thread::available_parallelism().unwrap().get() + WORKERS;
    assert!(most <= limit, "{most} threads without a worker computed; the limit is {limit}");
}

#[test]
fn ticks_continue_next_to_tasks_that_keep_blocking() {
    let runtime = multi_thread(2);
    let stop = Flag::default();
    for _ in 0..2 {
        let stop = stop.clone();
        runtime.spawn(async move {
            while !stop.is_set() {
                thread::sleep(Duration::from_millis(50));
                yield_now().await;
            }
        });
    }
    let begun = Instant::now();
    runtime
        .block_on(runtime.spawn(async {
            let mut ticks = wakeful::time::interval(Duration::from_millis(1));
            for _ in 0..200 {
                ticks.tick().await;
            }
        }))
        .unwrap();
    let blocks = begun.elapsed().as_millis() / 50;
    stop.set();
    // A tick that waits for a blocking call takes as long as that call.
    assert!(blocks < 100, "200 ticks took as long as {blocks} blocking calls");
}

#[test]
fn a_name_function_that_waits_for_the_blocking_task_does_not_stop_the_handoff() {
    for is_at_once in [true, false] {
        let names = Arc::new(Mutex::new(0));
        let (for_names, flag) = (names.clone(), Flag::default());
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name_fn(move || {
                let mut count = for_names.lock().unwrap();
                *count += 1;
                format!("named-{count}")
            })
            .build()
            .unwrap();
        if !is_at_once {
            // The worker has parked, so it has prepared a name for the next thread.
            eventually("a name is prepared", || *names.lock().unwrap() == 2);
        }
        let (waits, held) = (flag.clone(), names.clone());
        let (begun, has_begun) = mpsc::channel();
        let blocks = runtime.spawn(async move {
            let _held = held.lock().unwrap();
            begun.send(()).unwrap();
            waits.block();
        });
        has_begun.recv().unwrap();
        let sets = runtime.spawn(async move {
            flag.set();
            thread::current().name().map(str::to_owned)
        });
        runtime.block_on(blocks).unwrap();
        let name = runtime.block_on(sets).unwrap().expect("every thread has a name");
        assert!(is_at_once || name == "named-2", "{name}");
    }
}
