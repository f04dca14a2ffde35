//! Shutdown of runtimes: every task is dropped once, no thread is left, and nothing deadlocks.

mod support;

use std::cell::RefCell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use support::{DropCount, Mailbox, current_thread, each_flavor, eventually, multi_thread, within};
use wakeful::runtime::{Builder, Handle, Runtime, UnhandledPanic};
use wakeful::task::{JoinHandle, block_in_place, spawn_blocking, yield_now};

#[test]
fn every_task_is_dropped_once_in_every_state() {
    for runtime in each_flavor() {
        let dropped = DropCount::default();
        let handles = runtime.block_on(async {
            let mut handles: Vec<JoinHandle<()>> = Vec::new();
            for n in 0..300 {
                let guard = dropped.guard();
                handles.push(match n % 3 {
                    0 => wakeful::spawn(async move {
                        let _held = guard;
                        pending().await
                    }),
                    1 => wakeful::spawn(async move {
                        let _held = guard;
                        loop {
                            yield_now().await;
                        }
                    }),
                    _ => wakeful::spawn(async move { drop(guard) }),
                });
            }
            for _ in 0..10 {
                yield_now().await;
            }
            handles
        });
        for _ in 0..50 {
            let guard = dropped.guard();
            runtime.spawn(async move { drop(guard) });
        }
        drop(runtime);
        assert_eq!(dropped.get(), 350);
        let ended = current_thread();
        for (n, handle) in handles.into_iter().enumerate() {
            assert!(handle.is_finished());
            assert!(ended.block_on(handle).is_err() || n % 3 == 2);
        }
    }
}

#[test]
fn tasks_may_spawn_and_wake_while_they_are_dropped() {
    struct SpawnOnDrop(DropCount, Arc<Mailbox<()>>);

    impl Drop for SpawnOnDrop {
        fn drop(&mut self) {
            self.1.put(());
            let guard = self.0.guard();
            let task = wakeful::spawn(async move {
                let _held = guard;
                unreachable!("nothing that is spawned during the shutdown runs")
            });
            assert!(task.is_finished());
            let guard = self.0.guard();
            drop(Handle::current().spawn_blocking(move || drop(guard)));
        }
    }

    for runtime in each_flavor() {
        let (dropped, mailbox) = (DropCount::default(), Mailbox::new());
        for _ in 0..20 {
            let (on_drop, mailbox) =
                (SpawnOnDrop(dropped.clone(), mailbox.clone()), mailbox.clone());
            runtime.spawn(async move {
                let _held = on_drop;
                loop {
                    mailbox.take().await;
                }
            });
        }
        runtime.block_on(async {
            for _ in 0..10 {
                yield_now().await;
            }
        });
        drop(runtime);
        assert_eq!(dropped.get(), 40);
    }
}

#[test]
fn join_handles_dropped_by_tasks_that_are_dropped() {
    for runtime in each_flavor() {
        let dropped = DropCount::default();
        let guard = dropped.guard();
        runtime.spawn(async move {
            let inner = wakeful::spawn(async move {
                let _held = guard;
                pending::<()>().await
            });
            inner.await
        });
        runtime.block_on(async {
            for _ in 0..10 {
                yield_now().await;
            }
        });
        drop(runtime);
        assert_eq!(dropped.get(), 1);
    }
}

#[test]
fn no_thread_is_left_after_the_drop() {
    let live = Arc::new(AtomicUsize::new(0));
    let (started, stopped) = (live.clone(), live.clone());
    let runtime = Builder::new_multi_thread()
        .worker_threads(3)
        .on_thread_start(move || {
            started.fetch_add(1, SeqCst);
        })
        .on_thread_stop(move || {
            stopped.fetch_sub(1, SeqCst);
        })
        .build()
        .unwrap();
    let calls: Vec<_> = (0..10)
        .map(|_| runtime.spawn_blocking(|| thread::sleep(Duration::from_millis(5))))
        .collect();
    runtime.block_on(async {
        for call in calls {
            call.await.unwrap();
        }
    });
    assert!(live.load(SeqCst) >= 4);
    drop(runtime);
    assert_eq!(live.load(SeqCst), 0);
}

