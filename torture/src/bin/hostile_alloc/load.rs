//! A round: several hundred tasks wait in different ways while the allocator calls the runtime.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;
use wakeful::runtime::Runtime;
use wakeful::sync::{Notify, Semaphore, broadcast, mpsc, oneshot, watch};
use wakeful::task::{self, JoinHandle};
use wakeful::time::{sleep, timeout};
use wakeful_torture::rng::Rng;

use crate::allocator;
use crate::calls::{self, NOTIFIES, Shared};

const TASKS: usize = 500;

/// How many tasks one task spawns at once at most: enough to grow a run queue from 256 to 512.
const CHILDREN: usize = 300;

/// The time limit of a wait that possibly nothing ends.
const LIMIT: Duration = Duration::from_millis(3);

/// The periods of the allocator's calls, each with the size of an allocation from which it counts.
const PERIODS: &[(u64, usize)] =
    &[(1, 4096), (1, 1024), (2, 0), (3, 0), (7, 0), (10, 0), (50, 0), (200, 0)];

/// Counts the futures that are alive.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Alive {
        count.fetch_add(1, SeqCst);
        Alive(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Runs a round to its end. Returns the number of its tasks, without those that they spawned.
pub fn round(runtime: &Runtime, rng: &mut Rng) -> Result<usize, String> {
    let (shared, receivers) = begin(runtime, rng);
    let alive = Arc::new(AtomicUsize::new(0));
    runtime.block_on(async {
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| task::spawn(member(shared.clone(), rng.fork(), Alive::new(&alive))))
            .collect();
        for task in tasks {
            // `Err` if the allocator has aborted the task.
            _ = task.await;
        }
        end();
        // The tasks that are not joined hold senders as well. The receivers end when all of them
        // have ended.
        drop(shared);
        for receiver in receivers {
            receiver.await.map_err(|error| format!("a receiver task failed: {error}"))?;
        }
        while alive.load(SeqCst) > 0 {
            task::yield_now().await;
        }
        Ok(TASKS)
    })
}

/// Starts a round, and drops the runtime in the middle of it while the allocator makes calls.
pub fn abandoned_round(runtime: Runtime, rng: &mut Rng) -> Result<usize, String> {
    let (shared, receivers) = begin(&runtime, rng);
    let alive = Arc::new(AtomicUsize::new(0));
    for _ in 0..TASKS {
        runtime.spawn(member(shared.clone(), rng.fork(), Alive::new(&alive)));
    }
    drop(runtime);
    end();
    // Wakers keep the memory of their task alive, but its future must be dropped.
    drop((shared, receivers));
    match alive.load(SeqCst) {
        0 => Ok(TASKS),
        left => Err(format!("{left} futures were not dropped after the drop of their runtime")),
    }
}

fn begin(runtime: &Runtime, rng: &mut Rng) -> (Arc<Shared>, [JoinHandle<()>; 2]) {
    let (bounded, bounded_receiver) = mpsc::channel(16);
    let (unbounded, unbounded_receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        handle: runtime.handle().clone(),
        notifies: [const { Notify::const_new() }; NOTIFIES],
        bounded,
        unbounded,
        broadcast: broadcast::Sender::new(8),
        semaphore: Semaphore::new(1),
        watch: watch::Sender::new(0),
        oneshots: Default::default(),
        abort_handles: Default::default(),
        wakers: Default::default(),
        join_handles: Default::default(),
    });
    let receivers = [
        runtime.spawn(receive(bounded_receiver)),
        runtime.spawn(receive_unbounded(unbounded_receiver)),
    ];
    calls::set_current(Some(shared.clone()));
    let (period, size_min) = PERIODS[rng.below(PERIODS.len())];
    allocator::call_on_each(period, size_min);
    (shared, receivers)
}

fn end() {
    allocator::stop_calling();
    calls::set_current(None);
}

async fn receive(mut receiver: mpsc::Receiver<u64>) {
    while receiver.recv().await.is_some() {}
}

async fn receive_unbounded(mut receiver: mpsc::UnboundedReceiver<u64>) {
    while receiver.recv().await.is_some() {}
}

async fn member(shared: Arc<Shared>, mut rng: Rng, alive: Alive) {
    for _ in 0..rng.below(4) {
        let notify = &shared.notifies[rng.below(NOTIFIES)];
        match rng.below(12) {
            0 => sleep(Duration::from_micros(rng.below(1500) as u64)).await,
            1 => _ = timeout(LIMIT, notify.notified()).await,
            2 => _ = timeout(LIMIT, shared.semaphore.acquire()).await,
            3 => _ = shared.bounded.send(2).await,
            4 => _ = timeout(LIMIT, shared.watch.subscribe().changed()).await,
            5 => _ = timeout(LIMIT, shared.broadcast.subscribe().recv()).await,
            6 => {
                let (tx, rx) = oneshot::channel();
                shared.oneshots.lock().expect("no thread panics while it holds this lock").push(tx);
                _ = timeout(LIMIT, rx).await;
            }
            7 if rng.chance(100) => spawn_many(&shared, &alive, CHILDREN),
            7 => spawn_many(&shared, &alive, 3),
            8 => leave_waker(&shared).await,
            9 => {
                let child = task::spawn(pass(Alive::new(&alive.0)));
                let mut abort_handles = shared.abort_handles.lock().expect("as above");
                abort_handles.push(child.abort_handle());
            }
            _ => task::yield_now().await,
        }
        // Allocates, which may call the runtime.
        drop(Vec::<u8>::with_capacity(1 + rng.below(6000)));
    }
    drop(alive);
}

async fn pass(_alive: Alive) {
    task::yield_now().await;
}

fn spawn_many(shared: &Shared, alive: &Alive, count: usize) {
    let children: Vec<_> = (0..count).map(|_| task::spawn(pass(Alive::new(&alive.0)))).collect();
    shared.join_handles.lock().expect("as above").extend(children);
}

/// Is pending once, leaves its waker in the shared list, and wakes itself.
async fn leave_waker(shared: &Shared) {
    let mut polled = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        shared.wakers.lock().expect("as above").push(cx.waker().clone());
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
