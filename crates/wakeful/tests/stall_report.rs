//! Which stalls are reported, and what the reports say.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use support::net::{is_child, run_in_child};
use support::{Flag, current_thread, eventually, multi_thread};
use wakeful::runtime::{Builder, Stall, StallOutcome};
use wakeful::task::{LocalSet, block_in_place, yield_now};

/// Returns a channel that receives the runtime's stalls.
fn reports(builder: &mut Builder) -> mpsc::Receiver<Stall> {
    let (reporter, reports) = mpsc::channel();
    builder.enable_all().on_stall(move |stall| reporter.send(stall.clone()).unwrap());
    reports
}

/// Blocks the thread until a stall is reported, and returns it.
fn block_until_reported(reports: &mpsc::Receiver<Stall>) -> Stall {
    reports.recv_timeout(Duration::from_secs(20)).expect("no stall was reported")
}

#[test]
fn the_future_of_a_current_thread_runtime_is_reported() {
    let mut builder = Builder::new_current_thread();
    let reports = reports(&mut builder);
    let runtime = builder.build().unwrap();
    let stall = runtime.block_on(async { block_until_reported(&reports) });
    assert_eq!(stall.task_id(), None);
    assert_eq!(stall.spawned_at(), None);
    assert_eq!(stall.worker(), Some(0));
    assert_eq!(stall.outcome(), StallOutcome::Waits);
    assert_eq!(runtime.metrics().stall_count(), 1);
    assert!(runtime.metrics().longest_stall() >= Duration::from_millis(2));
}

#[test]
fn a_task_of_a_current_thread_runtime_is_reported_once() {
    let mut builder = Builder::new_current_thread();
    let reports = reports(builder.stall_after(Duration::from_millis(5)));
    let runtime = builder.build().unwrap();
    let (task, line) = (async move { (block_until_reported(&reports), reports) }, line!() + 1);
    let task = runtime.spawn(task);
    let id = task.id();
    let (stall, reports) = runtime.block_on(task).unwrap();
    assert_eq!(stall.task_id(), Some(id));
    let spawned_at = stall.spawned_at().unwrap();
    assert_eq!((spawned_at.file(), spawned_at.line()), (file!(), line));
    assert!(stall.duration() >= Duration::from_millis(5));
    assert!(stall.to_string().contains(&spawned_at.to_string()), "{stall}");
    drop(runtime);
    assert!(reports.try_recv().is_err(), "the future that awaits the task must not be reported");
}

#[test]
fn a_task_of_a_local_set_is_reported_once() {
    for worker in [None, Some(0)] {
        let mut builder = match worker {
            None => Builder::new_multi_thread(),
            Some(_) => Builder::new_current_thread(),
        };
        let reports = reports(builder.worker_threads(1));
        let runtime = builder.build().unwrap();
        let local = LocalSet::new();
        let task = local.spawn_local(async move {
            yield_now().await;
            (block_until_reported(&reports), reports)
        });
        let id = task.id();
        let (stall, reports) = local.block_on(&runtime, task).unwrap();
        assert_eq!((stall.task_id(), stall.worker()), (Some(id), worker));
        assert_eq!(stall.spawned_at().unwrap().file(), file!());
        assert_eq!(stall.outcome(), StallOutcome::Waits);
        drop(runtime);
        assert!(reports.try_recv().is_err(), "the future that runs the set must not be reported");
    }
}

/// A runtime without `on_stall` runs on a thread on which a runtime with `on_stall` allows
/// blocking.
#[test]
fn stalls_of_another_runtime_are_not_reported() {
    let mut builder = Builder::new_multi_thread();
    let reports = reports(builder.worker_threads(1));
    let (outer, inner) = (builder.build().unwrap(), current_thread());
    let blocks_and_panics = || {
        inner.block_on(async {
            thread::sleep(Duration::from_millis(100));
            panic!("caught");
        })
    };
    outer.block_on(async {
        block_in_place(|| catch_unwind(AssertUnwindSafe(blocks_and_panics)).unwrap_err());
        assert!(reports.try_recv().is_err());
        // The outer runtime's own stalls are reported again.
        let local = LocalSet::new();
        let task = local.spawn_local(async move { block_until_reported(&reports) });
        let id = task.id();
        assert_eq!(local.run_until(task).await.unwrap().task_id(), Some(id));
    });
}

