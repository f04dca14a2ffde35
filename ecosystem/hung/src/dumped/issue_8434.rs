//! An actor waits for its children in a `FuturesUnordered`, which is polled by a dump.
//!
//! Tokio issue 8434: in the dump's mode, leaves returned `Pending` before they had registered a
//! waker. A `FuturesUnordered` polls a child again only after a wake-up, so the child was stranded,
//! and with it whoever waited for its lock.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Rounds;

const CHILDREN: u64 = 8;

struct Shared {
    sum: Mutex<u64>,
    slots: Semaphore,
}

/// The first child holds the lock until it is told to go on, the others queue for it.
async fn child(shared: &Shared, go_on: Option<oneshot::Receiver<()>>) {
    let _slot = shared.slots.acquire().await.unwrap();
    let mut sum = shared.sum.lock().await;
    if let Some(go_on) = go_on {
        go_on.await.unwrap();
    }
    sleep(Duration::from_millis(1)).await;
    *sum += 1;
}

async fn actor(go_on: oneshot::Receiver<()>) -> u64 {
    let shared = Shared { sum: Mutex::new(0), slots: Semaphore::new(4) };
    let mut children = FuturesUnordered::new();
    children.push(child(&shared, Some(go_on)));
    for _ in 1..CHILDREN {
        children.push(child(&shared, None));
    }
    while let Some(()) = children.next().await {}
    drop(children);
    shared.sum.into_inner()
}

pub fn run(runtime: Runtime) {
    let rounds = Rounds::start();
    runtime.block_on(async {
        while rounds.go_on() {
            let mut actors = JoinSet::new();
            // Some actors wait so long that they count as idle.
            for delay_ms in [5, 50, 1_300, 1_300] {
                let (tell, told) = oneshot::channel();
                actors.spawn(actor(told));
                actors.spawn(async move {
                    sleep(Duration::from_millis(delay_ms)).await;
                    tell.send(()).unwrap();
                    0
                });
            }
            let sum: u64 = actors.join_all().await.into_iter().sum();
            assert_eq!(sum, 4 * CHILDREN);
        }
    });
    println!("done");
}
