//! Bursts of tasks, timers, channels and messages: resident memory before, at the peak and
//! afterwards.

use crate::Size;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful::runtime::{Builder, Runtime};
use wakeful::sync::{Semaphore, broadcast, mpsc, oneshot};
use wakeful::task::{JoinSet, yield_now};
use wakeful::time::{sleep, timeout};
use wakeful_torture::process::Footprint;

/// How much memory of the allocator may be in use after the runtime is dropped: the lists that the
/// remaining thread keeps for each task size, and the depots (128 KiB for each size, see
/// `slab_alloc.rs` in `wakeful-base`).
const IN_USE_MAX_KIB: u64 = 1_024;

/// The share of the resident peak that may stay after `malloc_trim`, which returns only whole
/// pages, and not the first page of each free piece.
const STAYS_MAX: f64 = 0.05;

/// How much may stay resident in addition to that share, regardless of the size of the burst: slabs
/// that are kept, and pages of the program and of the allocator's tables that the burst touched
/// first.
const STAYS_FIXED_KIB: u64 = 1_024;

/// The payload of a message.
type Message = [u64; 4];

const MESSAGE: Message = [7; 4];

pub fn tasks(size: Size) -> Result<(), String> {
    measure(size, &multi_thread(), tasks_at_once)
}

pub fn tasks_of_one_thread(size: Size) -> Result<(), String> {
    measure(size, &|| Builder::new_current_thread().enable_all().build(), tasks_at_once)
}

pub fn timers(size: Size) -> Result<(), String> {
    measure(size, &multi_thread(), |count, recorder| async move {
        let begun = Instant::now();
        // Long enough for all timers to exist before the first is due.
        let due = Duration::from_secs(1 + count as u64 / 500_000);
        let mut sleeps: JoinSet<()> = (0..count).map(|_| sleep(due)).collect();
        while begun.elapsed() < due / 2 {
            yield_now().await;
        }
        recorder.record();
        while sleeps.join_next().await.is_some() {}
    })
}

pub fn oneshot(size: Size) -> Result<(), String> {
    measure(size, &multi_thread(), |count, recorder| async move {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..count).map(|_| oneshot::channel::<Message>()).unzip();
        let sends = wakeful::spawn(async move {
            for sender in senders {
                // Succeeds: the receivers live until they have received.
                let _ = sender.send(MESSAGE);
            }
        });
        recorder.record();
        for receiver in receivers {
            assert_eq!(receiver.await.ok(), Some(MESSAGE));
        }
        sends.await.expect("the senders do not panic");
    })
}

pub fn mpsc_unbounded(size: Size) -> Result<(), String> {
    measure(size, &multi_thread(), |count, recorder| async move {
        let (to, mut from) = mpsc::unbounded_channel();
        for _ in 0..count {
            assert!(to.send(MESSAGE).is_ok());
        }
        recorder.record();
        drop(to);
        let mut received = 0;
        while from.recv().await.is_some() {
            received += 1;
        }
        assert_eq!(received, count);
    })
}

pub fn mpsc_bounded(size: Size) -> Result<(), String> {
    measure(size, &multi_thread(), |count, recorder| async move {
        let (to, mut from) = mpsc::channel(count / 2);
        let sends = wakeful::spawn(async move {
            for _ in 0..count {
                assert!(to.send(MESSAGE).await.is_ok());
            }
        });
        // Waits until the channel is full.
        while from.len() < count / 2 {
            yield_now().await;
        }
        recorder.record();
        let mut received = 0;
        while from.recv().await.is_some() {
            received += 1;
        }
        assert_eq!(received, count);
        sends.await.expect("the sender does not panic");
    })
}

pub fn broadcast(size: Size) -> Result<(), String> {
    measure(size, &multi_thread(), |count, recorder| async move {
        let (to, from) = broadcast::channel(count);
        let receivers: Vec<_> = (0..2).map(|_| from.resubscribe()).collect();
        drop(from);
        for _ in 0..count {
            assert!(to.send(MESSAGE).is_ok());
        }
        recorder.record();
        drop(to);
        for mut receiver in receivers {
            let mut received = 0;
            while receiver.recv().await.is_ok() {
                received += 1;
            }
            assert_eq!(received, count);
        }
    })
}

