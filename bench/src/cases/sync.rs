//! The cost of channels, locks and notifications. Those of a library run on the tasks of a runtime.

use crate::common::{Latch, compute_for};
use crate::measure::{Sample, Scale, time_turns};
use crate::primitives::{Broadcast, Channel, Event, Lock, Oneshot, Permits, Watch};
use crate::runtime::Runtime;
use crate::suite::Case;
use std::mem::replace;
use std::sync::Arc;
use std::time::Duration;

/// How many tasks receive from a broadcast channel or watch a value.
const LISTENERS: usize = 8;

pub fn channel_cases<R: Runtime, C: Channel>() -> Vec<Case> {
    vec![
        Case::new(
            "sync/mpsc_1to1",
            "1M messages from 1 task to another, room for 100, per message",
            |scale| mpsc::<R, C>(scale, Some(100), 1),
        ),
        Case::new(
            "sync/mpsc_8to1",
            "1M messages from 8 tasks to another, room for 100, per message",
            |scale| mpsc::<R, C>(scale, Some(100), 8),
        ),
        Case::new(
            "sync/pipeline",
            "4 tasks in a line, room for 64 between them, that compute for 5 us per message, per message",
            pipeline::<R, C>,
        ),
    ]
}

pub fn unbounded_channel_cases<R: Runtime, C: Channel>() -> Vec<Case> {
    vec![Case::new(
        "sync/mpsc_unbounded_8to1",
        "1M messages from 8 tasks to another, room for any number, per message",
        |scale| mpsc::<R, C>(scale, None, 8),
    )]
}

pub fn oneshot_cases<R: Runtime, O: Oneshot>() -> Vec<Case> {
    vec![Case::new(
        "sync/oneshot",
        "a channel made, a value sent and received, all in one task",
        oneshot::<R, O>,
    )]
}

pub fn event_cases<R: Runtime, E: Event>() -> Vec<Case> {
    vec![Case::new("sync/notify", "two tasks wake each other, per round trip", notify::<R, E>)]
}

pub fn lock_cases<R: Runtime, L: Lock>() -> Vec<Case> {
    vec![
        Case::new("sync/mutex_2", "2 tasks add to a number, per lock", |scale| {
            mutex::<R, L>(scale, 2)
        }),
        Case::new("sync/mutex_16", "16 tasks add to a number, per lock", |scale| {
            mutex::<R, L>(scale, 16)
        }),
    ]
}

pub fn permit_cases<R: Runtime, P: Permits>() -> Vec<Case> {
    vec![Case::new(
        "sync/semaphore",
        "16 tasks share 4 permits and yield while they have one, per permit taken",
        semaphore::<R, P>,
    )]
}

pub fn broadcast_cases<R: Runtime, B: Broadcast>() -> Vec<Case> {
    vec![Case::new(
        "sync/broadcast_1to8",
        "1 task sends to 8, 256 values at a time, per value received",
        broadcast::<R, B>,
    )]
}

pub fn watch_cases<R: Runtime, W: Watch>() -> Vec<Case> {
    vec![Case::new(
        "sync/watch_1to8",
        "1 task sets a value, 8 say that they have seen it, per value",
        watch::<R, W>,
    )]
}

fn pipeline<R: Runtime, C: Channel>(scale: Scale) -> Sample {
    let total = scale.pick(5_000, 500);
    R::run(async move {
        time_turns(total, || async {
            let (sender, mut end) = C::new(Some(64));
            R::detach(async move {
                for value in 0..total as u64 {
                    C::send(&sender, value).await;
                }
            });
            for _ in 0..4 {
                let (sender, next) = C::new(Some(64));
                let mut receiver = replace(&mut end, next);
                R::detach(async move {
                    while let Some(value) = C::recv(&mut receiver).await {
                        compute_for(Duration::from_micros(5));
                        C::send(&sender, value).await;
                    }
                });
            }
            assert_eq!(R::spawn(count::<C>(end)).await, total);
        })
        .await
    })
}

/// Returns how many values arrive until all senders are dropped.
async fn count<C: Channel>(mut receiver: C::Receiver) -> usize {
    let mut received = 0;
    while C::recv(&mut receiver).await.is_some() {
        received += 1;
    }
    received
}

fn mpsc<R: Runtime, C: Channel>(scale: Scale, room: Option<usize>, senders: usize) -> Sample {
    let each = scale.pick(1_000_000, 200_000) / senders;
    let total = each * senders;
    R::run(async move {
        time_turns(total, || async {
            let (sender, receiver) = C::new(room);
            for _ in 0..senders {
                let sender = sender.clone();
                R::detach(async move {
                    for value in 0..each as u64 {
                        C::send(&sender, value).await;
                    }
                });
            }
            drop(sender);
            assert_eq!(R::spawn(count::<C>(receiver)).await, total);
        })
        .await
    })
}

