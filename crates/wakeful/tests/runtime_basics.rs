//! The basics of a runtime: spawning, joining, `block_on`, entering.

mod support;

use std::future::{pending, poll_fn, ready};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;
use support::{Mailbox, current_thread, each_flavor, eventually, multi_thread};
use wakeful::runtime::{Builder, Handle, LocalRuntime, RuntimeFlavor};
use wakeful::task::{self, yield_now};

#[test]
fn block_on_returns_the_output_of_the_future() {
    for runtime in each_flavor() {
        assert_eq!(runtime.block_on(async { 7 }), 7);
        let borrowed = String::from("not 'static");
        assert_eq!(runtime.block_on(async { borrowed.len() }), 11);
    }
}

#[test]
fn a_spawned_task_is_joined_for_its_output() {
    for runtime in each_flavor() {
        let sum = runtime.block_on(async {
            let tasks: Vec<_> = (0..100u64).map(|n| wakeful::spawn(async move { n })).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 4950);
    }
}

#[test]
fn a_task_spawned_from_outside_runs_without_being_awaited() {
    let runtime = multi_thread(2);
    let (done, is_done) = mpsc::channel();
    runtime.spawn(async move { done.send(thread::current().id()).unwrap() });
    assert_ne!(is_done.recv().unwrap(), thread::current().id());
}

#[test]
fn current_thread_tasks_run_only_during_block_on() {
    let runtime = current_thread();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    runtime.spawn(async move {
        loop {
            count.fetch_add(1, SeqCst);
            yield_now().await;
        }
    });
    assert_eq!(ran.load(SeqCst), 0);
    runtime.block_on(async {
        while ran.load(SeqCst) < 3 {
            yield_now().await;
        }
    });
    let so_far = ran.load(SeqCst);
    thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(ran.load(SeqCst), so_far);
}

#[test]
fn a_runtime_can_be_entered_thousands_of_times() {
    for runtime in [current_thread(), multi_thread(1)] {
        for n in 0..2000 {
            // Waits for another thread for a varying time, so that the runtime spins and sometimes
            // parks.
            let answers = runtime.block_on(async move {
                let mut answers = 0;
                for _ in 0..n % 5 {
                    answers += task::spawn_blocking(|| 1).await.unwrap();
                }
                answers
            });
            assert_eq!(answers, n % 5);
        }
    }
}

#[test]
fn tasks_are_woken_from_other_threads() {
    for runtime in each_flavor() {
        let (there, back) = (Mailbox::new(), Mailbox::new());
        let (to_echo, from_echo) = (there.clone(), back.clone());
        let echo = thread::spawn(move || {
            for round in 0..100 {
                eventually("the task waits", || to_echo.has_waiter() || round == 0);
                to_echo.put(round);
                while !from_echo.has_waiter() {
                    thread::yield_now();
                }
                from_echo.put(());
            }
        });
        runtime.block_on(async move {
            let task = wakeful::spawn(async move {
                for round in 0..100 {
                    assert_eq!(there.take().await, round);
                    back.take().await;
                }
            });
            task.await.unwrap();
        });
        echo.join().unwrap();
    }
}

#[test]
fn enter_selects_the_runtime_of_spawn() {
    let (first, second) = (multi_thread(1), multi_thread(1));
    let id_of = |task: task::JoinHandle<_>| first.block_on(task).unwrap();
    let _outer = first.enter();
    assert_eq!(id_of(wakeful::spawn(async { Handle::current().id() })), first.handle().id());
    {
        let _inner = second.enter();
        assert_eq!(Handle::current().id(), second.handle().id());
        assert_eq!(id_of(wakeful::spawn(async { Handle::current().id() })), second.handle().id());
    }
    assert_eq!(Handle::current().id(), first.handle().id());
}

#[test]
fn a_handle_outlives_its_runtime() {
    for runtime in each_flavor() {
        let handle = runtime.handle().clone();
        drop(runtime);
        let task = handle.spawn(async { unreachable!("the runtime is gone") });
        assert!(task.is_finished());
        let blocking = handle.spawn_blocking(|| unreachable!("the runtime is gone"));
        let other = current_thread();
        assert!(other.block_on(task).unwrap_err().is_cancelled());
        assert!(other.block_on(blocking).unwrap_err().is_cancelled());
    }
}

#[test]
fn handle_block_on_needs_no_driving_for_what_is_ready_or_runs_elsewhere() {
    let runtime = multi_thread(2);
    assert_eq!(runtime.handle().block_on(ready(1)), 1);
    let sum = runtime.handle().block_on(async { wakeful::spawn(async { 2 }).await.unwrap() + 1 });
    assert_eq!(sum, 3);
    assert_eq!(current_thread().handle().block_on(ready(4)), 4);
}

#[test]
fn a_waker_of_an_earlier_block_on_ends_no_later_one() {
    for rt in each_flavor() {
        let earlier = rt.block_on(poll_fn(|cx| Poll::Ready(cx.waker().clone())));
        earlier.wake_by_ref();
        let (sender, mailbox) = mpsc::channel();
        let mut polls = 0;
        rt.block_on(poll_fn(|cx| {
            polls += 1;
            let own = cx.waker().clone();
            match polls {
                1 => {
                    earlier.wake_by_ref();
                    let late = sender.clone();
                    thread::spawn(move || {
                        late.send("mail").unwrap();
                        own.wake();
                    });
                    Poll::Pending
                }
                _ if mailbox.try_recv().is_ok() => Poll::Ready(()),
                _ => Poll::Pending,
            }
        }));
    }
}

#[test]
fn a_nested_block_on_parks_by_itself() {
    let rt = multi_thread(2);
    let inner = rt.handle().clone();
    let sum = rt.block_on(async {
        let one = task::block_in_place(|| inner.block_on(inner.spawn(async { 1 })).unwrap());
        yield_now().await;
        one + wakeful::spawn(async { 2 }).await.unwrap()
    });
    assert_eq!(sum, 3);
    assert_eq!(rt.block_on(rt.spawn(async { 4 })).unwrap(), 4);
}

#[test]
fn a_second_block_on_takes_over_the_core() {
    let runtime = Arc::new(current_thread());
    let (go, start) = (Mailbox::new(), Mailbox::new());
    let (first, go_first, start_first) = (runtime.clone(), go.clone(), start.clone());
    let first = thread::spawn(move || {
        first.block_on(async move {
            start_first.put(());
            go_first.take().await;
        })
    });
    // While the first `block_on` drives the runtime, this one can only wait for what needs no
    // driving.
    runtime.block_on(async {
        start.take().await;
        go.put(());
    });
    first.join().unwrap();
    // The first `block_on` has returned the core, so this one drives the runtime.
    let task = runtime.spawn(async { 5 });
    assert_eq!(runtime.block_on(task).unwrap(), 5);
}

#[test]
fn a_waiting_block_on_gets_the_core_when_the_first_is_done() {
    for _ in 0..100 {
        let runtime = Arc::new(current_thread());
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let runtime = runtime.clone();
                thread::spawn(move || {
                    runtime.block_on(async move { wakeful::spawn(async move { n }).await.unwrap() })
                })
            })
            .collect();
        let mut outputs: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
        outputs.sort();
        assert_eq!(outputs, [0, 1, 2, 3]);
    }
}