/// The allocator without the runtime, for comparison: boxes of a task's size, allocated in one task
/// and freed in another.
pub fn boxes(size: Size) -> Result<(), String> {
    measure(size, &multi_thread(), |count, recorder| async move {
        let boxes: Vec<Box<[u8; 192]>> = (0..count).map(|_| Box::new([1; 192])).collect();
        let boxes = black_box(boxes);
        recorder.record();
        wakeful::spawn(async move { drop(boxes) }).await.expect("dropping boxes does not panic");
    })
}

async fn tasks_at_once(count: usize, recorder: PeakRecorder) {
    let gate = Arc::new(Semaphore::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let gate = gate.clone();
        tasks.spawn(async move { gate.acquire().await.is_ok() });
    }
    // Gives other tasks a turn: all but a few wait at the gate afterwards.
    yield_now().await;
    recorder.record();
    gate.add_permits(count);
    let mut done = 0;
    while let Some(passed) = tasks.join_next().await {
        done += usize::from(passed.is_ok_and(|passed| passed));
    }
    assert_eq!(done, count);
}

fn multi_thread() -> impl Fn() -> io::Result<Runtime> {
    || Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// Records the resident memory at the peak.
struct PeakRecorder(Arc<std::sync::OnceLock<u64>>);

impl PeakRecorder {
    fn record(&self) {
        // Only the first call counts.
        let _ = self.0.set(resident_kib());
    }
}

fn measure<F>(
    size: Size,
    build: &impl Fn() -> io::Result<Runtime>,
    burst: impl FnOnce(usize, PeakRecorder) -> F,
) -> Result<(), String>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = build().map_err(|error| error.to_string())?;
    // Starts all threads, with the memory that they keep.
    runtime.block_on(async { wakeful::spawn(sleep(Duration::from_millis(20))).await.ok() });
    let (before, in_use_before) = (resident_kib(), in_use_kib());
    let peak = Arc::default();
    let future = burst(size.burst, PeakRecorder(Arc::clone(&peak)));
    let limit = Duration::from_secs(120);
    let is_done = runtime.block_on(async { timeout(limit, wakeful::spawn(future)).await });
    is_done.map_err(|_| "not finished after two minutes")?.map_err(|error| error.to_string())?;
    let begun = Instant::now();
    let peak = *peak.get().unwrap_or(&0);
    let mut resident = format!("resident: {:.1} MiB before", mib(before));
    resident += &format!(", {:.1} with {}", mib(peak), size.burst);
    resident += &format!(", {:.1} right after", mib(resident_kib()));
    for after_s in [1, 10] {
        if after_s <= size.patience_s {
            thread::sleep(Duration::from_secs(after_s).saturating_sub(begun.elapsed()));
            resident += &format!(", {:.1} after {after_s} s", mib(resident_kib()));
        }
    }
    trim();
    resident += &format!(", {:.1} trimmed", mib(resident_kib()));
    let in_use_idle = in_use_kib();
    drop(runtime);
    trim();
    let (stays, in_use) = (resident_kib(), in_use_kib());
    println!("    {resident}; {:.1} without the runtime", mib(stays));
    let [used_before, used_idle, used] = [in_use_before, in_use_idle, in_use].map(mib);
    println!(
        "    in use: {used_before:.1} before, {used_idle:.1} after, {used:.1} without the runtime"
    );
    if in_use > in_use_before + IN_USE_MAX_KIB {
        return Err(format!("{} KiB of memory were not freed", in_use - in_use_before));
    }
    let may_stay = STAYS_FIXED_KIB + (peak as f64 * STAYS_MAX) as u64;
    if stays > before + may_stay {
        return Err(format!("{} KiB of memory stay resident", stays - before));
    }
    Ok(())
}

fn resident_kib() -> u64 {
    Footprint::now().expect("cannot read /proc").resident_kib
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// Memory in use, as counted by the C library's allocator.
fn in_use_kib() -> u64 {
    // SAFETY: takes nothing and returns numbers.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as u64 / 1024
}

/// Makes the C library return free memory to the system.
fn trim() {
    // SAFETY: takes and returns numbers.
    unsafe { libc::malloc_trim(0) };
}
