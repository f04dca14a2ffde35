//! Dropped sleeps free their memory, wherever they are dropped.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicIsize, Ordering::*};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;
use support::{each_flavor, eventually, multi_thread};
use wakeful::runtime::Runtime;
use wakeful::task;
use wakeful::time::{self, Sleep};

struct Counting;

static ALLOCATED: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call is forwarded to the system allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as isize, Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size() as isize, Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const HOUR: Duration = Duration::from_secs(3600);

async fn armed() -> std::pin::Pin<Box<Sleep>> {
    let mut sleep = Box::pin(time::sleep(HOUR));
    let polled = poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await;
    assert!(polled.is_pending());
    sleep
}

/// Runs `round` a few times, then many times, after which memory use must not have grown.
#[track_caller]
fn assert_no_growth(what: &str, runtime: &Runtime, mut round: impl FnMut(&Runtime)) {
    for _ in 0..20 {
        round(runtime);
    }
    let before = ALLOCATED.load(SeqCst);
    for _ in 0..100 {
        round(runtime);
    }
    // A parked worker is unparked to free the timers that other threads dropped, but may not get a
    // CPU at once. It keeps a few hundred entries for reuse; all sleeps together would take
    // megabytes.
    eventually(what, || ALLOCATED.load(SeqCst) - before < 150_000);
}

// A single test: concurrent tests would count each other's memory.
#[test]
fn dropped_sleeps_free_their_memory() {
    for runtime in each_flavor() {
        assert_no_growth("dropped where they were armed", &runtime, |runtime| {
            runtime.block_on(async {
                task::spawn(async {
                    for _ in 0..1000 {
                        drop(armed().await);
                    }
                })
                .await
                .unwrap();
                for _ in 0..1000 {
                    drop(armed().await);
                }
            });
        });

        assert_no_growth("reset", &runtime, |runtime| {
            runtime.block_on(async {
                let mut sleep = armed().await;
                for n in 0..1000 {
                    sleep.as_mut().reset(time::Instant::now() + HOUR + Duration::from_micros(n));
                }
            });
        });
    }

    // Sleeps that are armed on a worker and dropped on another thread, while the worker mostly
    // sleeps.
    let runtime = multi_thread(2);
    let (sender, receiver) = mpsc::channel();
    assert_no_growth("dropped elsewhere", &runtime, |runtime| {
        let sender = sender.clone();
        let sent = runtime.spawn(async move {
            for _ in 0..1000 {
                sender.send(armed().await).unwrap();
            }
        });
        runtime.block_on(sent).unwrap();
        for _ in 0..1000 {
            drop(receiver.recv().unwrap());
        }
    });
}
