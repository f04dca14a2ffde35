//! The cost of running a closure on the blocking pool.

use crate::common::Latch;
use crate::measure::{Metric, Sample, Scale, time_turns};
use crate::os;
use crate::runtime::{SpawnBlocking, Timers};
use crate::suite::Case;
use std::time::Duration;

pub fn cases<R: SpawnBlocking + Timers>() -> Vec<Case> {
    vec![
        Case::new(
            "blocking/uncontended",
            "spawn_blocking of nothing, one after another, per call",
            |scale| round_trips::<R>(scale, 1),
        ),
        Case::new(
            "blocking/contended",
            "spawn_blocking of nothing from 64 tasks at once, per call",
            |scale| round_trips::<R>(scale, 64),
        ),
        Case::new(
            "blocking/paced",
            "a millisecond's sleep, then spawn_blocking of nothing: what both cost together",
            paced::<R>,
        ),
    ]
}

fn paced<R: SpawnBlocking + Timers>(scale: Scale) -> Sample {
    let calls = scale.pick(400, 50);
    R::run(async move {
        let before = os::process_cpu_time();
        for i in 0..calls {
            R::sleep(Duration::from_millis(1)).await;
            assert_eq!(R::spawn_blocking(move || i).await, i);
        }
        let cpu = os::process_cpu_time() - before;
        vec![Metric::lower_is_better("CPU", "ns/op", cpu.as_nanos() as f64 / calls as f64)]
    })
}

fn round_trips<R: SpawnBlocking>(scale: Scale, tasks: usize) -> Sample {
    let calls = scale.pick(10_000, 4_000) / tasks;
    R::run(async move {
        time_turns(tasks * calls, || async {
            let all_done = Latch::new(tasks);
            for _ in 0..tasks {
                let done = all_done.clone();
                R::detach(async move {
                    for i in 0..calls {
                        assert_eq!(R::spawn_blocking(move || i).await, i);
                    }
                    done.count_down();
                });
            }
            all_done.wait().await;
        })
        .await
    })
}
