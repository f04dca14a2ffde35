//! What becomes of everybody else when some tasks block their threads, which they should not.

use super::serving::under_load;
use super::ticking::Tickers;
use crate::load::{Exchange, Traffic};
use crate::measure::{Sample, Scale};
use crate::runtime::{EchoServer, Timers};
use crate::suite::Case;
use std::time::{Duration, Instant};

pub fn cases<R: Timers + EchoServer>() -> Vec<Case> {
    let cases = [
        Case::new(
            "blocking_abuse/2_sleepers",
            "2 tasks that block for 100 ms over and over, beside 100 that tick every ms: how late these are",
            |scale| ticks_beside::<R>(scale, 2, sleep_100_ms),
        )
        .headline("p99"),
        Case::new("blocking_abuse/8_sleepers", "the same beside 8 tasks that block", |scale| {
            ticks_beside::<R>(scale, 8, sleep_100_ms)
        })
        .headline("p99"),
        Case::new(
            "blocking_abuse/2_loops",
            "the same beside 2 tasks that compute for 50 ms",
            |scale| ticks_beside::<R>(scale, 2, compute_50_ms),
        )
        .headline("p99"),
        Case::new(
            "blocking_abuse/echo",
            "an echo server asked every 10 ms by each of 64, beside 2 tasks that block for 100 ms",
            echo_beside_sleepers::<R>,
        )
        .headline("latency p99"),
    ];
    cases.into_iter().map(|case| case.rounds(3)).collect()
}

fn sleep_100_ms() {
    std::thread::sleep(Duration::from_millis(100));
}

fn compute_50_ms() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(50) {
        std::hint::black_box(());
    }
}

fn ticks_beside<R: Timers>(scale: Scale, blockers: usize, block: fn()) -> Sample {
    let span = Duration::from_millis(scale.pick(1_500, 500) as u64);
    R::run(async move {
        let tickers = Tickers::start::<R>(100);
        let end = Instant::now() + span;
        let blocking: Vec<_> = (0..blockers)
            .map(|_| {
                R::spawn(async move {
                    while Instant::now() < end {
                        block();
                        R::yield_now().await;
                    }
                })
            })
            .collect();
        for blocker in blocking {
            blocker.await;
        }
        tickers.stop().await
    })
}

fn echo_beside_sleepers<R: EchoServer>(scale: Scale) -> Sample {
    let traffic = Traffic {
        connections: 64,
        exchange: Exchange::Echo { bytes: 64 },
        pace: Some(Duration::from_millis(10)),
        warm_up: Duration::from_millis(200),
        span: Duration::from_millis(scale.pick(1_500, 500) as u64),
    };
    under_load(traffic, |listener| {
        R::run(async move {
            for _ in 0..2 {
                R::detach(async {
                    loop {
                        sleep_100_ms();
                        R::yield_now().await;
                    }
                });
            }
            R::serve_echo(listener, 1024).await;
        })
    })
}