fn oneshot<R: Runtime, O: Oneshot>(scale: Scale) -> Sample {
    let times = scale.pick(1_000_000, 200_000);
    R::run(async move {
        time_turns(times, || async {
            for value in 0..times as u64 {
                let (sender, receiver) = O::new();
                O::send(sender, value);
                assert_eq!(O::recv(receiver).await, value);
            }
        })
        .await
    })
}

fn notify<R: Runtime, E: Event>(scale: Scale) -> Sample {
    let round_trips = scale.pick(100_000, 20_000);
    R::run(async move {
        time_turns(round_trips, || async {
            let (there, back) = (Arc::new(E::new()), Arc::new(E::new()));
            let (there_too, back_too) = (there.clone(), back.clone());
            let other = R::spawn(async move {
                for _ in 0..round_trips {
                    there_too.wait().await;
                    back_too.tell();
                }
            });
            R::spawn(async move {
                for _ in 0..round_trips {
                    there.tell();
                    back.wait().await;
                }
            })
            .await;
            other.await;
        })
        .await
    })
}

fn mutex<R: Runtime, L: Lock>(scale: Scale, tasks: usize) -> Sample {
    let each = scale.pick(400_000, 80_000) / tasks;
    R::run(async move {
        time_turns(each * tasks, || async {
            let number = Arc::new(L::new());
            let all_done = Latch::new(tasks);
            for _ in 0..tasks {
                let (number, done) = (number.clone(), all_done.clone());
                R::detach(async move {
                    for _ in 0..each {
                        *number.lock().await += 1;
                    }
                    done.count_down();
                });
            }
            all_done.wait().await;
            assert_eq!(*number.lock().await, (each * tasks) as u64);
        })
        .await
    })
}

fn semaphore<R: Runtime, P: Permits>(scale: Scale) -> Sample {
    let tasks = 16;
    let each = scale.pick(200_000, 40_000) / tasks;
    R::run(async move {
        time_turns(each * tasks, || async {
            let permits = Arc::new(P::new(4));
            let all_done = Latch::new(tasks);
            for _ in 0..tasks {
                let (permits, done) = (permits.clone(), all_done.clone());
                R::detach(async move {
                    for _ in 0..each {
                        let _permit = permits.acquire().await;
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

/// A batch fits into the channel, and all receivers have received it before the next one is sent.
/// So no receiver lags, and none waits for a slow one.
fn broadcast<R: Runtime, B: Broadcast>(scale: Scale) -> Sample {
    const BATCH: usize = 256;
    let batches = scale.pick(400, 60);
    R::run(async move {
        time_turns(LISTENERS * BATCH * batches, || async {
            let sender = B::new(BATCH);
            let received = latches(batches);
            for _ in 0..LISTENERS {
                let (mut receiver, received) = (B::subscribe(&sender), received.clone());
                R::detach(async move {
                    for batch in received.iter() {
                        for value in 0..BATCH as u64 {
                            assert_eq!(B::recv(&mut receiver).await, value);
                        }
                        batch.count_down();
                    }
                });
            }
            R::spawn(async move {
                for batch in received.iter() {
                    for value in 0..BATCH as u64 {
                        B::send(&sender, value);
                    }
                    batch.wait().await;
                }
            })
            .await;
        })
        .await
    })
}

fn watch<R: Runtime, W: Watch>(scale: Scale) -> Sample {
    let values = scale.pick(20_000, 4_000);
    R::run(async move {
        time_turns(values, || async {
            let (sender, receiver) = W::new();
            let seen = latches(values);
            for _ in 0..LISTENERS {
                let (mut receiver, seen) = (receiver.clone(), seen.clone());
                R::detach(async move {
                    for (value, seen) in (1..).zip(seen.iter()) {
                        assert_eq!(W::changed(&mut receiver).await, value);
                        seen.count_down();
                    }
                });
            }
            R::spawn(async move {
                for (value, seen) in (1..).zip(seen.iter()) {
                    W::set(&sender, value);
                    seen.wait().await;
                }
            })
            .await;
        })
        .await
    })
}

/// Creates a latch for each step, which all listeners count down.
fn latches(steps: usize) -> Arc<Vec<Arc<Latch>>> {
    Arc::new((0..steps).map(|_| Latch::new(LISTENERS)).collect())
}
