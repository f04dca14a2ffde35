//! A program for the test of the bridge: it prints what it knows of its tasks.
//!
//! Each line of its standard input is a command. It ends with its standard input.

use std::future::pending;
use std::io::stdin;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::yield_now;
use tokio::time::sleep;

/// How long each poll of the busy task takes.
const POLL_TIME: Duration = Duration::from_millis(5);

/// How long a worker without tasks may take to park.
const PARK_TIME: Duration = Duration::from_millis(100);

/// What the busy task is to do.
#[derive(PartialEq)]
enum Stage {
    Wait,
    Work,
    Rest,
}

/// Counts the polls of a future, and how long they take.
struct Counted {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    polls: AtomicU64,
    busy_us: AtomicU64,
}

impl Counts {
    fn read(&self) -> [u64; 2] {
        [self.polls.load(Relaxed), self.busy_us.load(Relaxed)]
    }
}

impl Future for Counted {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let begun = Instant::now();
        let polled = self.future.as_mut().poll(context);
        self.counts.polls.fetch_add(1, Relaxed);
        self.counts.busy_us.fetch_add(begun.elapsed().as_micros() as u64, Relaxed);
        polled
    }
}

fn main() {
    let (lines, commands) = mpsc::unbounded_channel();
    thread::spawn(move || {
        stdin().lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
    });
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run(commands));
    runtime.shutdown_background();
}

async fn run(mut commands: mpsc::UnboundedReceiver<String>) {
    let (stage, stages) = watch::channel(Stage::Wait);
    let counts = Arc::new(Counts::default());
    let (rested, mut rests) = mpsc::channel::<()>(1);
    let future = Box::pin(work(stages.clone(), rested));
    start("busy", Counted { future, counts: counts.clone() });
    start("yields", yield_often(stages));
    let lock = Arc::new(Mutex::new(()));
    let (locked, is_locked) = oneshot::channel();
    start("holder", hold(lock.clone(), locked));
    is_locked.await.unwrap();
    start("waiter", async move { drop(lock.lock().await) });
    let (end, ended) = oneshot::channel::<()>();
    start("short", async move { drop(ended.await) });
    let mut end = Some(end);
    // The thread is not waited for when the program ends.
    tokio::task::spawn_blocking(|| thread::sleep(Duration::from_secs(3_600)));
    println!("ready");
    let mut before = [0; 3];
    while let Some(command) = commands.recv().await {
        match command.as_str() {
            "start" => {
                before = figures(&counts);
                stage.send_replace(Stage::Work);
            }
            "stop" => {
                stage.send_replace(Stage::Rest);
                rests.recv().await;
                sleep(PARK_TIME).await;
                let now = figures(&counts);
                let [polls, busy_us, workers_us] = [0, 1, 2].map(|at| now[at] - before[at]);
                println!("figures {polls} {busy_us} {workers_us}");
            }
            "end" => drop(end.take()),
            other => panic!("there is no command `{other}`"),
        }
    }
}

/// Spawns a task, and prints its name, its id, and where the caller is.
#[track_caller]
fn start(name: &str, future: impl Future<Output = ()> + Send + 'static) {
    let task = tokio::task::Builder::new().name(name).spawn(future).unwrap();
    println!("task {name} {} {}", task.id(), Location::caller());
}

/// Returns the polls of the busy task, how long they took, and for how long the workers were busy.
fn figures(counts: &Counts) -> [u64; 3] {
    let metrics = Handle::current().metrics();
    let workers = 0..metrics.num_workers();
    let busy: Duration = workers.map(|worker| metrics.worker_total_busy_duration(worker)).sum();
    let [polls, busy_us] = counts.read();
    [polls, busy_us, busy.as_micros() as u64]
}

async fn work(mut stages: watch::Receiver<Stage>, rested: mpsc::Sender<()>) {
    if stages.wait_for(|stage| *stage != Stage::Wait).await.is_err() {
        return;
    }
    while *stages.borrow() == Stage::Work {
        let begun = Instant::now();
        while begun.elapsed() < POLL_TIME {
            std::hint::spin_loop();
        }
        sleep(POLL_TIME).await;
    }
    rested.send(()).await.unwrap();
    pending::<()>().await;
}

async fn hold(lock: Arc<Mutex<()>>, locked: oneshot::Sender<()>) {
    let _held = lock.lock().await;
    locked.send(()).unwrap();
    sleep(Duration::from_secs(3_600)).await;
}

/// Wakes itself some times.
async fn yield_often(mut stages: watch::Receiver<Stage>) {
    if stages.wait_for(|stage| *stage != Stage::Wait).await.is_err() {
        return;
    }
    for _ in 0..20 {
        yield_now().await;
    }
    pending::<()>().await;
}
