//! Channels.

use std::time::Instant;

use rt::sync::{broadcast, mpsc};

use super::{Outcome, join_all, no_third, percentile};
use machine::work_ns;

pub async fn pingpong(workers: u64) -> Outcome {
    let (pairs, rounds) = (4 * workers, 60);
    let mut tasks = Vec::new();
    for _ in 0..pairs {
        let (ping, mut pings) = mpsc::channel::<u64>(1);
        let (pong, mut pongs) = mpsc::channel::<u64>(1);
        tasks.push(rt::spawn(async move {
            for number in 0..rounds {
                ping.send(number).await.expect("the partner receives");
                pongs.recv().await.expect("the partner answers");
            }
        }));
        tasks.push(rt::spawn(async move {
            while let Some(number) = pings.recv().await {
                if pong.send(number).await.is_err() {
                    break;
                }
            }
        }));
    }
    join_all(tasks).await;
    no_third(pairs * rounds)
}

pub async fn fan_in(workers: u64) -> Outcome {
    let (senders, messages) = (2 * workers, 100);
    let (sender, mut receiver) = mpsc::channel::<u64>(100);
    let send_all = move |sender: mpsc::Sender<u64>| async move {
        for number in 0..messages {
            work_ns(500);
            sender.send(number).await.expect("the case receives");
        }
    };
    let tasks = (0..senders).map(|_| rt::spawn(send_all(sender.clone()))).collect();
    drop(sender);
    let mut received = 0;
    while receiver.recv().await.is_some() {
        received += 1;
    }
    join_all::<()>(tasks).await;
    no_third(received)
}

/// The sender waits until all receivers have acknowledged a message before it sends the next.
pub async fn broadcast(workers: u64) -> Outcome {
    let (receivers, messages) = (2 * workers, 40);
    let (sender, _) = broadcast::channel::<u64>(16);
    let (acknowledge, mut acknowledged) = mpsc::unbounded_channel::<()>();
    let receive_all = move |mut receiver: broadcast::Receiver<u64>,
                            acknowledge: mpsc::UnboundedSender<()>| async move {
        while receiver.recv().await.is_ok() {
            work_ns(500);
            acknowledge.send(()).expect("the case receives");
        }
    };
    let tasks = (0..receivers)
        .map(|_| rt::spawn(receive_all(sender.subscribe(), acknowledge.clone())))
        .collect();
    let mut times = Vec::new();
    for number in 0..messages {
        let start = Instant::now();
        sender.send(number).expect("there are receivers");
        for _ in 0..receivers {
            acknowledged.recv().await.expect("a receiver acknowledges");
        }
        times.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    drop(sender);
    join_all::<()>(tasks).await;
    Outcome { operations: messages * receivers, third_us: percentile(times, 0.95) }
}
