//! Sleeps that never end cost no memory once they are dropped, wherever that is.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicIsize, Ordering::*};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;
use support::{each_flavor, multi_thread};
use wakeful::runtime::Runtime;
use wakeful::task;
use wakeful::time::{self, Sleep};

struct Counting;

static ALLOCATED: AtomicIsize = AtomicIsize::new(0);

// SAFETY: what it does is the system allocator's doing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as isize, Relaxed);
        // SAFETY: by contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size() as isize, Relaxed);
        // SAFETY: by contract.
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

/// How much more is allocated after `round` was run many times than after a few.
fn growth(runtime: &Runtime, mut round: impl FnMut(&Runtime)) -> isize {
    for _ in 0..20 {
        round(runtime);
    }
    let before = ALLOCATED.load(SeqCst);
    for _ in 0..100 {
        round(runtime);
    }
    ALLOCATED.load(SeqCst) - before
}

// One test, since all of them would count each other's.
#[test]
fn a_hundred_thousand_dropped_sleeps_leave_nothing() {
    for runtime in each_flavor() {
        let here = growth(&runtime, |runtime| {
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
        assert!(here < 20_000, "{here} bytes more, dropped where they were armed");

        let reset = growth(&runtime, |runtime| {
            runtime.block_on(async {
                let mut sleep = armed().await;
                for n in 0..1000 {
                    sleep.as_mut().reset(time::Instant::now() + HOUR + Duration::from_micros(n));
                }
            });
        });
        assert!(reset < 20_000, "{reset} bytes more, reset");
    }

    // Armed on a worker and dropped on another thread, while the worker sleeps most of the time.
    let runtime = multi_thread(2);
    let (sender, receiver) = mpsc::channel();
    let elsewhere = growth(&runtime, |runtime| {
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
    // A sleeping worker is woken for each 64 only, and it may take a moment.
    assert!(elsewhere < 300_000, "{elsewhere} bytes more, dropped elsewhere");
    std::thread::sleep(Duration::from_millis(50));
}
