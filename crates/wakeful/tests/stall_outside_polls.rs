//! Stalls outside polls are handed off too: in the drop of a task's output, in a hook, in a
//! deferred waker. Each test blocks until a task runs that needs another thread to take over the
//! worker.

mod support;

use std::future::poll_fn;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use support::{DropCount, Flag, eventually, multi_thread};
use wakeful::runtime::{Builder, Runtime, StallOutcome};
use wakeful::task::block_in_place;

/// Calls its closure when dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Spawns a task and drops its `JoinHandle` before the task starts. So the worker that runs the
/// task drops its output.
fn detach<F>(runtime: &Runtime, future: F)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let go = Flag::default();
    let goes = go.clone();
    drop(runtime.spawn(async move {
        goes.block();
        future.await
    }));
    go.set();
}

/// A flag that a task of the runtime sets. The task is spawned once some code waits for the flag.
struct SetByTask {
    begun: mpsc::Sender<()>,
    continued: mpsc::Sender<()>,
    flag: Flag,
}

impl SetByTask {
    /// Returns the flag, and a closure that spawns the task.
    fn new(runtime: &Runtime) -> (SetByTask, impl FnOnce() + '_) {
        let ((begun, has_begun), (continued, has_continued)) = (mpsc::channel(), mpsc::channel());
        let flag = Flag::default();
        let sets = flag.clone();
        let spawn = move || {
            has_begun.recv_timeout(Duration::from_secs(20)).unwrap();
            runtime.block_on(runtime.spawn(async move { sets.set() })).unwrap();
            // A panic of the waiting code does not reach the test by itself, so check here.
            has_continued
                .recv_timeout(Duration::from_secs(20))
                .expect("the stall was not handed off");
        };
        (SetByTask { begun, continued, flag }, spawn)
    }

    fn block(&self) {
        self.begun.send(()).unwrap();
        self.flag.block();
        self.continued.send(()).unwrap();
    }
}

#[test]
fn the_drop_of_an_output_is_handed_off() {
    let runtime = multi_thread(1);
    let (waits, spawn) = SetByTask::new(&runtime);
    let output = OnDrop(move || waits.block());
    detach(&runtime, async move { output });
    spawn();
}

#[test]
fn the_drop_of_an_output_after_a_wait_is_handed_off() {
    let runtime = multi_thread(1);
    let (waits, spawn) = SetByTask::new(&runtime);
    let output = OnDrop(move || waits.block());
    detach(&runtime, async move {
        wakeful::time::sleep(Duration::from_millis(1)).await;
        output
    });
    spawn();
}

/// A waker that blocks instead of waking a task.
struct BlockingWaker(Mutex<Option<SetByTask>>);

impl Wake for BlockingWaker {
    fn wake(self: Arc<Self>) {
        if let Some(waits) = self.0.lock().unwrap().take() {
            waits.block();
        }
    }
}

#[test]
fn the_waker_of_a_join_handle_is_handed_off() {
    let runtime = multi_thread(1);
    let (waits, spawn) = SetByTask::new(&runtime);
    let waker = Waker::from(Arc::new(BlockingWaker(Mutex::new(Some(waits)))));
    let go = Flag::default();
    let goes = go.clone();
    let mut join = Box::pin(runtime.spawn(async move { goes.block() }));
    let mut context = Context::from_waker(&waker);
    assert!(join.as_mut().poll(&mut context).is_pending());
    go.set();
    spawn();
}

