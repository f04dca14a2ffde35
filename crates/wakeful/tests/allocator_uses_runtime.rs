//! A global allocator that calls the runtime, as a profiling or logging allocator may. No task is
//! lost.
//!
//! The allocator may be called while the worker changes its queue. Its call must then take the path
//! of calls from other threads.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::within;
use wakeful::runtime::{Builder, Handle, Runtime};
use wakeful::sync::Notify;
use wakeful::task::{LocalSet, spawn_local, yield_now};

struct CallsRuntime;

#[global_allocator]
static ALLOCATOR: CallsRuntime = CallsRuntime;

thread_local! {
    static IS_CALLING: Cell<bool> = const { Cell::new(false) };
}

// Configure what the allocator does, and when.
static EVERY: AtomicUsize = AtomicUsize::new(0);
static ONLY_SIZE: AtomicUsize = AtomicUsize::new(0);
static SPAWNS: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);
static TARGET: Mutex<Option<Arc<Target>>> = Mutex::new(None);

struct Target {
    notifies: Vec<Notify>,
    handle: OnceLock<Handle>,
}

fn call_runtime(layout: Layout) {
    let every = EVERY.load(Relaxed);
    if every == 0 || IS_CALLING.try_with(|calling| calling.replace(true)).unwrap_or(true) {
        return;
    }
    let only = ONLY_SIZE.load(Relaxed);
    if only == 0 || only == layout.size() {
        let count = COUNT.fetch_add(1, Relaxed);
        if count % every == 0 {
            let target = TARGET.try_lock().ok().and_then(|target| target.clone());
            if let Some(target) = target {
                CALLS.fetch_add(1, Relaxed);
                match target.handle.get() {
                    Some(handle) if SPAWNS.load(Relaxed) => drop(handle.spawn(async {})),
                    _ => target.notifies[count / every % target.notifies.len()].notify_one(),
                }
            }
        }
    }
    IS_CALLING.with(|calling| calling.set(false));
}

// SAFETY: all calls are forwarded to the system's allocator, which meets the contract.
// `call_runtime` does not touch the memory.
unsafe impl GlobalAlloc for CallsRuntime {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        call_runtime(layout);
        // SAFETY: the caller meets the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `System.alloc` above with the same layout, as the caller
        // guarantees.
        unsafe { System.dealloc(memory, layout) };
        call_runtime(layout);
    }
}

/// Runs `test` while every `every`-th call of the allocator calls the runtime. If `only_size` is
/// not 0, only calls of this size count.
fn with_calls(every: usize, only_size: usize, spawns: bool, test: impl FnOnce(&Target)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let target = Arc::new(Target {
        notifies: (0..32).map(|_| Notify::new()).collect(),
        handle: OnceLock::new(),
    });
    *TARGET.lock().unwrap() = Some(target.clone());
    SPAWNS.store(spawns, Relaxed);
    ONLY_SIZE.store(only_size, Relaxed);
    EVERY.store(every, Relaxed);
    test(&target);
    EVERY.store(0, Relaxed);
    drop(TARGET.lock().unwrap().take());
    assert!(CALLS.swap(0, Relaxed) > 0, "the allocator has called the runtime");
}

/// Runs tasks that yield, sleep and wait for a notification from the allocator.
async fn load(target: Arc<Target>) {
    for round in 0..20 {
        let ended = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..500)
            .map(|number| {
                let (ended, target) = (ended.clone(), target.clone());
                wakeful::spawn(async move {
                    match number % 4 {
                        0 => wakeful::time::sleep(Duration::from_micros(number)).await,
                        1 => {
                            // Completes before the limit if the allocator notifies it by then.
                            let notified = target.notifies[number as usize % 32].notified();
                            let limit = Duration::from_millis(2);
                            let _either = wakeful::time::timeout(limit, notified).await;
                        }
                        _ => yield_now().await,
                    }
                    ended.fetch_add(1, Relaxed);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(ended.load(Relaxed), 500, "round {round}");
    }
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn runs_all_tasks(make: fn() -> Runtime, every: usize, spawns: bool) {
    within(Duration::from_secs(60), move || {
        with_calls(every, 0, spawns, |target| {
            let runtime = make();
            let _set_once = target.handle.set(runtime.handle().clone());
            let target = TARGET.lock().unwrap().clone().unwrap();
            runtime.block_on(async { wakeful::spawn(load(target)).await.unwrap() });
        });
    });
}

#[test]
fn no_task_is_lost_if_the_allocator_notifies() {
    runs_all_tasks(multi_thread, 10, false);
    runs_all_tasks(current_thread, 10, false);
}

#[test]
fn no_task_is_lost_if_the_allocator_spawns() {
    runs_all_tasks(multi_thread, 3, true);
    runs_all_tasks(current_thread, 3, true);
}

/// The ring of the run queue is reallocated with twice the capacity while one task spawns many. A
/// second worker would steal them before the ring is full.
#[test]
fn no_task_is_lost_if_a_wake_comes_while_the_queue_grows() {
    let makes: [fn() -> Runtime; 2] = [|| support::multi_thread(1), current_thread];
    for make in makes {
        within(Duration::from_secs(20), move || {
            with_calls(1, 512 * size_of::<usize>(), false, |target| {
                let _no_spawns = target;
                let runtime = make();
                let target = TARGET.lock().unwrap().clone().unwrap();
                runtime.block_on(async move {
                    let main = wakeful::spawn(async move {
                        let waiting: Vec<_> = (0..32)
                            .map(|number| {
                                let target = target.clone();
                                wakeful::spawn(async move {
                                    target.notifies[number].notified().await;
                                })
                            })
                            .collect();
                        yield_now().await;
                        let tasks: Vec<_> = (0..600).map(|_| wakeful::spawn(async {})).collect();
                        for task in tasks {
                            task.await.unwrap();
                        }
                        target.notifies.iter().for_each(Notify::notify_one);
                        for task in waiting {
                            task.await.unwrap();
                        }
                    });
                    main.await.unwrap();
                });
            });
        });
    }
}

/// The queue of the set grows from 64 to 128 entries while tasks of the set wait for the allocator.
#[test]
fn a_local_set_loses_no_task() {
    within(Duration::from_secs(20), || {
        with_calls(1, 128 * size_of::<usize>(), false, |_| {
            let runtime = current_thread();
            let target = TARGET.lock().unwrap().clone().unwrap();
            LocalSet::new().block_on(&runtime, async move {
                let waiting: Vec<_> = (0..32)
                    .map(|number| {
                        let target = target.clone();
                        spawn_local(async move { target.notifies[number].notified().await })
                    })
                    .collect();
                yield_now().await;
                let tasks: Vec<_> = (0..100).map(|_| spawn_local(async {})).collect();
                for task in tasks {
                    task.await.unwrap();
                }
                target.notifies.iter().for_each(Notify::notify_one);
                for task in waiting {
                    task.await.unwrap();
                }
            });
        });
    });
}
