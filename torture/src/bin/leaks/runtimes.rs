//! Many runtimes, each built, used briefly and dropped, one after the other.

use crate::Size;
use std::io;
use std::time::{Duration, Instant};
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::UnixStream;
use wakeful::process::Command;
use wakeful::runtime::{Builder, Runtime};
use wakeful::signal::unix::{SignalKind, signal};
use wakeful::sync::mpsc;
use wakeful::task::{JoinSet, spawn_blocking};
use wakeful::time::sleep;
use wakeful_torture::process::Footprint;

/// How many runtimes run first, so that memory which the process keeps for all runtimes exists.
const WARM_UP: usize = 20;

/// How much resident memory may grow in the second half of the runtimes. A leak of less than a page
/// per runtime would exceed it (500 times 4 KiB).
const GROWTH_MAX_KIB: u64 = 1_024;

/// How long threads may take to end after their runtime was dropped.
const THREADS_END: Duration = Duration::from_secs(5);

pub fn current_thread(size: Size) -> Result<(), String> {
    measure(size, || Builder::new_current_thread().enable_all().build())
}

pub fn multi_thread(size: Size) -> Result<(), String> {
    measure(size, || Builder::new_multi_thread().worker_threads(2).enable_all().build())
}

fn measure(size: Size, build: impl Fn() -> io::Result<Runtime>) -> Result<(), String> {
    let make = |count: usize| -> io::Result<Footprint> {
        for _ in 0..count {
            let runtime = build()?;
            runtime.block_on(async { wakeful::spawn(use_a_bit()).await? })?;
        }
        Footprint::now()
    };
    let failed = |error: io::Error| error.to_string();
    make(WARM_UP).map_err(failed)?;
    let before = settled(None)?;
    let halfway = make(size.runtimes / 2).map_err(failed)?;
    let after = make(size.runtimes / 2).map_err(failed)?;
    println!("    after {WARM_UP} runtimes: {before}");
    println!("    after {} more: {halfway}", size.runtimes / 2);
    println!("    after {} more: {after}", size.runtimes / 2);
    let begun = Instant::now();
    let settled = settled(Some(before.descriptors))?;
    println!("    {:?} later: {settled}", begun.elapsed());
    let growth_kib = after.resident_kib.saturating_sub(halfway.resident_kib);
    if growth_kib > GROWTH_MAX_KIB {
        return Err(format!(
            "resident memory grew by {growth_kib} KiB in the second half of {} runtimes",
            size.runtimes
        ));
    }
    Ok(())
}

/// Waits until only one thread is left, and as many descriptors as before. The last child process
/// of a dropped runtime may still be running; a thread waits for it.
fn settled(descriptors: Option<u64>) -> Result<Footprint, String> {
    let begun = Instant::now();
    loop {
        let now = Footprint::now().map_err(|error| error.to_string())?;
        if now.threads == 1 && descriptors.is_none_or(|wanted| now.descriptors == wanted) {
            return Ok(now);
        }
        if begun.elapsed() > THREADS_END {
            return Err(format!("threads or descriptors were not released: {now}"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Uses tasks, timers, channels, sockets, blocking calls, signals, files and child processes.
async fn use_a_bit() -> io::Result<()> {
    let (to, mut from) = mpsc::channel(2);
    let mut set = JoinSet::new();
    for n in 0..20_u64 {
        let to = to.clone();
        set.spawn(async move {
            sleep(Duration::from_micros(n * 20)).await;
            to.send(n).await
        });
    }
    drop(to);
    let mut sum = 0;
    while let Some(n) = from.recv().await {
        sum += n;
    }
    let (mut one, mut other) = UnixStream::pair()?;
    one.write_u64(sum).await?;
    let echoed = other.read_u64().await?;
    let blocked = spawn_blocking(move || echoed).await?;
    let listener = signal(SignalKind::user_defined1())?;
    let size = wakeful::fs::read("/proc/self/stat").await?.len();
    drop(listener);
    // Left to the drop of the runtime: a pending task, and a child process that is not awaited.
    wakeful::spawn(std::future::pending::<()>());
    let child = Command::new("true").spawn()?;
    drop(child);
    if blocked == 190 && size > 0 { Ok(()) } else { Err(io::Error::other("wrong results")) }
}