#[test]
fn a_callback_that_panics_is_called_again() {
    let (reporter, reports) = mpsc::channel();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .on_stall(move |_| {
            reporter.send(()).unwrap();
            panic!("a panic of the callback is printed and ignored");
        })
        .build()
        .unwrap();
    for _ in 0..2 {
        let metrics = runtime.metrics();
        let before = metrics.stall_count();
        let blocks = runtime.spawn(async move {
            eventually("it counts", || metrics.stall_count() > before);
        });
        reports.recv_timeout(Duration::from_secs(20)).unwrap();
        runtime.block_on(blocks).unwrap();
    }
}

/// The callback blocks until a task runs that needs the worker to be handed off.
#[test]
fn a_callback_that_blocks_does_not_stall_tasks() {
    let flag = Flag::default();
    let (waits, reports) = (flag.clone(), Flag::default());
    let reporter = reports.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .on_stall(move |_| {
            reporter.set();
            waits.block();
        })
        .build()
        .unwrap();
    let waits = flag.clone();
    let blocks = runtime.spawn(async move {
        reports.block();
        // The callback blocks by now, and so does this task.
        waits.block();
    });
    let waits = flag.clone();
    let blocks_too = runtime.spawn(async move { waits.block() });
    runtime.block_on(runtime.spawn(async move { flag.set() })).unwrap();
    runtime.block_on(async {
        blocks.await.unwrap();
        blocks_too.await.unwrap();
    });
}

/// The operating system refuses to create a thread. The tasks behind a blocking task wait until it
/// returns, and a report says so.
#[test]
#[cfg(target_os = "linux")]
fn a_failure_to_create_a_thread_is_reported() {
    const NAME: &str = "a_failure_to_create_a_thread_is_reported";
    if !is_child() {
        return run_in_child(NAME);
    }
    let mut builder = Builder::new_multi_thread();
    builder.thread_keep_alive(Duration::from_millis(1)).stall_after(Duration::from_millis(50));
    let reports = reports(builder.worker_threads(1).thread_stack_size(64 << 20));
    let runtime = builder.build().unwrap();
    runtime.block_on(runtime.spawn(async {})).unwrap();
    // Wait for a stall, so that all threads of the runtime have started and none needs memory while
    // it is limited.
    let first = Flag::default();
    let waits = first.clone();
    let blocks = runtime.spawn(async move { waits.block() });
    assert_eq!(block_until_reported(&reports).outcome(), StallOutcome::NothingWaits);
    first.set();
    runtime.block_on(blocks).unwrap();
    // If the worker thread was only preempted, a spare thread has taken over the worker. Wait until
    // such a thread has exited.
    eventually("no spare thread is left", || runtime.metrics().num_blocking_threads() == 0);
    let (flag, done) = (Flag::default(), Flag::default());
    let waits = flag.clone();
    forbid_large_maps(32 << 20);
    let blocks = runtime.spawn(async move { waits.block() });
    let sets = done.clone();
    let behind = runtime.spawn(async move { sets.set() });
    assert_eq!(block_until_reported(&reports).outcome(), StallOutcome::NoThread);
    assert!(!done.is_set(), "no thread should have run the task");
    flag.set();
    runtime.block_on(async {
        blocks.await.unwrap();
        behind.await.unwrap();
    });
    assert_eq!(runtime.metrics().stall_handoff_count(), 0);
}