#[test]
fn a_panic_in_block_on_leaves_the_runtime_usable() {
    for runtime in each_flavor() {
        let result = std::panic::catch_unwind(|| runtime.block_on(async { panic!("on purpose") }));
        assert!(result.is_err());
        let task = runtime.spawn(async { 1 });
        assert_eq!(runtime.block_on(task).unwrap(), 1);
    }
}

#[test]
fn a_panic_in_a_task_reaches_the_join_handle() {
    for runtime in each_flavor() {
        let error = runtime.block_on(runtime.spawn(async { panic!("on purpose") })).unwrap_err();
        assert!(error.is_panic() && error.to_string().contains("on purpose"));
        assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "on purpose");
    }
}

#[test]
fn aborted_tasks_are_cancelled_in_every_state() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let never_polled = wakeful::spawn(async {});
            never_polled.abort();
            let waiting = wakeful::spawn(pending::<()>());
            yield_now().await;
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
            // Another worker may have polled the task before the abort.
            let _either = never_polled.await;
            let ended = wakeful::spawn(async { 3 });
            while !ended.is_finished() {
                yield_now().await;
            }
            ended.abort();
            assert_eq!(ended.await.unwrap(), 3);
        });
    }
}

#[test]
fn runtimes_report_their_flavor() {
    let single = Builder::new_current_thread().name("alpha").build().unwrap();
    assert_eq!(single.handle().runtime_flavor(), RuntimeFlavor::CurrentThread);
    assert_eq!(single.handle().name(), Some("alpha"));
    let many = multi_thread(3);
    assert_eq!(many.handle().runtime_flavor(), RuntimeFlavor::MultiThread);
    assert_eq!(many.handle().name(), None);
    assert_ne!(many.handle().id(), single.handle().id());
    assert_eq!(many.metrics().num_workers(), 3);
    let on_worker = many.block_on(many.spawn(async { wakeful::runtime::worker_index() })).unwrap();
    assert!(on_worker.is_some_and(|index| index < 3));
    assert_eq!(wakeful::runtime::worker_index(), None);
    assert_eq!(single.block_on(async { wakeful::runtime::worker_index() }), Some(0));
}

#[test]
fn a_local_runtime_runs_futures_that_are_not_send() {
    let runtime = LocalRuntime::new().unwrap();
    let shared = std::rc::Rc::new(5);
    let task = runtime.spawn_local(async move {
        yield_now().await;
        *shared
    });
    assert_eq!(runtime.block_on(task).unwrap(), 5);
}

#[test]
fn worker_threads_come_from_the_environment_unless_set() {
    // In a child process, because the environment is global to the process.
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "prints_its_workers", "--nocapture"])
        .env("WAKEFUL_WORKER_THREADS", "3")
        .env("TOKIO_WORKER_THREADS", "7")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("workers: 3, set: 2"), "{text}");
}

#[test]
fn the_first_runtime_prints_the_version_if_the_environment_asks_for_it() {
    for (value, expected) in [("1", 1), ("0", 0), ("", 0)] {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "prints_its_workers", "--nocapture"])
            .env("WAKEFUL_VERSION", value)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let line = concat!("wakeful: this program runs on Wakeful ", env!("CARGO_PKG_VERSION"));
        assert_eq!(text.lines().filter(|found| *found == line).count(), expected, "{text}");
    }
}

#[test]
fn prints_its_workers() {
    let by_default = Builder::new_multi_thread().build().unwrap().metrics().num_workers();
    let set =
        Builder::new_multi_thread().worker_threads(2).build().unwrap().metrics().num_workers();
    println!("workers: {by_default}, set: {set}");
}