#[test]
fn the_drop_waits_for_running_blocking_tasks_and_cancels_queued_ones() {
    let runtime =
        Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).build().unwrap();
    let (begun, has_begun) = mpsc::channel();
    let (cancelled, is_cancelled) = mpsc::channel::<()>();
    let finished = Arc::new(AtomicBool::new(false));
    let set = finished.clone();
    drop(runtime.spawn_blocking(move || {
        begun.send(()).unwrap();
        // Blocks until the shutdown has dropped the other closure.
        let ended = is_cancelled.recv_timeout(Duration::from_secs(60));
        set.store(ended == Err(mpsc::RecvTimeoutError::Disconnected), SeqCst);
    }));
    has_begun.recv().unwrap();
    let waiting = runtime.spawn_blocking(move || {
        let _kept_until_dropped = cancelled;
        unreachable!("the closure is cancelled")
    });
    drop(runtime);
    assert!(finished.load(SeqCst));
    assert!(current_thread().block_on(waiting).unwrap_err().is_cancelled());
}

#[test]
fn a_blocking_task_whose_thread_is_still_starting_is_run() {
    for _ in 0..20 {
        for runtime in each_flavor() {
            let call = runtime.spawn_blocking(|| 1);
            drop(runtime);
            assert_eq!(current_thread().block_on(call).unwrap(), 1);
        }
    }
}

#[test]
fn shutdown_timeout_leaves_a_stuck_thread_behind() {
    let runtime = multi_thread(2);
    let (release, released) = mpsc::channel::<()>();
    let (begun, has_begun) = mpsc::channel();
    drop(runtime.spawn_blocking(move || {
        begun.send(()).unwrap();
        let _end = released.recv();
    }));
    has_begun.recv().unwrap();
    let start = Instant::now();
    runtime.shutdown_timeout(Duration::from_millis(50));
    assert!((Duration::from_millis(50)..Duration::from_secs(5)).contains(&start.elapsed()));
    drop(release);
}

#[test]
fn shutdown_background_may_be_called_in_a_task() {
    let outer = multi_thread(1);
    let dropped = DropCount::default();
    let guard = dropped.guard();
    outer.block_on(async move {
        let inner = multi_thread(1);
        inner.spawn(async move {
            let _held = guard;
            pending::<()>().await
        });
        inner.shutdown_background();
    });
    eventually("the inner runtime drops its task", || dropped.get() == 1);
}

#[test]
fn a_runtime_may_be_dropped_on_a_thread_of_its_own_pool() {
    for _ in 0..20 {
        let runtime = Arc::new(multi_thread(2));
        let owner = runtime.clone();
        let (done, is_done) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        drop(runtime.spawn_blocking(move || {
            may_go.recv().unwrap();
            drop(owner);
            done.send(()).unwrap();
        }));
        drop(runtime);
        go.send(()).unwrap();
        is_done.recv_timeout(Duration::from_secs(10)).expect("the drop returns");
    }
}

#[test]
fn a_runtime_with_a_task_in_block_in_place_waits_for_it() {
    for _ in 0..20 {
        let runtime = multi_thread(1);
        let (begun, has_begun) = mpsc::channel();
        let finished = Arc::new(AtomicBool::new(false));
        let set = finished.clone();
        runtime.spawn(async move {
            wakeful::task::block_in_place(|| {
                begun.send(()).unwrap();
                thread::sleep(Duration::from_millis(5));
            });
            set.store(true, SeqCst);
            // The thread has no worker and the runtime shuts down, so the future is dropped after
            // this poll.
            pending::<()>().await
        });
        has_begun.recv().unwrap();
        drop(runtime);
        assert!(finished.load(SeqCst));
    }
}

