//! Tasks are woken, by timers and by other threads, while a dump is made.
//!
//! Tokio issues 6051 and 6185: a dump polled tasks that were in a queue already, and took back their
//! notification. The worker that found them there panicked: `assertion failed: next.is_notified()`.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

use super::Rounds;

const TURNS: u64 = 50;

async fn sleeps() -> u64 {
    for _ in 0..TURNS {
        sleep(Duration::from_millis(1)).await;
        yield_now().await;
    }
    TURNS
}

async fn is_notified(calls: Arc<Notify>, answers: Arc<Notify>) -> u64 {
    for _ in 0..TURNS {
        calls.notified().await;
        answers.notify_one();
    }
    TURNS
}

/// Notifies a task from outside of the runtime.
fn notify(runtime: &Runtime, calls: &Notify, answers: &Notify) {
    for _ in 0..TURNS {
        calls.notify_one();
        runtime.handle().block_on(answers.notified());
    }
}

pub fn run(runtime: Runtime) {
    let rounds = Rounds::start();
    while rounds.go_on() {
        let (calls, answers) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        thread::scope(|scope| {
            scope.spawn(|| notify(&runtime, &calls, &answers));
            let turns: u64 = runtime.block_on(async {
                let mut tasks = JoinSet::new();
                for _ in 0..40 {
                    tasks.spawn(sleeps());
                }
                tasks.spawn(is_notified(calls.clone(), answers.clone()));
                tasks.join_all().await.into_iter().sum()
            });
            assert_eq!(turns, 41 * TURNS);
        });
    }
    println!("done");
}
