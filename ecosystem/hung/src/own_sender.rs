//! A receiver waits for the end of a channel, and keeps a sender of it.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::sleep;

async fn part(number: u64, results: mpsc::Sender<u64>) {
    results.send(number * number).await.unwrap();
}

/// Sums up what three tasks send. The original of the senders is forgotten.
async fn sum() -> u64 {
    let (results, mut received) = mpsc::channel(8);
    for number in 1..=3 {
        tokio::spawn(part(number, results.clone()));
    }
    let (mut sum, mut count) = (0, 0);
    while let Some(square) = received.recv().await {
        sum += square;
        count += 1;
        if count == 3 {
            println!("ready");
        }
    }
    sum
}

async fn slow_parts(results: mpsc::Sender<u64>) {
    loop {
        sleep(Duration::from_millis(20)).await;
        results.send(1).await.unwrap();
    }
}

/// This one keeps a sender too, but there is another sender that is still going to send.
async fn sum_for_ever() {
    let (results, mut received) = mpsc::channel(8);
    tokio::spawn(slow_parts(results.clone()));
    let mut sum = 0;
    while let Some(one) = received.recv().await {
        sum += one;
        println!("tick");
    }
    drop(results);
    println!("{sum}");
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        println!("{}", tokio::spawn(sum()).await.unwrap());
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        tokio::spawn(sum_for_ever()).await.unwrap();
    });
}
