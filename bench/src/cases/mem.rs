//! The memory of an idle task or connection.

use crate::common::Latch;
use crate::measure::{Metric, Sample, Scale};
use crate::os;
use crate::primitives::Event;
use crate::runtime::{EchoServer, Runtime, Timers};
use crate::suite::Case;
use std::future::{Future, pending};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

pub fn cases<R: Runtime>() -> Vec<Case> {
    vec![
        Case::new(
            "mem/task_pending",
            "resident bytes per idle task, 1M tasks pending for ever",
            |scale| resident_per_task::<R, _>(scale, pending::<()>),
        )
        .rounds(1),
    ]
}

pub fn sleep_cases<R: Timers>() -> Vec<Case> {
    vec![
        Case::new(
            "mem/task_sleep",
            "resident bytes per idle task, 1M tasks that sleep for an hour",
            |scale| resident_per_task::<R, _>(scale, || R::sleep(Duration::from_secs(3600))),
        )
        .rounds(1),
    ]
}

pub fn event_cases<R: Runtime, E: Event>() -> Vec<Case> {
    vec![
        Case::new(
            "mem/task_notify",
            "resident bytes per idle task, 1M tasks that wait for one and the same event",
            |scale| {
                let event = Arc::new(E::new());
                resident_per_task::<R, _>(scale, move || {
                    let event = event.clone();
                    async move { event.wait().await }
                })
            },
        )
        .rounds(1),
    ]
}

pub fn connection_cases<R: EchoServer>() -> Vec<Case> {
    vec![
        Case::new(
            "mem/tcp_connection",
            "resident bytes of user space per idle echo connection with a buffer of 1 KiB, 5k of them",
            resident_per_connection::<R>,
        )
        .rounds(1),
    ]
}

fn resident_per_connection<R: EchoServer>(scale: Scale) -> Sample {
    let count = scale.pick(5_000, 1_000);
    os::raise_descriptor_limit().expect("cannot raise the limit of descriptors");
    let listener = os::listen().expect("loopback can be listened on");
    let server = listener.local_addr().expect("a listener has an address");
    thread::spawn(move || R::run(async move { R::serve_echo(listener, 1024).await }));
    // Reserves space for the clients first: from then on, a client is only a descriptor to this
    // process.
    let mut clients = Vec::with_capacity(1 + count);
    clients.push(connect_and_exchange(server));
    let before = os::resident_bytes();
    clients.extend((0..count).map(|_| connect_and_exchange(server)));
    thread::sleep(Duration::from_millis(50));
    let grown = os::resident_bytes().saturating_sub(before);
    vec![Metric::lower_is_better("resident", "B/connection", grown as f64 / count as f64)]
}

/// Connects and exchanges one message, after which the server has accepted the connection.
fn connect_and_exchange(server: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(server).expect("the server listens");
    os::reset_on_close(&stream).expect("a connection can be told how to end");
    stream.write_all(b"there").expect("the server reads");
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).expect("the server answers");
    stream
}

fn resident_per_task<R, Fut>(scale: Scale, idle: impl Fn() -> Fut + Send + 'static) -> Sample
where
    R: Runtime,
    Fut: Future<Output = ()> + Send + 'static,
{
    let tasks = scale.pick(1_000_000, 200_000);
    let (went_idle, all_idle) = mpsc::channel();
    // A thread of its own that is never joined: the process exits with its tasks alive, because the
    // case does not measure freeing them.
    thread::spawn(move || {
        R::run(async move {
            let before = os::resident_bytes();
            spawn_idle::<R, _>(tasks, idle).await;
            went_idle.send(before).unwrap();
            pending::<()>().await
        })
    });
    let before = all_idle.recv().expect("the runtime's thread lives until its tasks are idle");
    // The last task to count down may still be returning from its poll.
    thread::sleep(Duration::from_millis(50));
    let grown = os::resident_bytes().saturating_sub(before);
    vec![Metric::lower_is_better("resident", "B/task", grown as f64 / tasks as f64)]
}

/// Returns when each task has been polled once.
async fn spawn_idle<R, Fut>(tasks: usize, idle: impl Fn() -> Fut)
where
    R: Runtime,
    Fut: Future<Output = ()> + Send + 'static,
{
    let all_polled = Latch::new(tasks);
    for i in 1..=tasks {
        let (polled, idle) = (all_polled.clone(), idle());
        R::detach(async move {
            polled.count_down();
            drop(polled);
            idle.await
        });
        // Lets the spawned tasks run now and then; otherwise the memory of the run queue would be
        // measured too.
        if i % 1024 == 0 {
            R::yield_now().await;
        }
    }
    all_polled.wait().await;
}
