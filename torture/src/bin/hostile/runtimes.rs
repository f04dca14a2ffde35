//! Runtimes with random settings and hostile hooks, and a check that a runtime still works.

use std::sync::Arc;
use std::time::Duration;
use wakeful::runtime::{Builder, Runtime};
use wakeful::task;
use wakeful_torture::rng::Rng;

use crate::values::Value;
use crate::world::{self, Act, attempt, finding};

/// The probability that a runtime has hostile hooks, in thousandths.
const HOOKS_CHANCE: u32 = 250;

const CANARY_OUTPUT: u32 = 7;

/// Builds a current-thread runtime, or a multi-thread runtime with a few workers.
pub fn any(rng: &mut Rng) -> Arc<Runtime> {
    match rng.below(5) {
        0 | 1 => build(Builder::new_current_thread(), rng),
        2 => multi_thread(rng, 1),
        3 => multi_thread(rng, 2),
        _ => multi_thread(rng, 4),
    }
}

pub fn multi_thread(rng: &mut Rng, workers: usize) -> Arc<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers);
    build(builder, rng)
}

fn build(mut builder: Builder, rng: &mut Rng) -> Arc<Runtime> {
    builder.enable_all().max_blocking_threads(1 + rng.below(4));
    if rng.chance(200) {
        builder.event_interval(1 + rng.below(5) as u32);
    }
    if rng.chance(200) {
        builder.global_queue_interval(1 + rng.below(5) as u32);
    }
    if rng.chance(100) {
        builder.disable_stall_handoff();
    }
    if rng.chance(100) {
        builder.disable_lifo_slot();
    }
    if rng.chance(300) {
        builder.thread_keep_alive(Duration::from_micros(200));
    }
    if rng.chance(HOOKS_CHANCE) {
        hooks(&mut builder, rng);
    }
    Arc::new(builder.build().expect("cannot build a runtime"))
}

/// Sets hooks that panic at random and hold a value whose drop does.
fn hooks(builder: &mut Builder, rng: &mut Rng) {
    let hook = || {
        let value = Value::new();
        move || {
            value.look();
            world::maybe_panic(Act::Hook);
        }
    };
    let task_hook = || {
        let hook = hook();
        move |_: &wakeful::runtime::TaskMeta<'_>| hook()
    };
    let mut wanted = || rng.chance(400);
    if wanted() {
        builder.on_thread_start(hook());
    }
    if wanted() {
        builder.on_thread_stop(hook());
    }
    if wanted() {
        builder.on_thread_park(hook());
    }
    if wanted() {
        builder.on_thread_unpark(hook());
    }
    if wanted() {
        builder.on_task_spawn(task_hook());
    }
    if wanted() {
        builder.on_before_task_poll(task_hook());
    }
    if wanted() {
        builder.on_after_task_poll(task_hook());
    }
    if wanted() {
        builder.on_task_terminate(task_hook());
    }
    if wanted() {
        let hook = hook();
        builder.stall_after(Duration::from_millis(1)).on_stall(move |_| hook());
    }
}

/// Checks that the runtime still runs tasks, timers and blocking calls. Hostile code must be
/// disarmed.
pub fn check(runtime: &Runtime) {
    let output = attempt(|| {
        runtime.block_on(async {
            let canary = task::spawn(async {
                task::yield_now().await;
                wakeful::time::sleep(Duration::from_micros(50)).await;
                task::spawn_blocking(|| CANARY_OUTPUT).await
            });
            canary.await
        })
    });
    if !matches!(output, Some(Ok(Ok(CANARY_OUTPUT)))) {
        finding(format!("the runtime no longer runs tasks: {output:?}"));
    }
}
