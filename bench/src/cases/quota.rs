//! Cases under a CPU quota of 20 ms in each 100 ms, as containers have it (`src/cpu_group.rs`).

use super::http::hello_for;
use super::split_work::{bursts, requests_of_parts};
use super::tcp_echo::echo_for;
use super::ticking::sleep_loops_beside;
use crate::common::use_cpu_for;
use crate::measure::{Sample, Scale};
use crate::runtime::{EchoServer, HelloServer, Timers};
use crate::suite::Case;
use crate::workers;
use std::time::{Duration, Instant};

/// The bursts need half of the quota. A runtime that uses more CPU time than their tasks do comes
/// closer to it.
const BURST_INTERVAL: Duration = Duration::from_millis(16);

const TICKERS_TAKE: Duration = Duration::from_secs(4);

pub fn cases<R: Timers + EchoServer + HelloServer>() -> Vec<Case> {
    let cases = [
        Case::new(
            "quota/bursts",
            "every 16 ms a burst of 32 tasks of 50 us of CPU time, under a quota of 20 of 100 ms: how long until \
             the last has ended",
            |scale| bursts::<R>(BURST_INTERVAL, span(scale)),
        )
        .headline("p99"),
        Case::new(
            "quota/fork_join",
            "8 tasks of 10 to 20 us of CPU time spawned and joined, again and again, per 8 tasks",
            |scale| requests_of_parts::<R>(1, span(scale)),
        ),
        Case::new(
            "quota/http",
            "hyper's greeting on each of 64 connections of our load generator, which is not limited",
            |scale| hello_for::<R>(span(scale)),
        ),
        Case::new(
            "quota/tcp_echo",
            "64 bytes there and back on each of 64 connections",
            |scale| echo_for::<R>(span(scale)),
        ),
        Case::new(
            "quota/tickers_2w",
            "100 tasks that sleep for 5 ms in a loop, beside 64 that use 200 us of CPU time per poll, with 2 workers",
            |scale| tickers::<R>(2, scale),
        )
        .rounds(3),
        Case::new("quota/tickers_8w", "the same with 8 workers", |scale| tickers::<R>(8, scale))
            .rounds(3),
        Case::new("quota/tickers_64w", "the same with 64 workers", |scale| {
            tickers::<R>(64, scale)
        })
        .rounds(3),
    ];
    cases.into_iter().map(|case| case.takes(TICKERS_TAKE).under_quota()).collect()
}

/// Returns how long a sample takes. A full one has 20 periods of the quota.
fn span(scale: Scale) -> Duration {
    Duration::from_millis(scale.pick(2_000, 300) as u64)
}

fn tickers<R: Timers>(workers: usize, scale: Scale) -> Sample {
    workers::set(workers);
    let span = if scale == Scale::Full { TICKERS_TAKE } else { Duration::from_millis(500) };
    let busy = |_, end| async move {
        let mut polls = 0;
        while Instant::now() < end {
            use_cpu_for(Duration::from_micros(200));
            polls += 1;
            R::yield_now().await;
        }
        polls
    };
    sleep_loops_beside::<R, _>(100, 64, busy, span)
}