#[test]
fn a_waker_may_be_used_after_the_shutdown() {
    for runtime in each_flavor() {
        let slot: Arc<Mutex<Option<Waker>>> = Arc::default();
        let fill = slot.clone();
        runtime.spawn(poll_fn(move |cx| {
            *fill.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        runtime.block_on(async {
            while slot.lock().unwrap().is_none() {
                yield_now().await;
            }
        });
        let waker = slot.lock().unwrap().take().unwrap();
        drop(runtime);
        waker.wake_by_ref();
        let second = waker.clone();
        waker.wake();
        drop(second);
    }
}

#[test]
fn the_last_reference_to_a_task_frees_what_is_left_of_its_runtime() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let part: Arc<()> = Arc::default();
        let of_runtime = part.clone();
        let runtime =
            builder.worker_threads(2).on_thread_park(move || drop(of_runtime.clone())).build();
        let runtime = runtime.unwrap();
        drop(builder);
        let slot: Arc<Mutex<Option<Waker>>> = Arc::default();
        let fill = slot.clone();
        runtime.spawn(poll_fn(move |cx| {
            *fill.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        runtime.block_on(async {
            // More tasks than the workers take references for in one batch. Some end on another
            // worker than the one they started on.
            let tasks: Vec<_> = (0..2000)
                .map(|n| {
                    wakeful::spawn(async move {
                        yield_now().await;
                        if n % 10 == 0 {
                            spawn_blocking(|| ()).await.unwrap();
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        let joined = runtime.spawn(async {});
        drop(runtime);
        let waker = slot.lock().unwrap().take().unwrap();
        drop(joined);
        assert_eq!(Arc::strong_count(&part), 2, "a waker keeps what it needs to schedule");
        drop(waker);
        assert_eq!(Arc::strong_count(&part), 1);
    }
}

#[test]
fn a_runtime_in_a_thread_local_is_dropped_with_the_thread() {
    thread_local! {
        static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
    }
    for make in [current_thread as fn() -> Runtime, || multi_thread(1)] {
        let dropped = DropCount::default();
        let guard = dropped.guard();
        thread::spawn(move || {
            let runtime = make();
            runtime.spawn(async move {
                let _held = guard;
                pending::<()>().await
            });
            RUNTIME.with(|slot| *slot.borrow_mut() = Some(runtime));
        })
        .join()
        .unwrap();
        assert_eq!(dropped.get(), 1);
    }
}

/// A future whose drop takes a while, so that it overlaps with the shutdown.
struct SlowDrop(DropCount);

impl Future for SlowDrop {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for SlowDrop {
    fn drop(&mut self) {
        thread::sleep(Duration::from_micros(50));
        drop(self.0.guard());
    }
}

#[test]
fn stress_shutdown_under_load() {
    let deadline = Instant::now() + support::stress_time();
    let mut rounds = 0;
    while Instant::now() < deadline || rounds < 20 {
        rounds += 1;
        let runtime = multi_thread(1 + rounds % 4);
        let (spawned, dropped) = (Arc::new(AtomicUsize::new(0)), DropCount::default());
        let (handle, stop) = (runtime.handle().clone(), Arc::new(AtomicBool::new(false)));
        // Threads outside the runtime spawn, wake and abort while it shuts down.
        let mailbox = Mailbox::new();
        let outside: Vec<_> = (0..2)
            .map(|n| {
                let (handle, stop, mailbox) = (handle.clone(), stop.clone(), mailbox.clone());
                let (spawned, dropped) = (spawned.clone(), dropped.clone());
                thread::spawn(move || {
                    while !stop.load(Relaxed) {
                        let (guard, mailbox_in) = (dropped.guard(), mailbox.clone());
                        spawned.fetch_add(1, SeqCst);
                        let task = handle.spawn(async move {
                            let _held = guard;
                            mailbox_in.take().await;
                            spawn_blocking(|| ()).await
                        });
                        mailbox.put(());
                        if n == 0 {
                            task.abort();
                        }
                    }
                })
            })
            .collect();
        for _ in 0..20 {
            spawned.fetch_add(1, SeqCst);
            runtime.spawn(SlowDrop(dropped.clone()));
        }
        thread::sleep(Duration::from_micros(200 * (rounds as u64 % 10)));
        drop(runtime);
        stop.store(true, Relaxed);
        for thread in outside {
            thread.join().unwrap();
        }
        drop(mailbox);
        assert_eq!(dropped.get(), spawned.load(SeqCst), "round {rounds}");
    }
}

#[test]
fn stress_shutdown_with_tasks_after_a_handoff() {
    let deadline = Instant::now() + support::stress_time();
    let mut rounds = 0;
    while Instant::now() < deadline || rounds < 20 {
        rounds += 1;
        let runtime = multi_thread(1 + rounds % 3);
        let dropped = DropCount::default();
        let mailboxes: Vec<_> = (0..8).map(|_| Mailbox::new()).collect();
        for n in 0..24 {
            let (guard, mailbox) = (dropped.guard(), mailboxes[n % 8].clone());
            runtime.spawn(async move {
                let _held = guard;
                for round in n.. {
                    // Some return from here without a worker: to wait for the first time, to yield,
                    // to complete, or into the shutdown.
                    block_in_place(|| {
                        thread::sleep(Duration::from_micros(10 * (round % 5) as u64))
                    });
                    match round % 4 {
                        0 => yield_now().await,
                        1 => mailbox.put(()),
                        2 => mailbox.take().await,
                        _ if round > 40 => return,
                        _ => {}
                    }
                }
            });
        }
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = stop.clone();
        let outside = thread::spawn(move || {
            while !is_stopped.load(Relaxed) {
                for mailbox in &mailboxes {
                    mailbox.put(());
                }
                thread::yield_now();
            }
        });
        thread::sleep(Duration::from_micros(150 * (rounds as u64 % 12)));
        drop(runtime);
        assert_eq!(dropped.get(), 24, "round {rounds}");
        stop.store(true, Relaxed);
        outside.join().unwrap();
    }
}

#[test]
fn every_block_on_after_a_panic_that_ended_the_runtime_panics() {
    within(Duration::from_secs(20), || {
        let runtime = Builder::new_current_thread()
            .unhandled_panic(UnhandledPanic::ShutdownRuntime)
            .build()
            .unwrap();
        for _ in 0..3 {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                runtime.block_on(async {
                    wakeful::spawn(async { panic!("on purpose") });
                    pending::<()>().await;
                });
            }));
            let payload = ended.unwrap_err();
            let text = payload.downcast_ref::<&str>().unwrap();
            assert!(text.contains("a spawned task panicked"), "{text}");
        }
    });
}

/// The last worker tells the monitor to exit, so it may exit after the workers' threads.
#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_left_after_a_shutdown_with_a_timeout() {
    let test = "no_thread_is_left_after_a_shutdown_with_a_timeout";
    if std::env::var_os(CHILD).is_none() {
        // In a child process, where no other test has threads.
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--test-threads=1"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    // Do not count threads that are exiting: the kernel lists them for a moment after the join.
    let threads = || {
        let ids = std::fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
        let is_there = |stat: &String| {
            const EXITING: u32 = 0x4;
            let mut fields = stat[stat.rfind(')').unwrap() + 2..].split(' ');
            let flags: u32 = fields.nth(6).unwrap().parse().unwrap();
            flags & EXITING == 0
        };
        ids.filter_map(|id| std::fs::read_to_string(id.join("stat")).ok()).filter(is_there).count()
    };
    let before = threads();
    for round in 0..200 {
        let runtime = multi_thread(2);
        // Keeps both workers busy, so that the monitor is started.
        let tasks: Vec<_> = (0..8).map(|_| runtime.spawn(wakeful::task::yield_now())).collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        runtime.shutdown_timeout(Duration::from_secs(10));
        assert_eq!(threads(), before, "round {round}");
    }
}

#[cfg(target_os = "linux")]
const CHILD: &str = "WAKEFUL_SHUTDOWN_CHILD";
