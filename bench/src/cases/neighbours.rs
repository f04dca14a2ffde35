//! Cases beside busy threads of another process, which take their share of the CPUs.

use super::http::hello_for;
use super::split_work::{bursts, requests_of_parts};
use super::tcp_echo::echo_for;
use crate::disturbance::{Disturbance, Disturber};
use crate::measure::{Sample, Scale};
use crate::runtime::{EchoServer, HelloServer, Timers};
use crate::suite::Case;
use std::time::Duration;

pub fn cases<R: Timers + EchoServer + HelloServer>() -> Vec<Case> {
    vec![
        Case::new(
            "neighbours/bursts_1",
            "the bursts of `sched/bursts` beside 1 busy thread of another process",
            |scale| beside(1, scale, four_ms_bursts::<R>),
        )
        .headline("p99"),
        Case::new("neighbours/bursts_2", "the same beside 2 busy threads", |scale| {
            beside(2, scale, four_ms_bursts::<R>)
        })
        .headline("p99"),
        Case::new("neighbours/bursts_4", "the same beside 4 busy threads", |scale| {
            beside(4, scale, four_ms_bursts::<R>)
        })
        .headline("p99"),
        Case::new(
            "neighbours/fork_join_1",
            "8 tasks of 10 to 20 us of CPU time spawned and joined, again and again, beside 1 busy thread, \
             per 8 tasks",
            |scale| beside(1, scale, fork_join::<R>),
        ),
        Case::new("neighbours/fork_join_2", "the same beside 2 busy threads", |scale| {
            beside(2, scale, fork_join::<R>)
        }),
        Case::new("neighbours/fork_join_4", "the same beside 4 busy threads", |scale| {
            beside(4, scale, fork_join::<R>)
        }),
        Case::new(
            "neighbours/http_1",
            "hyper's greeting on each of 64 connections of our load generator beside 1 busy thread",
            |scale| beside(1, scale, hello_for::<R>),
        ),
        Case::new("neighbours/http_2", "the same beside 2 busy threads", |scale| {
            beside(2, scale, hello_for::<R>)
        }),
        Case::new("neighbours/http_4", "the same beside 4 busy threads", |scale| {
            beside(4, scale, hello_for::<R>)
        }),
        Case::new(
            "neighbours/tcp_echo_1",
            "64 bytes there and back on each of 64 connections beside 1 busy thread",
            |scale| beside(1, scale, echo_for::<R>),
        ),
        Case::new("neighbours/tcp_echo_2", "the same beside 2 busy threads", |scale| {
            beside(2, scale, echo_for::<R>)
        }),
        Case::new("neighbours/tcp_echo_4", "the same beside 4 busy threads", |scale| {
            beside(4, scale, echo_for::<R>)
        }),
    ]
}

fn beside(busy_threads: usize, scale: Scale, measure: fn(Duration) -> Sample) -> Sample {
    let _neighbour = Disturber::start(Disturbance::BusyThreads(busy_threads))
        .unwrap_or_else(|why| panic!("{why}"));
    measure(Duration::from_millis(scale.pick(1_000, 200) as u64))
}

fn four_ms_bursts<R: Timers>(span: Duration) -> Sample {
    bursts::<R>(Duration::from_millis(4), span)
}

fn fork_join<R: Timers>(span: Duration) -> Sample {
    requests_of_parts::<R>(1, span)
}
