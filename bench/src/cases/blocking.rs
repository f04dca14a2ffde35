//! What it costs to have a closure run on the pool for blocking calls.

use crate::common::Latch;
use crate::measure::{Sample, Scale, time_turns};
use crate::runtime::SpawnBlocking;
use crate::suite::Case;

pub fn cases<R: SpawnBlocking>() -> Vec<Case> {
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
    ]
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
