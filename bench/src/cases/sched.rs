//! The cost of spawning, waking and switching tasks, measured with the primitives of
//! [`crate::common`].

use super::split_work::{bursts, requests_of_parts};
use crate::common::{Gate, Latch, Mailbox, compute_for};
use crate::measure::{Sample, Scale, time_turns, time_turns_blocking};
use crate::runtime::{RemoteSpawn, Runtime, Timers};
use crate::suite::Case;
use std::sync::Arc;
use std::time::Duration;

pub fn cases<R: Runtime>() -> Vec<Case> {
    vec![
        Case::new(
            "sched/spawn_many",
            "100k empty tasks spawned from inside, per task",
            spawn_many::<R>,
        ),
        Case::new(
            "sched/chained_spawn",
            "each task spawns the next, 10k deep, per spawn",
            chained_spawn::<R>,
        ),
        Case::new(
            "sched/join_handles",
            "spawn a task and await its handle, one after another, per round trip",
            join_handles::<R>,
        ),
        Case::new(
            "sched/yield_many",
            "200 tasks that yield 1,000 times each, per yield",
            yield_many::<R>,
        ),
        Case::new(
            "sched/ping_pong_1",
            "one pair of tasks with a mailbox each, per round trip",
            |scale| ping_pong::<R>(1, scale.pick(100_000, 20_000)),
        ),
        Case::new(
            "sched/ping_pong_1000",
            "1,000 pairs of tasks with a mailbox each, per round trip",
            |scale| ping_pong::<R>(1_000, scale.pick(100, 20)),
        ),
        Case::new(
            "sched/million_tasks",
            "1M tasks spawned, all waiting at once, then woken one after another, per task",
            million_tasks::<R>,
        )
        .rounds(3),
        Case::new(
            "sched/fork_join",
            "8 tasks that compute for 15 us spawned and joined, again and again, per task",
            fork_join::<R>,
        ),
        Case::new(
            "sched/scatter",
            "8 requests under way, each of which spawns 8 parts of 10 to 20 us of CPU time and joins them",
            |scale| requests_of_parts::<R>(8, Duration::from_millis(scale.pick(1_000, 100) as u64)),
        ),
        Case::new(
            "sched/start_stop",
            "a runtime made, an empty task run on it, and taken down, per runtime",
            start_stop::<R>,
        ),
    ]
}

fn fork_join<R: Runtime>(scale: Scale) -> Sample {
    let (tasks, rounds) = (8, scale.pick(200, 20));
    R::run(async move {
        time_turns(tasks * rounds, || async {
            for _ in 0..rounds {
                let spawn = |_| R::spawn(async { compute_for(Duration::from_micros(15)) });
                for joined in (0..tasks).map(spawn).collect::<Vec<_>>() {
                    joined.await;
                }
            }
        })
        .await
    })
}

fn start_stop<R: Runtime>(scale: Scale) -> Sample {
    let runtimes = scale.pick(100, 10);
    time_turns_blocking(runtimes, || (0..runtimes).for_each(|_| R::run(async {})))
}

pub fn timed_cases<R: Timers>() -> Vec<Case> {
    vec![
        Case::new(
            "sched/bursts",
            "every 4 ms a burst of 32 tasks of 50 us of CPU time: how long until the last has ended",
            |scale| {
                let span = Duration::from_millis(scale.pick(1_000, 100) as u64);
                bursts::<R>(Duration::from_millis(4), span)
            },
        )
        .headline("p99"),
    ]
}

pub fn remote_cases<R: RemoteSpawn>() -> Vec<Case> {
    vec![Case::new(
        "sched/spawn_remote",
        "100k empty tasks spawned from a foreign thread, per task",
        spawn_remote::<R>,
    )]
}

fn spawn_many<R: Runtime>(scale: Scale) -> Sample {
    let tasks = scale.pick(100_000, 30_000);
    R::run(async move {
        time_turns(tasks, || async {
            let all_done = Latch::new(tasks);
            for _ in 0..tasks {
                let done = all_done.clone();
                R::detach(async move { done.count_down() });
            }
            all_done.wait().await;
        })
        .await
    })
}

