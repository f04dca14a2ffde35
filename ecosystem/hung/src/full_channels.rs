//! Two actors send to each other, and both mailboxes are full.
//!
//! ockam issue 1947, and many actor systems with bounded mailboxes.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Barrier, mpsc};
use tokio::time::sleep;

type Mailbox = mpsc::Receiver<u64>;
type Peer = mpsc::Sender<u64>;

/// Answers each message with two. It reads no further message before both are sent.
async fn actor(mut mailbox: Mailbox, peer: Peer, both_started: Arc<Barrier>) {
    peer.send(0).await.unwrap();
    if both_started.wait().await.is_leader() {
        println!("ready");
    }
    while let Some(message) = mailbox.recv().await {
        for answer in [message + 1, message + 2] {
            peer.send(answer).await.unwrap();
        }
    }
}

/// Answers each message with one, so that there are never more messages than places.
async fn modest_actor(mut mailbox: Mailbox, peer: Peer) {
    peer.send(0).await.unwrap();
    while let Some(message) = mailbox.recv().await {
        sleep(Duration::from_millis(10)).await;
        peer.send(message + 1).await.unwrap();
        println!("tick");
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let both_started = Arc::new(Barrier::new(2));
        let (to_first, first_mailbox) = mpsc::channel(2);
        let (to_second, second_mailbox) = mpsc::channel(2);
        let first = tokio::spawn(actor(first_mailbox, to_second, both_started.clone()));
        let second = tokio::spawn(actor(second_mailbox, to_first, both_started));
        first.await.unwrap();
        second.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let (to_first, first_mailbox) = mpsc::channel(2);
        let (to_second, second_mailbox) = mpsc::channel(2);
        let first = tokio::spawn(modest_actor(first_mailbox, to_second));
        let second = tokio::spawn(modest_actor(second_mailbox, to_first));
        println!("ready");
        first.await.unwrap();
        second.await.unwrap();
    });
}