#[test]
fn a_deferred_waker_is_handed_off() {
    let runtime = multi_thread(1);
    let (waits, spawn) = SetByTask::new(&runtime);
    let waker = Waker::from(Arc::new(BlockingWaker(Mutex::new(Some(waits)))));
    drop(runtime.spawn(async move {
        // `yield_now` defers the wake-up of its waker until the worker has polled the driver.
        let mut yields = Box::pin(wakeful::task::yield_now());
        assert!(yields.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }));
    spawn();
}

/// Creates a runtime with one worker and a hook, set by `with_hook`, that blocks when called next.
fn with_blocking_hook(
    with_hook: impl FnOnce(&mut Builder, Box<dyn Fn() + Send + Sync>),
) -> (Runtime, Arc<Mutex<Option<SetByTask>>>) {
    let waits = Arc::new(Mutex::new(None::<SetByTask>));
    let blocks = waits.clone();
    let mut builder = Builder::new_multi_thread();
    let hook = move || {
        let waits = blocks.lock().unwrap().take();
        if let Some(waits) = waits {
            waits.block();
        }
    };
    with_hook(builder.worker_threads(1).enable_all(), Box::new(hook));
    (builder.build().unwrap(), waits)
}

#[track_caller]
fn assert_hook_is_handed_off(with_hook: impl FnOnce(&mut Builder, Box<dyn Fn() + Send + Sync>)) {
    let (runtime, hook) = with_blocking_hook(with_hook);
    let (waits, spawn) = SetByTask::new(&runtime);
    *hook.lock().unwrap() = Some(waits);
    eventually("the hook is called", || {
        // The worker unparks, runs the task and parks again.
        drop(runtime.spawn(async {}));
        hook.lock().unwrap().is_none()
    });
    spawn();
}

#[test]
fn a_hook_before_a_worker_parks_is_handed_off() {
    assert_hook_is_handed_off(|builder, hook| {
        builder.on_thread_park(hook);
    });
}

#[test]
fn a_hook_after_a_worker_unparks_is_handed_off() {
    assert_hook_is_handed_off(|builder, hook| {
        builder.on_thread_unpark(hook);
    });
}

#[test]
fn a_hook_at_the_end_of_a_task_is_handed_off() {
    assert_hook_is_handed_off(|builder, hook| {
        builder.on_task_terminate(move |_| hook());
    });
}

#[test]
fn a_stall_at_the_end_of_a_task_is_reported_with_its_id() {
    let (reporter, reports) = mpsc::channel();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .on_stall(move |stall| reporter.send(stall.clone()).unwrap())
        .build()
        .unwrap();
    let flag = Flag::default();
    let waits = flag.clone();
    let output = OnDrop(move || waits.block());
    let (sends_id, task_id) = mpsc::channel();
    detach(&runtime, async move {
        sends_id.send(wakeful::task::id()).unwrap();
        output
    });
    let id = task_id.recv_timeout(Duration::from_secs(20)).unwrap();
    let stall = reports.recv_timeout(Duration::from_secs(20)).unwrap();
    flag.set();
    assert_eq!(stall.task_id(), Some(id));
    assert_eq!(stall.spawned_at().unwrap().file(), file!());
}

#[test]
fn a_stall_in_a_hook_is_reported_as_such() {
    let (reporter, reports) = mpsc::channel();
    let flag = Flag::default();
    let waits = flag.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_park(move || waits.block())
        .on_stall(move |stall| reporter.send(stall.clone()).unwrap())
        .build()
        .unwrap();
    let stall = reports.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!((stall.task_id(), stall.worker()), (None, Some(0)));
    assert!(stall.to_string().starts_with("a runtime callback or waker has blocked"), "{stall}");
    assert_eq!(
        stall.outcome(),
        StallOutcome::HandedOff,
        "a worker that blocks while it searches must be handed off"
    );
    flag.set();
    drop(runtime);
}

/// The outputs of detached tasks block while the runtime shuts down. The drop of the runtime waits
/// for them, and nothing is left.
#[test]
fn a_runtime_shuts_down_while_outputs_are_being_dropped() {
    for background in [false, true] {
        let (runtime, drops) = (multi_thread(2), DropCount::default());
        let (all_dropped, go) = (Flag::default(), Flag::default());
        let blocking = DropCount::default();
        for _ in 0..8 {
            let (waits, blocking) = (all_dropped.clone(), blocking.clone());
            let guard = drops.guard();
            let output = OnDrop(move || {
                let _guard = &guard;
                drop(blocking.guard());
                waits.block();
            });
            let go = go.clone();
            drop(runtime.spawn(async move {
                // The task keeps waking itself, so either worker may run it.
                poll_fn(move |cx| {
                    if go.is_set() {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
                output
            }));
        }
        let sets = OnDrop(move || all_dropped.set());
        drop(runtime.spawn(async move {
            let _sets = sets;
            std::future::pending::<()>().await;
        }));
        go.set();
        eventually("all outputs block", || blocking.get() == 8);
        if background {
            runtime.shutdown_background();
        } else {
            drop(runtime);
        }
        eventually("all outputs are dropped", || drops.get() == 8);
    }
}

/// The waker calls `block_in_place`, which gives its worker away.
#[test]
fn block_in_place_in_a_waker_that_a_timer_calls_works() {
    struct InPlace(mpsc::Sender<()>);

    impl Wake for InPlace {
        fn wake(self: Arc<Self>) {
            block_in_place(|| self.0.send(()).unwrap());
        }
    }

    let runtime = multi_thread(2);
    let (fires, fired) = mpsc::channel();
    for _ in 0..20 {
        let waker = Waker::from(Arc::new(InPlace(fires.clone())));
        runtime
            .block_on(runtime.spawn(async move {
                let mut sleep = Box::pin(wakeful::time::sleep(Duration::from_millis(1)));
                let polled = sleep.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                wakeful::time::sleep(Duration::from_millis(2)).await;
            }))
            .unwrap();
        fired.recv_timeout(Duration::from_secs(20)).unwrap();
    }
}
