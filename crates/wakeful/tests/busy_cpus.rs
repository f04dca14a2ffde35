//! Other threads keep all CPUs busy. Workers with little work then leave the CPUs to those threads,
//! and all tasks still complete.

mod support;

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;
use std::time::Duration;
use support::{Flag, multi_thread};
use wakeful::net::UdpSocket;
use wakeful::runtime::{Builder, Runtime};
use wakeful::task::{block_in_place, yield_now};
use wakeful::time::sleep;

/// Calls `f` while other threads keep every CPU busy.
fn with_busy_cpus(f: impl FnOnce()) {
    struct SetOnDrop<'a>(&'a AtomicBool);
    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let done = &AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _done = SetOnDrop(done);
        f();
    });
}

/// Runs two tasks. One blocks its worker in `block`, after many short polls. The other, which has
/// to run on another thread meanwhile, awaits `event` and then sets the flag that `block` waits
/// for.
fn block_until<F>(runtime: &Runtime, block: fn(Flag), event: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let happened = Flag::default();
    let happens = happened.clone();
    let waits = runtime.spawn(async move {
        event.await;
        happens.set();
    });
    let blocks = runtime.spawn(async move {
        for _ in 0..2_000 {
            yield_now().await;
        }
        block(happened);
    });
    runtime.block_on(async {
        waits.await.unwrap();
        blocks.await.unwrap();
    });
}

/// Receives messages, each while a task blocks its worker in `block` until the message has arrived.
fn receive_while(runtime: &Runtime, block: fn(Flag)) {
    for _ in 0..10 {
        let from = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
        let address = to.local_addr().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                from.send_to(b"here", address).unwrap();
            });
            block_until(runtime, block, async move {
                to.recv_from(&mut [0; 8]).await.unwrap();
            });
        });
    }
}

#[test]
fn a_message_is_received_while_a_worker_blocks() {
    let runtime = multi_thread(2);
    with_busy_cpus(|| receive_while(&runtime, |happened| happened.block()));
}

#[test]
fn a_message_is_received_while_no_thread_can_take_over_a_worker() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).max_blocking_threads(1).enable_all().build().unwrap();
    let done = Flag::default();
    let waits = done.clone();
    let has_only_thread = runtime.spawn_blocking(move || waits.block());
    with_busy_cpus(|| receive_while(&runtime, |happened| block_in_place(|| happened.block())));
    done.set();
    runtime.block_on(has_only_thread).unwrap();
}

#[test]
fn a_timer_fires_while_a_worker_blocks() {
    let runtime = multi_thread(2);
    with_busy_cpus(|| {
        for _ in 0..10 {
            block_until(&runtime, |happened| happened.block(), async {
                sleep(Duration::from_millis(20)).await
            });
        }
    });
}

#[test]
fn all_computing_tasks_complete() {
    let runtime = multi_thread(4);
    with_busy_cpus(|| {
        let tasks = (0..100).map(|n| {
            runtime.spawn(async move {
                for _ in 0..n {
                    yield_now().await;
                }
                (0..10_000_u64).fold(n, |sum, next| std::hint::black_box(sum ^ next))
            })
        });
        let tasks: Vec<_> = tasks.collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
    });
}