fn spawn_remote<R: RemoteSpawn>(scale: Scale) -> Sample {
    let tasks = scale.pick(100_000, 30_000);
    R::run(async move {
        let runtime = R::handle();
        let measured = Latch::new(1);
        let foreign_thread = std::thread::spawn({
            let measured = measured.clone();
            move || {
                let sample = time_turns_blocking(tasks, || {
                    let all_done = Latch::new(tasks);
                    for _ in 0..tasks {
                        let done = all_done.clone();
                        R::detach_on(&runtime, async move { done.count_down() });
                    }
                    all_done.wait_blocking();
                });
                measured.count_down();
                sample
            }
        });
        measured.wait().await;
        foreign_thread.join().unwrap()
    })
}

fn chained_spawn<R: Runtime>(scale: Scale) -> Sample {
    let (depth, chains) = (10_000, scale.pick(5, 2));
    R::run(async move {
        time_turns(depth * chains, || async {
            for _ in 0..chains {
                let end = Latch::new(1);
                spawn_chain::<R>(depth, end.clone());
                end.wait().await;
            }
        })
        .await
    })
}

fn spawn_chain<R: Runtime>(left: usize, end: Arc<Latch>) {
    R::detach(async move {
        if left == 0 {
            end.count_down();
        } else {
            spawn_chain::<R>(left - 1, end);
        }
    });
}

fn join_handles<R: Runtime>(scale: Scale) -> Sample {
    let tasks = scale.pick(100_000, 20_000);
    R::run(async move {
        time_turns(tasks, || async {
            for i in 0..tasks {
                assert_eq!(R::spawn(async move { i }).await, i);
            }
        })
        .await
    })
}

fn yield_many<R: Runtime>(scale: Scale) -> Sample {
    let (tasks, yields) = (200, scale.pick(1_000, 200));
    R::run(async move {
        time_turns(tasks * yields, || async {
            let all_done = Latch::new(tasks);
            for _ in 0..tasks {
                let done = all_done.clone();
                R::detach(async move {
                    for _ in 0..yields {
                        R::yield_now().await;
                    }
                    done.count_down();
                });
            }
            all_done.wait().await;
        })
        .await
    })
}

fn ping_pong<R: Runtime>(pairs: usize, round_trips: usize) -> Sample {
    R::run(async move {
        time_turns(pairs * round_trips, || async {
            let all_done = Latch::new(2 * pairs);
            for _ in 0..pairs {
                spawn_pair::<R>(round_trips, &all_done);
            }
            all_done.wait().await;
        })
        .await
    })
}

fn spawn_pair<R: Runtime>(round_trips: usize, all_done: &Arc<Latch>) {
    let (ping, pong) = (Arc::new(Mailbox::default()), Arc::new(Mailbox::default()));
    let (ping_in, pong_out) = (ping.clone(), pong.clone());
    let done = all_done.clone();
    R::detach(async move {
        for _ in 0..round_trips {
            ping.put();
            pong.take().await;
        }
        done.count_down();
    });
    let done = all_done.clone();
    R::detach(async move {
        for _ in 0..round_trips {
            ping_in.take().await;
            pong_out.put();
        }
        done.count_down();
    });
}

fn million_tasks<R: Runtime>(scale: Scale) -> Sample {
    let tasks = scale.pick(1_000_000, 100_000);
    R::run(async move {
        time_turns(tasks, || async {
            let (gate, all_done) = (Arc::new(Gate::default()), Latch::new(tasks));
            for i in 1..=tasks {
                let (gate, done) = (gate.clone(), all_done.clone());
                R::detach(async move {
                    gate.pass().await;
                    done.count_down();
                });
                // Lets tasks reach the gate while others are spawned.
                if i % 1024 == 0 {
                    R::yield_now().await;
                }
            }
            gate.open();
            all_done.wait().await;
        })
        .await
    })
}
