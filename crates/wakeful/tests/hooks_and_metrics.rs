//! What a runtime reports: hooks on threads and tasks, and counters.

mod support;

use std::future::{Future as _, pending};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};
use support::{current_thread, each_flavor, eventually, multi_thread};
use wakeful::runtime::{Builder, UnhandledPanic};
use wakeful::task::{self, Id, consume_budget, yield_now};

type Log = Arc<Mutex<Vec<(&'static str, Id)>>>;

#[test]
fn task_hooks_see_a_task_from_spawn_to_end() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let log: Log = Arc::default();
        let note = |what| {
            let log = log.clone();
            move |task: &wakeful::runtime::TaskMeta<'_>| {
                assert!(task.spawned_at().file().ends_with("hooks_and_metrics.rs"));
                log.lock().unwrap().push((what, task.id()));
            }
        };
        let runtime = builder
            .worker_threads(2)
            .on_task_spawn(note("spawn"))
            .on_before_task_poll(note("before"))
            .on_after_task_poll(note("after"))
            .on_task_terminate(note("end"))
            .build()
            .unwrap();
        let task = runtime.spawn(async { yield_now().await });
        let id = task.id();
        runtime.block_on(task).unwrap();
        let whats: Vec<_> = log
            .lock()
            .unwrap()
            .iter()
            .map(|&(what, seen)| {
                assert_eq!(seen, id);
                what
            })
            .collect();
        assert_eq!(whats, ["spawn", "before", "after", "before", "after", "end"]);
    }
}

#[test]
fn the_end_hook_sees_cancelled_tasks_too() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let ended = Arc::new(AtomicUsize::new(0));
        let count = ended.clone();
        let runtime = builder
            .worker_threads(1)
            .on_task_terminate(move |_| {
                count.fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        drop(runtime.spawn(pending::<()>()));
        let aborted = runtime.spawn(pending::<()>());
        aborted.abort();
        assert!(runtime.block_on(aborted).is_err());
        drop(runtime);
        assert_eq!(ended.load(SeqCst), 2);
    }
}

#[test]
fn park_hooks_come_in_pairs() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let (parks, unparks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (park, unpark) = (parks.clone(), unparks.clone());
        let runtime = builder
            .worker_threads(1)
            .on_thread_park(move || {
                park.fetch_add(1, SeqCst);
            })
            .on_thread_unpark(move || {
                unpark.fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        let call = runtime.spawn_blocking(|| std::thread::sleep(Duration::from_millis(20)));
        runtime.block_on(runtime.spawn(async { call.await.unwrap() })).unwrap();
        drop(runtime);
        assert!(parks.load(SeqCst) >= 1);
        assert_eq!(parks.load(SeqCst), unparks.load(SeqCst));
    }
}

#[test]
fn threads_have_the_name_they_were_given() {
    let runtime =
        Builder::new_multi_thread().worker_threads(1).thread_name("pigeon").build().unwrap();
    let name = || std::thread::current().name().map(str::to_owned);
    assert_eq!(runtime.block_on(runtime.spawn(async move { name() })).unwrap().unwrap(), "pigeon");
    assert_eq!(runtime.block_on(runtime.spawn_blocking(name)).unwrap().unwrap(), "pigeon");
    let default = multi_thread(1);
    let name = default.block_on(default.spawn(async move { name() })).unwrap().unwrap();
    assert_eq!(name, "wakeful-worker");
}

#[test]
fn alive_tasks_are_counted() {
    for runtime in each_flavor() {
        let metrics = runtime.metrics();
        assert_eq!(metrics.num_alive_tasks(), 0);
        let tasks: Vec<_> = (0..10).map(|_| runtime.spawn(pending::<()>())).collect();
        assert_eq!(metrics.num_alive_tasks(), 10);
        runtime.block_on(runtime.spawn(async { drop(wakeful::spawn(async {})) })).unwrap();
        for task in &tasks {
            task.abort();
        }
        runtime.block_on(async {
            while metrics.num_alive_tasks() > 0 {
                yield_now().await;
            }
        });
        assert_eq!(metrics.spawned_tasks_count(), 12);
    }
}

#[test]
fn the_injection_queue_is_counted() {
    let runtime = current_thread();
    for _ in 0..5 {
        drop(runtime.spawn(async {}));
    }
    assert_eq!(runtime.metrics().global_queue_depth(), 5);
    assert_eq!(runtime.metrics().remote_schedule_count(), 5);
    runtime.block_on(async { yield_now().await });
    assert_eq!(runtime.metrics().global_queue_depth(), 0);
}

#[test]
fn workers_count_their_parks_and_busy_time() {
    let runtime = multi_thread(2);
    let metrics = runtime.metrics();
    eventually("both workers sleep", || {
        (0..2).all(|worker| metrics.worker_park_unpark_count(worker) % 2 == 1)
    });
    runtime
        .block_on(runtime.spawn(async {
            for _ in 0..100 {
                yield_now().await;
            }
        }))
        .unwrap();
    assert!((0..2).map(|worker| metrics.worker_poll_count(worker)).sum::<u64>() >= 101);
    eventually("both workers sleep again", || {
        (0..2).all(|worker| metrics.worker_park_unpark_count(worker) % 2 == 1)
    });
    assert!((0..2).any(|worker| metrics.worker_total_busy_duration(worker) > Duration::ZERO));
    let ids: Vec<_> = (0..2).map(|worker| metrics.worker_thread_id(worker).unwrap()).collect();
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn forced_yields_are_counted() {
    for runtime in each_flavor() {
        runtime
            .block_on(runtime.spawn(async {
                for _ in 0..1000 {
                    consume_budget().await;
                }
            }))
            .unwrap();
        assert_eq!(runtime.metrics().budget_forced_yield_count(), 1000 / 128);
    }
}

#[test]
fn a_runtime_can_shut_down_on_a_tasks_panic() {
    let runtime = Builder::new_current_thread()
        .unhandled_panic(UnhandledPanic::ShutdownRuntime)
        .build()
        .unwrap();
    drop(runtime.spawn(async { panic!("on purpose") }));
    let dropped = support::DropCount::default();
    let guard = dropped.guard();
    drop(runtime.spawn(async move {
        let _held = guard;
        pending::<()>().await
    }));
    let result = std::panic::catch_unwind(|| runtime.block_on(pending::<()>()));
    assert!(result.is_err());
    assert_eq!(dropped.get(), 1);
    let late = runtime.spawn(async {});
    assert!(late.is_finished());
}

#[test]
fn ids_are_unique_and_known_inside() {
    let runtime = multi_thread(2);
    let tasks: Vec<_> = (0..1000).map(|_| runtime.spawn(async { task::id() })).collect();
    let mut ids: Vec<_> = runtime.block_on(async {
        let mut ids = Vec::new();
        for task in tasks {
            let id = task.id();
            assert_eq!(task.await.unwrap(), id);
            ids.push(id);
        }
        assert_eq!(task::try_id(), None);
        ids
    });
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
}

/// Panics without running the panic hook, which would print many messages.
fn quiet_panic() {
    std::panic::resume_unwind(Box::new("a hook"));
}

#[test]
fn hooks_that_panic_stop_neither_workers_nor_tasks() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = builder
            .worker_threads(2)
            .thread_keep_alive(Duration::from_millis(1))
            .thread_name_fn(|| std::panic::resume_unwind(Box::new("a hook")))
            .on_thread_start(quiet_panic)
            .on_thread_stop(quiet_panic)
            .on_thread_park(quiet_panic)
            .on_thread_unpark(quiet_panic)
            .on_task_spawn(|_| quiet_panic())
            .on_before_task_poll(|_| quiet_panic())
            .on_after_task_poll(|_| quiet_panic())
            .on_task_terminate(|_| quiet_panic())
            .build()
            .unwrap();
        let ended = runtime.block_on(async {
            let mut ended = 0;
            for round in 0..20 {
                let task = wakeful::spawn(async move {
                    yield_now().await;
                    task::spawn_blocking(move || round).await.unwrap()
                });
                ended += usize::from(task.await.unwrap() == round);
            }
            ended
        });
        assert_eq!(ended, 20);
        // A task that waits, or one that was never polled.
        runtime.spawn(pending::<()>());
        drop(runtime);
    }
}

