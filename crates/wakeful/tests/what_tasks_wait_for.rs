//! What each kind of future notes when it waits, as a task that is asked reports it.
//!
//! Locks and channels have such tests in `wakeful-sync`.

mod support;

use std::future::{Future, pending, poll_fn};
use std::os::fd::AsRawFd;
use std::pin::pin;
use std::process::Stdio;
use std::task::Poll;
use support::{current_thread, each_flavor};
use wakeful::io::{AsyncReadExt, AsyncWriteExt, duplex, simplex};
use wakeful::net::{TcpListener, TcpStream, UdpSocket};
use wakeful::process::Command;
use wakeful::signal::unix::{SignalKind, signal};
use wakeful::task::{self, JoinSet, LocalSet, consume_budget, yield_now};
use wakeful::time::{self, Duration, Instant};
use wakeful_base::waiting::{self, Asking, Leaf, WaitKind, WaitSlot};

/// Polls `future` once, asks it what it waits for, and drops it.
async fn leaves(future: impl Future) -> Vec<Leaf> {
    let mut future = pin!(future);
    let _asking = Asking::begin();
    poll_fn(|cx| {
        let slot = WaitSlot::new(3);
        // SAFETY: the slot outlives the guard and is in no queue.
        let _current = unsafe { waiting::enter(&raw const slot) };
        let waker = cx.waker().clone();
        let (polled, collected) = waiting::collect(&slot, &waker, || future.as_mut().poll(cx));
        assert!(polled.is_pending(), "the future should wait");
        let (noted, last) = (slot.waits().unwrap(), collected.leaves.last().unwrap());
        assert_eq!((noted.kind, noted.detail), (last.kind, last.detail));
        assert!(collected.leaves.iter().all(|leaf| leaf.has_own_waker));
        Poll::Ready(collected.leaves)
    })
    .await
}

/// Polls `future` once and returns the only thing that it waits for.
async fn leaf(future: impl Future) -> Leaf {
    let leaves = leaves(future).await;
    assert_eq!(leaves.len(), 1, "{leaves:?}");
    leaves.into_iter().next().unwrap()
}

/// Polls `future` once and returns the kind and detail of the only thing that it waits for.
async fn wait(future: impl Future) -> (WaitKind, u64) {
    let leaf = leaf(future).await;
    (leaf.kind, leaf.detail)
}

#[test]
fn turns() {
    for runtime in each_flavor() {
        let waits = runtime.block_on(runtime.spawn(async {
            let yields = wait(yield_now()).await;
            while task::coop::has_budget_remaining() {
                consume_budget().await;
            }
            (yields, wait(consume_budget()).await, wait(time::sleep(Duration::MAX)).await)
        }));
        let turn = (WaitKind::Turn, 0);
        assert_eq!(waits.unwrap(), (turn, turn, turn));
    }
}

#[test]
fn ends_of_tasks() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut task = wakeful::spawn(pending::<()>());
            let id = task.id().to_string().parse::<u64>().unwrap();
            assert_eq!(wait(&mut task).await, (WaitKind::Task, id));
            task.abort();
            let (release, released) = std::sync::mpsc::channel();
            let mut job = task::spawn_blocking(move || released.recv().unwrap());
            let id = job.id().to_string().parse::<u64>().unwrap();
            assert_eq!(wait(&mut job).await, (WaitKind::Task, id));
            release.send(()).unwrap();
            job.await.unwrap();
            let mut set = JoinSet::new();
            set.spawn(pending::<()>());
            assert_eq!(wait(set.join_next()).await, (WaitKind::AnyTask, 0));
        });
    }
}

#[test]
fn local_sets() {
    current_thread().block_on(async {
        let mut set = LocalSet::new();
        set.spawn_local(pending::<()>());
        // Its tasks have slots of their own.
        assert_eq!(wait(&mut set).await, (WaitKind::AnyTask, 0));
        let inner = set.run_until(time::sleep(Duration::from_secs(60)));
        assert_eq!(wait(inner).await.0, WaitKind::Time);
    });
}

