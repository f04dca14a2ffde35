//! A mixed load: sockets, channels, locks, blocking calls, files and timers, on a current-thread
//! and a multi-thread runtime, a `LocalSet` and a `LocalRuntime` at the same time. Many operations
//! are dropped, aborted or reset in the middle. In the end, pairs of counters must agree
//! (`sums.rs`), and the process must be as small as after the first seconds.
//!
//! ```text
//! cargo run --release -p wakeful-torture --example soak -- --for 2m
//! ```

mod channels;
mod locks;
mod scene;
mod sums;
mod tcp;
mod work;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};
use wakeful_torture::args::Args;
use wakeful_torture::process::Footprint;
use wakeful_torture::rng::Rng;
use wakeful_torture::watchdog::Watchdog;

use scene::{Flavour, Scene, join_all};
use sums::{SUMS, finding, has_found, noted};

const USAGE: &str = "\
usage: soak [OPTIONS]

  --for TIME     run for TIME, such as 30s or 2m (default: 30s)
  --workers N    use N workers on the multi-thread runtime (default: 4)
  --seed N       draw lengths, pauses and endings from N (default: 1)";

const FLAVOURS: &[Flavour] =
    &[Flavour::CurrentThread, Flavour::MultiThread, Flavour::LocalSet, Flavour::LocalRuntime];

/// How long runtimes are used before new ones replace them.
const GENERATION: Duration = Duration::from_secs(10);

/// The length of the first generation, after which the process is measured.
const FIRST: Duration = Duration::from_secs(2);

const REPORT_EVERY: Duration = Duration::from_secs(5);

/// How long unfinished work may take at the end of a generation.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much resident memory may grow after the first generation: memory that the allocators keep
/// from the largest load.
const GROWTH_MAX_KIB: u64 = 48 * 1024;

fn main() -> io::Result<ExitCode> {
    let args = Args::from_env(USAGE, &["for", "workers", "seed"], &[]);
    let time = args.duration("for").unwrap_or(Duration::from_secs(30));
    let workers = args.number("workers").unwrap_or(4) as usize;
    let mut seeds = Rng::new(args.number("seed").unwrap_or(1));
    let _watchdog = Watchdog::start(time + PATIENCE, "the soak, all flavours");
    let folder = env::temp_dir().join(format!("wakeful-soak-{}", process::id()));
    fs::create_dir(&folder)?;

    println!("at the start: {}", Footprint::now()?);
    let start = Instant::now();
    generation(FIRST.min(time), workers, &mut seeds, &folder)?;
    let first = Footprint::now()?;
    println!("after the first {:.1} s: {first}", start.elapsed().as_secs_f64());
    while start.elapsed() < time && !has_found() {
        let rest = time.saturating_sub(start.elapsed());
        generation(GENERATION.min(rest), workers, &mut seeds, &folder)?;
    }
    let last = Footprint::now()?;
    println!("after {:.1} s: {last}", start.elapsed().as_secs_f64());
    print!("{SUMS}");
    println!("  {}", noted());

    SUMS.check();
    compare(&first, &last);
    if fs::read_dir(&folder)?.next().is_some() {
        finding(format!("files were not removed from {}", folder.display()));
    } else {
        fs::remove_dir(&folder)?;
    }
    Ok(if has_found() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs all flavours at once, each on its own thread and runtime, which is dropped in the end.
fn generation(time: Duration, workers: usize, seeds: &mut Rng, folder: &Path) -> io::Result<()> {
    let threads: Vec<_> = FLAVOURS
        .iter()
        .map(|flavour| {
            let scene = Scene::new(*flavour, time, seeds.next_u64());
            let folder = folder.to_owned();
            thread::spawn(move || scene.run(workers, load(scene.clone(), folder)))
        })
        .collect();
    let mut left = time;
    while left > Duration::ZERO {
        let pause = left.min(REPORT_EVERY);
        thread::sleep(pause);
        left -= pause;
        println!("{}", SUMS.line());
    }
    for thread in threads {
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread of a flavour panicked")))?;
    }
    Ok(())
}

async fn load(mut scene: Scene, folder: PathBuf) {
    let parts = [
        scene.part(tcp::run),
        scene.part(channels::mpsc),
        scene.part(channels::unbounded),
        scene.part(channels::oneshots),
        scene.part(channels::broadcasts),
        scene.part(channels::watches),
        scene.part(locks::notify),
        scene.part(locks::semaphore),
        scene.part(locks::mutex),
        scene.part(locks::rwlock),
        scene.part(locks::barrier),
        scene.part(work::blocking),
        scene.part(move |scene| work::files(scene, folder)),
        scene.part(work::timers),
        scene.part(work::sets),
    ];
    join_all(parts).await;
}

/// Checks that the process is no larger than after the first generation.
fn compare(first: &Footprint, last: &Footprint) {
    if last.threads > first.threads {
        finding(format!("{} threads at first, {} in the end", first.threads, last.threads));
    }
    if last.descriptors > first.descriptors {
        finding(format!(
            "{} descriptors at first, {} in the end",
            first.descriptors, last.descriptors
        ));
    }
    let growth = last.resident_kib.saturating_sub(first.resident_kib);
    if growth > GROWTH_MAX_KIB {
        finding(format!("resident memory grew by {growth} KiB"));
    }
}
