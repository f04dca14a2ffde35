//! An echo server under a steady rate of requests that leaves it time to spare: its CPU time and
//! its latency.

use super::serving::under_load;
use crate::load::{Exchange, REQUESTS, SERVER_CPU, Traffic};
use crate::measure::{Better, Sample, Scale};
use crate::runtime::EchoServer;
use crate::suite::Case;
use std::time::Duration;

const CONNECTIONS: usize = 64;

pub fn cases<R: EchoServer>() -> Vec<Case> {
    let cases = [
        Case::new("paced_echo/1k", "64 connections ask 1,000 times a second in all", |scale| {
            echo::<R>(scale, 1_000)
        }),
        Case::new("paced_echo/10k", "the same, 10,000 times", |scale| echo::<R>(scale, 10_000)),
        Case::new("paced_echo/50k", "the same, 50,000 times", |scale| echo::<R>(scale, 50_000)),
    ];
    cases.into_iter().map(|case| case.headline(SERVER_CPU)).collect()
}

fn echo<R: EchoServer>(scale: Scale, per_second: u32) -> Sample {
    let traffic = Traffic {
        connections: CONNECTIONS,
        exchange: Exchange::Echo { bytes: 64 },
        pace: Some(Duration::from_secs(CONNECTIONS as u64) / per_second),
        reconnects: false,
        warm_up: Duration::from_millis(scale.pick(150, 50) as u64),
        span: Duration::from_millis(scale.pick(1_000, 200) as u64),
    };
    let mut sample = under_load(traffic, move |listener| {
        R::run(async move { R::serve_echo(listener, 1024).await })
    });
    // With 1,000 requests, this is only the slowest of them.
    sample.retain(|metric| metric.name != "latency p99.9");
    for metric in &mut sample {
        if metric.name == REQUESTS {
            // All contenders answer as many requests as were sent, so this figure does not rank
            // them. The others do.
            metric.better = Better::Neither;
        }
    }
    sample
}