#[test]
fn points_in_time() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let minute = Duration::from_secs(60);
            let mut sleep = pin!(time::sleep(minute));
            let (kind, deadline_us) = wait(sleep.as_mut()).await;
            assert_eq!(kind, WaitKind::Time);
            assert_eq!(wait(sleep.as_mut()).await, (kind, deadline_us), "once it is armed");
            let later = wait(time::sleep_until(sleep.deadline() + minute)).await;
            assert!(later.1.abs_diff(deadline_us + 60_000_000) <= 1, "{later:?} {deadline_us}");
            let mut ticks = time::interval_at(Instant::now() + minute, minute);
            assert_eq!(wait(ticks.tick()).await.0, WaitKind::Time);
            let both = leaves(time::timeout(minute, yield_now())).await;
            let kinds: Vec<_> = both.iter().map(|leaf| leaf.kind).collect();
            assert_eq!(kinds, [WaitKind::Turn, WaitKind::Time]);
        });
    }
}

#[test]
fn descriptors() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let accepts = (WaitKind::IoRead, listener.as_raw_fd() as u64);
            assert_eq!(wait(listener.accept()).await, accepts);
            let address = listener.local_addr().unwrap();
            let (connected, accepted) =
                wakeful::join!(TcpStream::connect(address), listener.accept());
            let (mut near, _far) = (connected.unwrap(), accepted.unwrap());
            let number = near.as_raw_fd() as u64;
            assert_eq!(wait(near.read(&mut [0; 8])).await, (WaitKind::IoRead, number));
            assert_eq!(wait(near.readable()).await, (WaitKind::IoRead, number));
            let written = time::timeout(Duration::from_millis(200), async {
                loop {
                    near.write_all(&[0; 1 << 16]).await.unwrap();
                }
            });
            assert!(written.await.is_err(), "the socket is full");
            assert_eq!(wait(near.write(&[0; 8])).await, (WaitKind::IoWrite, number));
            assert_eq!(wait(near.writable()).await, (WaitKind::IoWrite, number));
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let receives = (WaitKind::IoRead, socket.as_raw_fd() as u64);
            assert_eq!(wait(socket.recv_from(&mut [0; 8])).await, receives);
        });
    }
}

#[test]
fn signals_and_processes() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut hangups = signal(SignalKind::hangup()).unwrap();
            let number = SignalKind::hangup().as_raw_value() as u64;
            assert_eq!(wait(hangups.recv()).await, (WaitKind::Signal, number));
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let input = child.stdin.take();
            let id = u64::from(child.id().unwrap());
            let leaves = leaves(child.wait()).await;
            // Without pidfds, the signal of all children is waited for as well.
            let last = leaves.last().unwrap();
            assert_eq!((last.kind, last.detail), (WaitKind::Process, id), "{leaves:?}");
            drop(input);
            assert!(child.wait().await.unwrap().success());
        });
    }
}

#[test]
fn pipes() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut near, mut far) = duplex(4);
            let reads = leaf(near.read(&mut [0; 8])).await;
            assert_eq!(reads.kind, WaitKind::Pipe);
            assert_eq!((reads.details.available, reads.details.limit), (Some(0), Some(4)));
            far.write_all(b"full").await.unwrap();
            let writes = leaf(far.write(b"more")).await;
            assert_eq!((writes.kind, writes.detail), (WaitKind::Pipe, reads.detail));
            assert_eq!((writes.details.available, writes.details.limit), (Some(4), Some(4)));
            let other_way = leaf(far.read(&mut [0; 8])).await;
            assert_ne!(other_way.detail, reads.detail);
            let (mut receiver, mut sender) = simplex(2);
            let reads = leaf(receiver.read(&mut [0; 8])).await;
            sender.write_all(b"12").await.unwrap();
            let writes = leaf(sender.write(b"3")).await;
            assert_eq!((writes.kind, writes.detail), (WaitKind::Pipe, reads.detail));
        });
    }
}