/// Limits the address space of the process to its current size plus `more` bytes.
#[cfg(target_os = "linux")]
fn forbid_large_maps(more: u64) {
    let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = sizes.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: `sysconf` only returns an integer.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let limit = pages * page_bytes + more;
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: the pointer is to a live `rlimit`, which the call only reads.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// Runs the test `name` in a child process, with `report` in the environment, and returns its
/// stderr.
fn stderr_of_child(name: &str, report: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("WAKEFUL_CHILD", name)
        .env("WAKEFUL_STALL_REPORT", report)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_environment_variable_enables_printed_reports() {
    const NAME: &str = "an_environment_variable_enables_printed_reports";
    if is_child() {
        let is_enabled = std::env::var("WAKEFUL_STALL_REPORT").unwrap() == "1";
        let blocks_for = Duration::from_millis(if is_enabled { 10_000 } else { 200 });
        for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
            let runtime = builder.worker_threads(1).build().unwrap();
            // The task holds the lock of stderr, which the report must not wait for.
            // If stalls are reported, the task blocks until it is counted, because the monitor may
            // have to wait for a CPU.
            let metrics = runtime.metrics();
            let task = runtime.spawn(async move {
                let _stderr = std::io::stderr().lock();
                let begun = Instant::now();
                while metrics.stall_count() == 0 && begun.elapsed() < blocks_for {
                    thread::sleep(Duration::from_millis(50));
                }
            });
            runtime.block_on(task).unwrap();
        }
        return;
    }
    let text = stderr_of_child(NAME, "1");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("wakeful: ")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    for line in &lines {
        assert!(line.contains(&format!("spawned at {}:", file!())), "{line}");
        assert!(line.contains("has blocked worker 0 for"), "{line}");
        #[cfg(target_os = "linux")]
        assert!(line.contains("(thread "), "{line}");
    }
    assert!(lines[0].ends_with("; other tasks are blocked"), "{text}");
    assert!(lines[1].ends_with("no other task is waiting"), "{text}");
    assert!(!stderr_of_child(NAME, "0").contains("wakeful: "));
}

/// Returns the context switches to threads of this process whose names start with `name`.
#[cfg(target_os = "linux")]
fn switches(name: &str) -> u64 {
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
    let statuses = threads.filter(|path| read(path.join("comm")).starts_with(name));
    let sums = statuses.map(|path| {
        let status = read(path.join("status"));
        let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
        let numbers = counts.map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap());
        numbers.sum::<u64>()
    });
    sums.sum()
}

/// Neither the workers nor the monitor wake up while the runtime is idle.
#[test]
#[cfg(target_os = "linux")]
fn an_idle_runtime_does_not_wake_up() {
    const NAME: &str = "an_idle_runtime_does_not_wake_up";
    if !is_child() {
        return run_in_child(NAME);
    }
    let runtime = multi_thread(2);
    for _ in 0..2 {
        // Includes a stall, so that there are spare threads too.
        let blocks = runtime.spawn(async {
            wakeful::spawn(async { wakeful::time::sleep(Duration::from_millis(5)).await });
            let before = switches("wakeful-monitor");
            thread::sleep(Duration::from_millis(20));
            eventually("the monitor wakes up", || switches("wakeful-monitor") > before);
        });
        runtime.block_on(blocks).unwrap();
        eventually("no thread wakes up for a while", || {
            let before = switches("wakeful");
            thread::sleep(Duration::from_millis(300));
            switches("wakeful") == before
        });
    }
}

/// One worker is blocked with no task behind it, while the others keep parking and unparking.
#[test]
#[cfg(target_os = "linux")]
fn the_monitor_does_not_wake_up_with_every_worker() {
    const NAME: &str = "the_monitor_does_not_wake_up_with_every_worker";
    if !is_child() {
        return run_in_child(NAME);
    }
    let (runtime, flag) = (multi_thread(3), Flag::default());
    let waits = flag.clone();
    let blocked = runtime.spawn(async move { waits.block() });
    let metrics = runtime.metrics();
    eventually("the worker is blocked", || metrics.longest_stall() >= Duration::from_millis(50));
    let sleeps = |runtime: &wakeful::runtime::Runtime| {
        let metrics = runtime.metrics();
        (0..3).map(|worker| metrics.worker_park_count(worker)).sum::<u64>()
    };
    let (wake_ups_before, sleeps_before) = (switches("wakeful-monitor"), sleeps(&runtime));
    let begun = Instant::now();
    while sleeps(&runtime) - sleeps_before < 4000 {
        runtime.block_on(runtime.spawn(async {})).unwrap();
        thread::sleep(Duration::from_micros(50));
    }
    let wake_ups = switches("wakeful-monitor") - wake_ups_before;
    // The monitor checks every 2 ms and waits twice per check. Some of the waits may be
    // interrupted.
    let most = 3 * (begun.elapsed().as_millis() as u64 / 2 + 20);
    assert!(wake_ups <= most, "{wake_ups} switches to the monitor in {:?}", begun.elapsed());
    flag.set();
    runtime.block_on(blocked).unwrap();
}