#[test]
fn a_deferred_waker_that_panics_does_not_affect_others() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            quiet_panic();
        }
    }
    for runtime in each_flavor() {
        let task = || async {
            let waker = Waker::from(Arc::new(Panics));
            let mut yields = pin!(yield_now());
            assert!(yields.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            yield_now().await;
            wakeful::spawn(async { 1 }).await.unwrap()
        };
        let tasks: Vec<_> = (0..8).map(|_| runtime.spawn(task())).collect();
        runtime.block_on(async {
            for task in tasks {
                assert_eq!(task.await.unwrap(), 1);
            }
        });
    }
}

#[test]
fn every_worker_has_parked_when_its_runtime_is_dropped() {
    for _ in 0..100 {
        // The runtime is usually dropped before its threads have started.
        let runtime = multi_thread(2);
        let metrics = runtime.metrics();
        drop(runtime);
        for worker in 0..2 {
            assert!(metrics.worker_park_count(worker) >= 1);
            assert_eq!(metrics.worker_park_unpark_count(worker) % 2, 0);
        }
    }
}

/// Each task is spawned when the previous one has just ended, so that a worker that spins before it
/// parks finds it.
#[test]
fn busy_time_includes_tasks_found_before_parking() {
    const TASKS: u32 = 500;
    const EACH: Duration = Duration::from_micros(100);
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).disable_stall_handoff().build().unwrap();
    for _ in 0..TASKS {
        let task = runtime.spawn(async {
            let begun = Instant::now();
            while begun.elapsed() < EACH {
                std::hint::spin_loop();
            }
        });
        while !task.is_finished() {
            std::hint::spin_loop();
        }
    }
    let metrics = runtime.metrics();
    drop(runtime);
    let busy = metrics.worker_total_busy_duration(0);
    assert!(busy >= TASKS * EACH, "{busy:?}");
}

/// The worker never runs out of tasks, because one always yields.
#[test]
fn busy_time_of_a_worker_that_is_never_idle_grows() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = builder.worker_threads(1).build().unwrap();
        let metrics = runtime.metrics();
        runtime.block_on(async move {
            let busy_task = task::spawn(async {
                loop {
                    yield_now().await;
                }
            });
            let begun = Instant::now();
            let watcher = task::spawn(async move {
                while metrics.worker_total_busy_duration(0) < Duration::from_millis(1) {
                    assert!(begun.elapsed() < Duration::from_secs(10), "busy time does not grow");
                    yield_now().await;
                }
            });
            watcher.await.unwrap();
            busy_task.abort();
        });
    }
}
