//! A cycle through three kinds of waiting: the writer holds the log's lock and waits for room in a
//! channel, whose receiver waits for the end of the flusher, which waits for the lock.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

type Log = Arc<Mutex<Vec<u64>>>;

async fn writer(log: Log, lines: mpsc::Sender<u64>, is_locked: oneshot::Sender<()>) {
    let mut log = log.lock().await;
    is_locked.send(()).unwrap();
    for line in 0.. {
        log.push(line);
        if line == 1 {
            println!("ready");
        }
        lines.send(line).await.unwrap();
    }
}

async fn flusher(log: Log, locked: oneshot::Receiver<()>) {
    locked.await.unwrap();
    log.lock().await.clear();
}

/// Reads the lines once everything is flushed.
async fn reader(mut lines: mpsc::Receiver<u64>, flushed: JoinHandle<()>) {
    flushed.await.unwrap();
    while lines.recv().await.is_some() {}
}

/// Reads the lines, and only then waits for the flusher.
async fn eager_reader(mut lines: mpsc::Receiver<u64>, flushed: JoinHandle<()>) {
    while lines.recv().await.is_some() {
        sleep(Duration::from_millis(10)).await;
        println!("tick");
    }
    flushed.await.unwrap();
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let log = Log::default();
        let (lines, received) = mpsc::channel(1);
        let (is_locked, locked) = oneshot::channel();
        let flushed = tokio::spawn(flusher(log.clone(), locked));
        let read = tokio::spawn(reader(received, flushed));
        tokio::spawn(writer(log, lines, is_locked));
        read.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let log = Log::default();
        let (lines, received) = mpsc::channel(1);
        let (is_locked, locked) = oneshot::channel();
        let flushed = tokio::spawn(flusher(log.clone(), locked));
        let read = tokio::spawn(eager_reader(received, flushed));
        tokio::spawn(writer(log, lines, is_locked));
        read.await.unwrap();
    });
}
