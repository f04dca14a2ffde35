//! Requests at a steady rate, from a thread outside of the runtime.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rt::sync::mpsc;

use super::{Outcome, join_all, percentile};
use machine::work_us;

/// Starts a thread that calls `send` every `gap`, with the number of the request.
pub fn pacer(
    requests: u64,
    gap: Duration,
    mut send: impl FnMut(u64) + Send + 'static,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let start = Instant::now();
        for number in 0..requests {
            let due = gap * (number + 1) as u32;
            thread::sleep(due.saturating_sub(start.elapsed()));
            send(number);
        }
    })
}

/// Starts a pacer that sends the time at which it sent.
fn paced_messages(
    requests: u64,
    gap: Duration,
) -> (JoinHandle<()>, mpsc::UnboundedReceiver<Instant>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let thread = pacer(requests, gap, move |_| {
        sender.send(Instant::now()).expect("the case receives");
    });
    (thread, receiver)
}

pub fn since_us(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / 1000.0
}

pub async fn scatter(workers: u64) -> Outcome {
    let (requests, parts, part_us) = (20 * workers, 4, 20);
    // A quarter of what the workers can do.
    let gap = Duration::from_nanos(1000 * part_us * parts * 4 / workers);
    let (thread, mut arrivals) = paced_messages(requests, gap);
    let serve = move |start: Instant| async move {
        join_all((0..parts).map(|_| rt::spawn(async move { work_us(part_us) })).collect()).await;
        since_us(start)
    };
    let mut tasks = Vec::new();
    while let Some(start) = arrivals.recv().await {
        tasks.push(rt::spawn(serve(start)));
    }
    let latencies = join_all(tasks).await;
    thread.join().expect("the thread does not panic");
    Outcome { operations: requests, third_us: percentile(latencies, 0.99) }
}

pub async fn idle(_workers: u64) -> Outcome {
    let requests = 100;
    let (thread, mut arrivals) = paced_messages(requests, Duration::from_micros(200));
    let mut latencies = Vec::new();
    while let Some(start) = arrivals.recv().await {
        work_us(2);
        latencies.push(since_us(start));
    }
    thread.join().expect("the thread does not panic");
    Outcome { operations: requests, third_us: percentile(latencies, 0.99) }
}
