//! The cost of sleeping, and the lateness of sleeps.

use crate::common::Latch;
use crate::measure::{Metric, Sample, Scale, lateness, time_turns};
use crate::os;
use crate::runtime::Timers;
use crate::suite::Case;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

pub fn cases<R: Timers>() -> Vec<Case> {
    vec![
        Case::new(
            "timer/churn",
            "sleeps of 60 s polled once and dropped, by 64 tasks, per sleep",
            churn::<R>,
        ),
        Case::new(
            "timer/fire_10k",
            "10k tasks that sleep 5 times for 1-100 ms: how late they wake, and CPU time per sleep",
            |scale| fire::<R>(scale.pick(10_000, 2_000), 5),
        ),
        Case::new(
            "timer/fire_100k",
            "100k tasks that sleep once for 1-100 ms: how late they wake, and CPU time per sleep",
            |scale| fire::<R>(scale.pick(100_000, 20_000), 1),
        ),
        Case::new(
            "timer/fire_one",
            "one task that sleeps for 1-5 ms, over and over: how late it wakes",
            fire_one::<R>,
        ),
    ]
}

fn churn<R: Timers>(scale: Scale) -> Sample {
    let (tasks, sleeps) = (64, scale.pick(10_000, 1_000));
    R::run(async move {
        time_turns(tasks * sleeps, || async {
            let all_done = Latch::new(tasks);
            for _ in 0..tasks {
                let done = all_done.clone();
                R::detach(async move {
                    for i in 0..sleeps {
                        let mut sleep = pin!(R::sleep(Duration::from_secs(60)));
                        poll_fn(|cx| {
                            assert!(sleep.as_mut().poll(cx).is_pending());
                            Poll::Ready(())
                        })
                        .await;
                        // Lets all tasks take turns, as connections with timeouts do.
                        if i % 16 == 0 {
                            R::yield_now().await;
                        }
                    }
                    done.count_down();
                });
            }
            all_done.wait().await;
        })
        .await
    })
}

fn fire<R: Timers>(tasks: usize, sleeps: usize) -> Sample {
    R::run(async move {
        // The first turn is the warm-up, the second one counts.
        sleep_all::<R>(tasks, 1).await;
        let cpu = os::process_cpu_time();
        let late_us = sleep_all::<R>(tasks, sleeps).await;
        let cpu = os::process_cpu_time() - cpu;
        let mut sample = lateness(late_us);
        let per_sleep = cpu.as_secs_f64() * 1e6 / (tasks * sleeps) as f64;
        sample.push(Metric::lower_is_better("CPU", "us/sleep", per_sleep));
        sample
    })
}

fn fire_one<R: Timers>(scale: Scale) -> Sample {
    let sleeps = scale.pick(300, 50);
    R::run(async move { lateness(sleep_each::<R>(sleeps, 1, 5_000).await) })
}

/// Returns the lateness of each of `tasks` times `sleeps` sleeps, in microseconds.
async fn sleep_all<R: Timers>(tasks: usize, sleeps: usize) -> Vec<f64> {
    let all_done = Latch::new(tasks);
    let late_us = Arc::new(Mutex::new(Vec::with_capacity(tasks * sleeps)));
    for task in 0..tasks {
        let (done, all_late_us) = (all_done.clone(), late_us.clone());
        R::detach(async move {
            let late_us = sleep_each::<R>(sleeps, task, 100_000).await;
            all_late_us.lock().unwrap().extend(late_us);
            done.count_down();
        });
    }
    all_done.wait().await;
    std::mem::take(&mut *late_us.lock().unwrap())
}

/// Sleeps repeatedly, for durations between one millisecond and `longest_us`.
async fn sleep_each<R: Timers>(sleeps: usize, seed: usize, longest_us: u64) -> Vec<f64> {
    let mut late_us = Vec::with_capacity(sleeps);
    let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..sleeps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let duration = Duration::from_micros(1_000 + state % (longest_us - 1_000));
        let deadline = Instant::now() + duration;
        R::sleep(duration).await;
        let now = Instant::now();
        assert!(now >= deadline, "a sleep ended {:?} early", deadline - now);
        late_us.push((now - deadline).as_secs_f64() * 1e6);
    }
    late_us
}
