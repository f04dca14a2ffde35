//! Programs to look at: for the guide's chapter about `cargo wakeful ps` and `console`, and for the
//! test of the console's page. A part of each hangs, the rest works on.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Barrier, Mutex, Notify, Semaphore, mpsc, oneshot, watch};
use tokio::time::{interval, sleep};

/// How many tasks of each kind a program has.
struct Size {
    sessions: usize,
    subscribers: usize,
    timeouts: usize,
    queries: usize,
    workers: usize,
}

pub mod service {
    use super::*;

    pub fn run(runtime: Runtime) {
        let size = Size { sessions: 600, subscribers: 120, timeouts: 40, queries: 24, workers: 8 };
        runtime.block_on(size.run());
    }
}

pub mod crowd {
    use super::*;

    pub fn run(runtime: Runtime) {
        let size = Size {
            sessions: 60_000,
            subscribers: 25_000,
            timeouts: 14_000,
            queries: 1_000,
            workers: 8,
        };
        runtime.block_on(size.run());
    }
}

impl Size {
    async fn run(self) {
        let shutdown = Arc::new(Notify::new());
        for _ in 0..self.sessions {
            tokio::spawn(session(shutdown.clone()));
        }
        let (settings, _) = watch::channel(0);
        for _ in 0..self.subscribers {
            tokio::spawn(subscribe(settings.subscribe()));
        }
        for second in 0..self.timeouts {
            tokio::spawn(expire(Duration::from_secs(600 + second as u64)));
        }
        let connections = Arc::new(Semaphore::new(4));
        for number in 0..self.queries {
            tokio::spawn(query(connections.clone(), Duration::from_millis(20 + number as u64 % 7)));
        }
        for _ in 0..self.workers {
            let (requests, received) = mpsc::channel(16);
            tokio::spawn(produce(requests));
            tokio::spawn(handle(received));
        }
        tokio::spawn(compress());
        let accounts = [Account::default(), Account::default()];
        let both_started = Arc::new(Barrier::new(2));
        for (from, to) in [(0, 1), (1, 0)] {
            let (from, to) = (accounts[from].clone(), accounts[to].clone());
            tokio::spawn(transfer(from, to, both_started.clone()));
        }
        for _ in 0..3 {
            tokio::spawn(audit(accounts[0].clone()));
        }
        println!("ready");
        sleep(Duration::from_secs(3_600)).await;
        drop(settings);
    }
}

async fn session(shutdown: Arc<Notify>) {
    shutdown.notified().await;
}

async fn subscribe(mut settings: watch::Receiver<u32>) {
    while settings.changed().await.is_ok() {}
}

async fn expire(after: Duration) {
    sleep(after).await;
}

/// Uses one of a few connections again and again.
async fn query(connections: Arc<Semaphore>, takes: Duration) {
    loop {
        let _connection = connections.acquire().await.unwrap();
        sleep(takes).await;
    }
}

async fn produce(requests: mpsc::Sender<oneshot::Sender<u64>>) {
    let mut due = interval(Duration::from_millis(4));
    loop {
        due.tick().await;
        let (reply, answer) = oneshot::channel();
        requests.send(reply).await.unwrap();
        answer.await.unwrap();
    }
}

async fn handle(mut requests: mpsc::Receiver<oneshot::Sender<u64>>) {
    while let Some(reply) = requests.recv().await {
        let sum = (0..2_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number));
        reply.send(sum).unwrap();
    }
}

/// Blocks its worker now and then, as it should not, and the blocking pool, as it should.
async fn compress() {
    loop {
        sleep(Duration::from_secs(4)).await;
        std::thread::sleep(Duration::from_millis(60));
        tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_secs(3))).await.unwrap();
    }
}

type Account = Arc<Mutex<i64>>;

/// Two of these lock the same two accounts, each the other one first.
async fn transfer(from: Account, to: Account, both_started: Arc<Barrier>) {
    let mut source = from.lock().await;
    both_started.wait().await;
    let mut target = to.lock().await;
    *source -= 1;
    *target += 1;
}

async fn audit(account: Account) {
    assert_eq!(*account.lock().await, 0);
}
