//! Tasks on several workers that exchange hostile values and wait with hostile wakers.
//!
//! Hostile wakers wake the task before they panic, and all waits have a time limit, so all tasks
//! end.

use std::sync::Arc;
use std::time::Duration;
use wakeful::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use wakeful::task;
use wakeful::time::timeout;
use wakeful_torture::rng::Rng;

use crate::runtimes;
use crate::values::{Value, call_hostile};
use crate::wakers::Masked;
use crate::world::{self, attempt, discard};

const TASKS: usize = 40;
const ROUNDS: usize = 12;

/// The time limit of a wait.
const LIMIT: Duration = Duration::from_millis(2);

struct Crowd {
    bounded: mpsc::Sender<Value>,
    unbounded: mpsc::UnboundedSender<Value>,
    broadcast: broadcast::Sender<Value>,
    watch: watch::Sender<Value>,
    notify: Notify,
    semaphore: Semaphore,
    mutex: Mutex<Value>,
    rwlock: RwLock<Value>,
    barrier: Barrier,
}

pub fn run(rng: &mut Rng) {
    world::begin(rng);
    let runtime = runtimes::multi_thread(rng, 4);
    attempt(|| runtime.block_on(crowd(rng)));
    world::arm(false);
    runtimes::check(&runtime);
    world::arm(true);
    discard(runtime);
    world::arm(false);
}

async fn crowd(rng: &mut Rng) {
    let (bounded, bounded_receiver) = mpsc::channel(3);
    let (unbounded, unbounded_receiver) = mpsc::unbounded_channel();
    let crowd = Arc::new(Crowd {
        bounded,
        unbounded,
        broadcast: broadcast::Sender::new(4),
        watch: watch::Sender::new(Value::new()),
        notify: Notify::new(),
        semaphore: Semaphore::new(3),
        mutex: Mutex::new(Value::new()),
        rwlock: RwLock::new(Value::new()),
        barrier: Barrier::new(3),
    });
    let mut tasks = vec![
        spawn(receive_bounded(bounded_receiver)),
        spawn(receive_unbounded(unbounded_receiver)),
    ];
    for _ in 0..TASKS {
        tasks.push(spawn(member(crowd.clone(), rng.fork())));
    }
    // The receivers end when the last member has ended.
    drop(crowd);
    for task in tasks.into_iter().flatten() {
        if rng.chance(50) {
            task.abort();
        }
        discard(Masked::new(task).await);
    }
}

fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Option<task::JoinHandle<()>> {
    // A hook may panic.
    attempt(|| task::spawn(future))
}

async fn receive_bounded(mut receiver: mpsc::Receiver<Value>) {
    while let Some(value) = Masked::new(receiver.recv()).await {
        discard(value);
    }
}

async fn receive_unbounded(mut receiver: mpsc::UnboundedReceiver<Value>) {
    while let Some(value) = Masked::new(receiver.recv()).await {
        discard(value);
    }
}

async fn member(crowd: Arc<Crowd>, mut rng: Rng) {
    let mut watcher = crowd.watch.subscribe();
    let mut listener = crowd.broadcast.subscribe();
    for _ in 0..ROUNDS {
        match rng.below(13) {
            0 => discard(limited(crowd.bounded.send(Value::new())).await),
            1 => discard(crowd.unbounded.send(Value::new())),
            2 => discard(attempt(|| crowd.broadcast.send(Value::new()))),
            3 => discard(limited(listener.recv()).await),
            4 => discard(attempt(|| crowd.watch.send(Value::new()))),
            5 => discard(limited(watcher.changed()).await),
            6 => discard(limited(crowd.notify.notified()).await),
            7 => _ = attempt(|| crowd.notify.notify_waiters()),
            8 => discard(limited(crowd.semaphore.acquire_many(2)).await),
            9 => {
                if let Some(mut value) = limited(crowd.mutex.lock()).await {
                    call_hostile(&value);
                    *value = Value::new();
                }
            }
            10 => {
                if let Some(value) = limited(crowd.rwlock.read()).await {
                    call_hostile(&value);
                    task::yield_now().await;
                }
            }
            11 => discard(limited(crowd.barrier.wait()).await),
            _ => ask_a_child(&mut rng).await,
        }
    }
}

/// Waits for the answer of a child task or of a blocking call.
async fn ask_a_child(rng: &mut Rng) {
    let (tx, rx) = oneshot::channel();
    let value = Value::new();
    let child = if rng.chance(300) {
        attempt(|| {
            task::spawn_blocking(move || {
                call_hostile(&value);
                discard(tx.send(value));
            })
        })
    } else {
        spawn(async move {
            task::yield_now().await;
            discard(tx.send(value));
        })
    };
    discard(Masked::new(rx).await);
    discard(child);
}

async fn limited<F: Future>(future: F) -> Option<F::Output> {
    Masked::new(timeout(LIMIT, Masked::new(future))).await.ok()
}
