//! A task that is always ready, and the latency of the tasks next to it.

use super::ticking::Tickers;
use crate::measure::{Metric, Sample, Scale};
use crate::runtime::{ReadyChannel, Timers};
use crate::suite::Case;
use std::time::{Duration, Instant};

pub fn cases<R: Timers + ReadyChannel>() -> Vec<Case> {
    vec![
        Case::new(
            "fairness/busy_task",
            "a task whose channel is always ready, beside 100 that tick every millisecond: how late they are",
            busy_task::<R>,
        )
        .headline("p99")
        .rounds(3),
    ]
}

fn busy_task<R: Timers + ReadyChannel>(scale: Scale) -> Sample {
    const BATCH: usize = 256;
    let span = Duration::from_millis(scale.pick(1_000, 300) as u64);
    R::run(async move {
        let tickers = Tickers::start::<R>(100);
        let busy = R::spawn(async move {
            let begun = Instant::now();
            let mut received = 0;
            while begun.elapsed() < span {
                R::send_and_receive(BATCH).await;
                received += BATCH;
            }
            received as f64 / begun.elapsed().as_secs_f64()
        });
        let received_per_second = busy.await;
        let mut sample = tickers.stop().await;
        sample.push(Metric::higher_is_better("received", "/s", received_per_second));
        sample
    })
}
