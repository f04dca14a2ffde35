//! Tasks that block their threads, which they should not, and the latency of the tasks next to
//! them.

use super::serving::under_load;
use super::ticking::Tickers;
use crate::common::compute_for;
use crate::load::{Exchange, Traffic};
use crate::measure::{Sample, Scale};
use crate::runtime::{EchoServer, HelloServer, Runtime, Timers};
use crate::suite::Case;
use std::future::Future;
use std::net::TcpListener;
use std::time::{Duration, Instant};

pub fn cases<R: Timers + EchoServer + HelloServer>() -> Vec<Case> {
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
            |scale| {
                serve_beside_sleepers::<R, _>(scale, Exchange::Echo { bytes: 64 }, |listener| {
                    R::serve_echo(listener, 1024)
                })
            },
        )
        .headline("latency p99"),
        Case::new(
            "blocking_abuse/http",
            "the same of hyper's greeting",
            |scale| serve_beside_sleepers::<R, _>(scale, Exchange::Hello, R::serve_hello),
        )
        .headline("latency p99"),
    ];
    cases.into_iter().map(|case| case.rounds(3)).collect()
}

fn sleep_100_ms() {
    std::thread::sleep(Duration::from_millis(100));
}

fn compute_50_ms() {
    compute_for(Duration::from_millis(50));
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

fn serve_beside_sleepers<R: Runtime, F>(
    scale: Scale,
    exchange: Exchange,
    serve: impl FnOnce(TcpListener) -> F + Send + 'static,
) -> Sample
where
    F: Future<Output = ()> + Send + 'static,
{
    let traffic = Traffic {
        connections: 64,
        exchange,
        pace: Some(Duration::from_millis(10)),
        reconnects: false,
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
            serve(listener).await;
        })
    })
}
