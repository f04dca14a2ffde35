//! External wakers that block when the driver or a timer calls them. Other events, timers and tasks
//! are still served, and the wakers behind them are called.

mod support;

use std::future::Future;
use std::io::Write;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use support::{Flag, eventually, multi_thread};
use wakeful::io::AsyncReadExt;
use wakeful::net::UnixStream;
use wakeful::runtime::{Builder, Runtime};
use wakeful::time::sleep;

/// A waker that does not return until others are done.
#[derive(Clone, Default)]
struct Stuck {
    is_called: Flag,
    others_done: Flag,
    has_returned: Flag,
}

impl Wake for Stuck {
    fn wake(self: Arc<Self>) {
        self.is_called.set();
        self.others_done.block();
        self.has_returned.set();
    }
}

impl Stuck {
    /// Lets the waker return, and waits until it has. Fails if the waker had timed out before.
    fn end(&self) {
        self.others_done.set();
        self.has_returned.block();
    }

    fn waker(&self) -> Waker {
        Arc::new(self.clone()).into()
    }
}

struct Sets(Flag);

impl Wake for Sets {
    fn wake(self: Arc<Self>) {
        self.0.set();
    }
}

fn poll_with<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

fn pair(runtime: &Runtime) -> (UnixStream, std::os::unix::net::UnixStream) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let _inside = runtime.enter();
    (UnixStream::from_std(ours).unwrap(), theirs)
}

/// Calls `f` while a worker of the runtime is stuck in a waker that the driver has called for an
/// event.
fn while_stuck<R>(runtime: &Runtime, f: impl FnOnce() -> R) -> R {
    let stuck = Stuck::default();
    let (ours, theirs) = pair(runtime);
    let mut readable = pin!(ours.readable());
    assert!(poll_with(readable.as_mut(), &stuck.waker()).is_pending());
    (&theirs).write_all(b"x").unwrap();
    stuck.is_called.block();
    let result = f();
    stuck.end();
    result
}

#[test]
fn events_are_delivered() {
    for workers in [1, 2] {
        let runtime = multi_thread(workers);
        let (mut ours, theirs) = pair(&runtime);
        let reader = runtime.spawn(async move { ours.read_u8().await.unwrap() });
        while_stuck(&runtime, || {
            (&theirs).write_all(&[7]).unwrap();
            assert_eq!(runtime.block_on(reader).unwrap(), 7);
        });
    }
}

#[test]
fn new_tasks_are_run() {
    let without_handoff = || {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().disable_stall_handoff().build().unwrap()
    };
    for round in 0..20 {
        let runtime = if round % 2 == 0 { multi_thread(2) } else { without_handoff() };
        // Lets both workers park once.
        runtime.block_on(runtime.spawn(async { sleep(Duration::from_millis(1)).await })).unwrap();
        while_stuck(&runtime, || {
            for _ in 0..3 {
                runtime.block_on(runtime.spawn(async {})).unwrap();
            }
        });
    }
}

#[test]
fn timers_of_all_workers_fire() {
    let runtime = multi_thread(2);
    // So many timers that the runtime coalesces them, and one worker fires those of both.
    let rounds = Arc::new(AtomicUsize::new(0));
    for task in 0..500 {
        let rounds = rounds.clone();
        drop(runtime.spawn(async move {
            loop {
                sleep(Duration::from_micros(1_000 + task * 7)).await;
                rounds.fetch_add(1, Relaxed);
            }
        }));
    }
    eventually("timers fire", || rounds.load(Relaxed) > 5_000);
    while_stuck(&runtime, || {
        let before = rounds.load(Relaxed);
        // All timers fire, also those of the stuck worker.
        eventually("timers fire next to it", || rounds.load(Relaxed) > before + 5_000);
        let sleep = async |task: u64| sleep(Duration::from_micros(500 + task * 11)).await;
        let sleepers: Vec<_> = (0..100).map(|task| runtime.spawn(sleep(task))).collect();
        for sleeper in sleepers {
            runtime.block_on(sleeper).unwrap();
        }
    });
}

#[test]
fn other_waiters_for_the_same_event_are_woken() {
    let runtime = multi_thread(1);
    let (stuck, (ours, theirs)) = (Stuck::default(), pair(&runtime));
    let (mut first, mut second) = (pin!(ours.readable()), pin!(ours.readable()));
    assert!(poll_with(first.as_mut(), &stuck.waker()).is_pending());
    // The second waker ends the wait of the first.
    let sets = Waker::from(Arc::new(Sets(stuck.others_done.clone())));
    assert!(poll_with(second.as_mut(), &sets).is_pending());
    (&theirs).write_all(b"x").unwrap();
    stuck.has_returned.block();
    assert!(poll_with(first, Waker::noop()).is_ready());
    assert!(poll_with(second, Waker::noop()).is_ready());
}

#[test]
fn other_timers_for_the_same_time_fire() {
    for is_on_worker in [true, false] {
        let runtime = multi_thread(1);
        let stuck = Stuck::default();
        let sets = Waker::from(Arc::new(Sets(stuck.others_done.clone())));
        let waker = stuck.waker();
        let arm = move || {
            let mut sleeps: Vec<_> =
                (0..2).map(|_| Box::pin(sleep(Duration::from_millis(1)))).collect();
            assert!(poll_with(sleeps[0].as_mut(), &waker).is_pending());
            assert!(poll_with(sleeps[1].as_mut(), &sets).is_pending());
            sleeps
        };
        let _sleeps = if is_on_worker {
            runtime.block_on(runtime.spawn(async move { arm() })).unwrap()
        } else {
            let _inside = runtime.enter();
            arm()
        };
        stuck.has_returned.block();
    }
}

#[test]
fn a_shutdown_calls_the_wakers_behind_it() {
    let runtime = multi_thread(1);
    let (stuck, others) = (Stuck::default(), Flag::default());
    let (ours, theirs) = pair(&runtime);
    let (mut first, mut second) = (pin!(ours.readable()), pin!(ours.readable()));
    assert!(poll_with(first.as_mut(), &stuck.waker()).is_pending());
    let sets = Waker::from(Arc::new(Sets(others.clone())));
    assert!(poll_with(second.as_mut(), &sets).is_pending());
    (&theirs).write_all(b"x").unwrap();
    stuck.is_called.block();
    runtime.shutdown_background();
    others.block();
    stuck.end();
}
