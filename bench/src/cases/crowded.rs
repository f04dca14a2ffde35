//! Runtimes with more workers, and more work, than there are CPUs.

use super::ticking::sleep_loops_beside;
use crate::common::use_cpu_for;
use crate::disturbance::{Disturbance, Disturber};
use crate::measure::{Metric, Sample, Scale, time_turns};
use crate::runtime::{ResetSleeps, StallCounts, Timers};
use crate::suite::Case;
use crate::workers;
use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

const TICKER_TAKES: Duration = Duration::from_secs(4);
const STALLS_TAKE: Duration = Duration::from_secs(3);

pub fn cases<R: Timers + ResetSleeps>() -> Vec<Case> {
    vec![
        Case::new(
            "crowded/ticker_16w",
            "1 task that sleeps for 5 ms in a loop, beside 32 that use 5 ms of CPU time per poll, with 16 workers",
            |scale| ticker::<R>(16, scale),
        )
        .rounds(3)
        .takes(TICKER_TAKES),
        Case::new("crowded/ticker_64w", "the same beside 128, with 64 workers", |scale| {
            ticker::<R>(64, scale)
        })
        .rounds(3)
        .takes(TICKER_TAKES),
        Case::new(
            "crowded/resets",
            "1,000 sleeps reset 1,000 times each on the thread of `block_on`, which is not a worker, per reset",
            resets::<R>,
        ),
    ]
}

/// Returns the cases that only a runtime with stall detection has.
pub fn stall_cases<R: StallCounts>() -> Vec<Case> {
    let cases = [
        Case::new(
            "crowded/stalls_8w",
            "16 tasks that use 200 us of CPU time per poll, with 8 workers: how many polls count as stalls because \
             they were preempted",
            preempted::<R>,
        ),
        Case::new(
            "crowded/stopped_8w",
            "the same in a process that is stopped for 10 of each 50 ms",
            |scale| {
                let disturbance = Disturbance::Stops { pid: std::process::id() };
                let _stopper = Disturber::start(disturbance).unwrap_or_else(|why| panic!("{why}"));
                preempted::<R>(scale)
            },
        ),
    ];
    cases.into_iter().map(|case| case.rounds(3).takes(STALLS_TAKE)).collect()
}

fn ticker<R: Timers>(workers: usize, scale: Scale) -> Sample {
    workers::set(workers);
    let span = if scale == Scale::Full { TICKER_TAKES } else { Duration::from_millis(500) };
    let busy = |nth, end| async move {
        let mut polls = 0;
        while Instant::now() < end {
            use_cpu_for(Duration::from_millis(5));
            polls += 1;
            if nth % 2 == 0 {
                R::yield_now().await;
            } else {
                R::sleep(Duration::from_millis(1)).await;
            }
        }
        polls
    };
    sleep_loops_beside::<R, _>(1, 2 * workers, busy, span)
}

fn preempted<R: StallCounts>(scale: Scale) -> Sample {
    workers::set(8);
    let span = if scale == Scale::Full { STALLS_TAKE } else { Duration::from_millis(300) };
    R::run(async move {
        let begun = Instant::now();
        let busy = |_| {
            R::spawn(async move {
                while begun.elapsed() < span {
                    use_cpu_for(Duration::from_micros(200));
                    R::yield_now().await;
                }
            })
        };
        for task in (0..16).map(busy).collect::<Vec<_>>() {
            task.await;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let per_second = |count| count as f64 / seconds;
        vec![
            Metric::lower_is_better("stalls", "/s", per_second(R::stalls())),
            Metric::lower_is_better("hand-offs", "/s", per_second(R::handoffs())),
        ]
    })
}

fn resets<R: ResetSleeps>(scale: Scale) -> Sample {
    let (sleeps, times) = (1_000, scale.pick(1_000, 50));
    R::block_on(async move {
        let sleeps: Vec<_> =
            (0..sleeps).map(|_| Box::pin(R::new_sleep(Duration::from_secs(60)))).collect();
        let sleeps = RefCell::new(sleeps);
        poll_fn(|cx| {
            let mut sleeps = sleeps.borrow_mut();
            let all_wait = sleeps.iter_mut().all(|sleep| sleep.as_mut().poll(cx).is_pending());
            assert!(all_wait, "a sleep of a minute has ended");
            Poll::Ready(())
        })
        .await;
        let operations = sleeps.borrow().len() * times;
        time_turns(operations, || async {
            let mut sleeps = sleeps.borrow_mut();
            for nth in 0..times {
                let after = Duration::from_millis(60_000 + nth as u64 % 1_000);
                for sleep in sleeps.iter_mut() {
                    R::reset(sleep.as_mut(), after);
                }
            }
        })
        .await
    })
}
