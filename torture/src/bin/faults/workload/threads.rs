//! Operations that need threads: blocking calls, tasks that block, additional runtimes.

use super::{At, Flavour, Site, same};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use wakeful::task::{self, JoinSet};
use wakeful::time::sleep;

/// How long a task blocks its worker while it waits for a task behind it.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn spawn_blocking(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let mut set = JoinSet::new();
        for n in 0..4_u64 {
            set.spawn_blocking(move || {
                thread::sleep(Duration::from_millis(5));
                n
            });
        }
        let mut sum = 0;
        while let Some(n) = set.join_next().await {
            // Panics of `spawn_blocking` itself take another way: `outcome_of` catches them.
            sum += n.map_err(|error| format!("`spawn_blocking`: {error}"))?;
        }
        same("sum of 4 closures", sum, 6)
    })
}

pub fn block_in_place(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let behind = wakeful::spawn(async { 5 });
        let blocks = || {
            thread::sleep(Duration::from_millis(5));
            7
        };
        same("block_in_place", task::block_in_place(blocks), 7)?;
        same("task behind", behind.await.ok(), Some(5))
    })
}

/// Blocks the thread of a task for 50 ms while other tasks are queued. All must finish.
pub fn block(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let blocks = wakeful::spawn(async { thread::sleep(Duration::from_millis(50)) });
        let mut others: JoinSet<()> = (0..20).map(|n| sleep(Duration::from_millis(n))).collect();
        while let Some(other) = others.join_next().await {
            other.map_err(|error| error.to_string())?;
        }
        blocks.await.map_err(|error| error.to_string())
    })
}

/// Blocks all workers until another task has run.
pub fn hand_off(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let mut blocked = JoinSet::new();
        for _ in 0..2 {
            blocked.spawn(async {
                let (done, waits) = mpsc::channel();
                wakeful::spawn(async move { done.send(()) });
                waits.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout)
            });
        }
        let all_ran = blocked.join_all().await.into_iter().all(|ran| ran);
        if all_ran { Ok(()) } else { Err("no hand-off: tasks waited behind a blocked one".into()) }
    })
}

/// Builds one more runtime of each kind.
pub fn new_runtime(_: &Site<'_>) -> Result<(), String> {
    for flavour in Flavour::ALL {
        let runtime = flavour.build().at("Builder::build")?;
        let task = async { wakeful::spawn(sleep(Duration::from_millis(2))).await.is_ok() };
        same("task of a new runtime", runtime.block_on(task), true)?;
    }
    Ok(())
}
