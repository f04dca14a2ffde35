//! Tasks end in the poll that a dump makes.
//!
//! Tokio issue 6035: a dump locked the list of tasks and polled each of them. A leaf that is not
//! Tokio's own may complete then; its task is removed from the list, and waits for the lock for ever.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::Rounds;

/// How long after a poll the next one comes, if nothing but the thread below wakes the task. Some
/// are so long that the task counts as idle.
const DELAYS_MS: [u64; 6] = [0, 1, 5, 20, 100, 1_300];

type Alarm = (Instant, Waker);

/// Is ready in its second poll, whatever it is polled for.
struct SecondPoll {
    delay: Duration,
    alarms: Option<Sender<Alarm>>,
}

impl Future for SecondPoll {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        match self.alarms.take() {
            None => Poll::Ready(1),
            Some(alarms) => {
                alarms.send((Instant::now() + self.delay, cx.waker().clone())).unwrap();
                Poll::Pending
            }
        }
    }
}

/// Starts a thread that wakes what it is sent, at its time.
fn alarm_clock() -> Sender<Alarm> {
    let (alarms, received) = channel::<Alarm>();
    thread::spawn(move || {
        let mut waiting: Vec<Alarm> = Vec::new();
        loop {
            waiting.extend(received.try_iter());
            let now = Instant::now();
            let (due, later) = waiting.into_iter().partition::<Vec<_>, _>(|(at, _)| *at <= now);
            waiting = later;
            due.into_iter().for_each(|(_, waker)| waker.wake());
            thread::sleep(Duration::from_millis(1));
        }
    });
    alarms
}

pub fn run(runtime: Runtime) {
    let alarms = alarm_clock();
    let rounds = Rounds::start();
    runtime.block_on(async {
        while rounds.go_on() {
            let mut tasks = JoinSet::new();
            for number in 0..60 {
                let delay = Duration::from_millis(DELAYS_MS[number % DELAYS_MS.len()]);
                tasks.spawn(SecondPoll { delay, alarms: Some(alarms.clone()) });
            }
            assert_eq!(tasks.join_all().await.into_iter().sum::<u64>(), 60);
        }
    });
    println!("done");
}
