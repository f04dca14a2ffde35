//! Who is told of polls that hold their thread, and what.

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

/// Has the runtime's stalls sent to a channel.
fn told(builder: &mut Builder) -> mpsc::Receiver<Stall> {
    let (tells, told) = mpsc::channel();
    builder.enable_all().on_stall(move |stall| tells.send(stall.clone()).unwrap());
    told
}

/// Blocks the thread until a stall is told of, and returns it.
fn block_until_told(told: &mpsc::Receiver<Stall>) -> Stall {
    told.recv_timeout(Duration::from_secs(20)).expect("somebody sees that")
}

#[test]
fn the_future_of_a_current_thread_runtime_is_told_of() {
    let mut builder = Builder::new_current_thread();
    let told = told(&mut builder);
    let runtime = builder.build().unwrap();
    let stall = runtime.block_on(async { block_until_told(&told) });
    assert_eq!(stall.task_id(), None);
    assert_eq!(stall.spawned_at(), None);
    assert_eq!(stall.worker(), Some(0));
    assert_eq!(stall.outcome(), StallOutcome::Waits);
    assert_eq!(runtime.metrics().stall_count(), 1);
    assert!(runtime.metrics().longest_stall() >= Duration::from_millis(2));
}

#[test]
fn a_task_of_a_current_thread_runtime_is_told_of_once() {
    let mut builder = Builder::new_current_thread();
    let told = told(builder.stall_after(Duration::from_millis(5)));
    let runtime = builder.build().unwrap();
    let (task, line) = (async move { (block_until_told(&told), told) }, line!() + 1);
    let task = runtime.spawn(task);
    let id = task.id();
    let (stall, told) = runtime.block_on(task).unwrap();
    assert_eq!(stall.task_id(), Some(id));
    let spawned_at = stall.spawned_at().unwrap();
    assert_eq!((spawned_at.file(), spawned_at.line()), (file!(), line));
    assert!(stall.duration() >= Duration::from_millis(5));
    assert!(stall.to_string().contains(&spawned_at.to_string()), "{stall}");
    drop(runtime);
    assert!(told.try_recv().is_err(), "the future that waited for it was not polled meanwhile");
}

#[test]
fn a_task_of_a_local_set_is_told_of_once() {
    for worker in [None, Some(0)] {
        let mut builder = match worker {
            None => Builder::new_multi_thread(),
            Some(_) => Builder::new_current_thread(),
        };
        let told = told(builder.worker_threads(1));
        let runtime = builder.build().unwrap();
        let local = LocalSet::new();
        let task = local.spawn_local(async move {
            yield_now().await;
            (block_until_told(&told), told)
        });
        let id = task.id();
        let (stall, told) = local.block_on(&runtime, task).unwrap();
        assert_eq!((stall.task_id(), stall.worker()), (Some(id), worker));
        assert_eq!(stall.spawned_at().unwrap().file(), file!());
        assert_eq!(stall.outcome(), StallOutcome::Waits);
        drop(runtime);
        assert!(told.try_recv().is_err(), "nor is what the set runs in told of");
    }
}

/// A runtime that tells nobody runs where another one, which does, has allowed its thread to block.
#[test]
fn what_another_runtime_runs_is_not_told_of() {
    let mut builder = Builder::new_multi_thread();
    let told = told(builder.worker_threads(1));
    let (outer, inner) = (builder.build().unwrap(), current_thread());
    let blocks_and_panics = || {
        inner.block_on(async {
            thread::sleep(Duration::from_millis(100));
            panic!("caught");
        })
    };
    outer.block_on(async {
        block_in_place(|| catch_unwind(AssertUnwindSafe(blocks_and_panics)).unwrap_err());
        assert!(told.try_recv().is_err());
        // What is its own it tells of again.
        let local = LocalSet::new();
        let task = local.spawn_local(async move { block_until_told(&told) });
        let id = task.id();
        assert_eq!(local.run_until(task).await.unwrap().task_id(), Some(id));
    });
}

#[test]
fn a_callback_that_panics_is_called_again() {
    let (tells, told) = mpsc::channel();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .on_stall(move |_| {
            tells.send(()).unwrap();
            panic!("reported, and no more than that");
        })
        .build()
        .unwrap();
    for _ in 0..2 {
        let metrics = runtime.metrics();
        let before = metrics.stall_count();
        let blocks = runtime.spawn(async move {
            eventually("it counts", || metrics.stall_count() > before);
        });
        told.recv_timeout(Duration::from_secs(20)).unwrap();
        runtime.block_on(blocks).unwrap();
    }
}

/// Who is told waits for a task that only another thread on the seat can run.
#[test]
fn a_callback_that_blocks_holds_nobody_up() {
    let flag = Flag::default();
    let (waits, told) = (flag.clone(), Flag::default());
    let tells = told.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .on_stall(move |_| {
            tells.set();
            waits.block();
        })
        .build()
        .unwrap();
    let waits = flag.clone();
    let blocks = runtime.spawn(async move {
        told.block();
        // From here on who is told blocks, and so do we.
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

/// The operating system has no further thread: what waits behind a task that blocks waits until it
/// is done, and a report says so.
#[test]
#[cfg(target_os = "linux")]
fn a_thread_that_cannot_be_had_is_told_of() {
    const NAME: &str = "a_thread_that_cannot_be_had_is_told_of";
    if !is_child() {
        return run_in_child(NAME);
    }
    let mut builder = Builder::new_multi_thread();
    builder.thread_keep_alive(Duration::from_millis(1)).stall_after(Duration::from_millis(50));
    let told = told(builder.worker_threads(1).thread_stack_size(64 << 20));
    let runtime = builder.build().unwrap();
    runtime.block_on(runtime.spawn(async {})).unwrap();
    // When a stall has been told of, all threads of the runtime have begun: none takes memory while
    // it is limited.
    let first = Flag::default();
    let waits = first.clone();
    let blocks = runtime.spawn(async move { waits.block() });
    assert_eq!(block_until_told(&told).outcome(), StallOutcome::NothingWaits);
    first.set();
    runtime.block_on(blocks).unwrap();
    // Had the worker been kept from its CPU, somebody would have come.
    eventually("no spare thread is left", || runtime.metrics().num_blocking_threads() == 0);
    let (flag, done) = (Flag::default(), Flag::default());
    let waits = flag.clone();
    forbid_large_maps(32 << 20);
    let blocks = runtime.spawn(async move { waits.block() });
    let sets = done.clone();
    let behind = runtime.spawn(async move { sets.set() });
    assert_eq!(block_until_told(&told).outcome(), StallOutcome::NoThread);
    assert!(!done.is_set(), "there is nobody to run it");
    flag.set();
    runtime.block_on(async {
        blocks.await.unwrap();
        behind.await.unwrap();
    });
    assert_eq!(runtime.metrics().stall_handoff_count(), 0);
}

/// Lets the process have no more than `more` bytes on top of its address space.
#[cfg(target_os = "linux")]
fn forbid_large_maps(more: u64) {
    let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = sizes.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: asks for a number.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let limit = pages * page_bytes + more;
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: it lives through the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// What a process prints to stderr that runs the test `name` with the report switched on, or not.
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
fn the_environment_alone_has_stalls_printed() {
    const NAME: &str = "the_environment_alone_has_stalls_printed";
    if is_child() {
        for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
            let runtime = builder.worker_threads(1).build().unwrap();
            // As one in the middle of a line: the report must not wait for that.
            let task = runtime.spawn(async {
                let _stderr = std::io::stderr().lock();
                thread::sleep(Duration::from_millis(200));
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
        assert!(line.contains("has held worker 0 for"), "{line}");
        #[cfg(target_os = "linux")]
        assert!(line.contains("(thread "), "{line}");
    }
    assert!(lines[0].ends_with("the rest waits"), "{text}");
    assert!(lines[1].ends_with("nothing waits behind it"), "{text}");
    assert!(!stderr_of_child(NAME, "0").contains("wakeful: "));
}

/// How often the threads of this process whose name begins with `name` were switched to.
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

/// Neither the workers nor the monitor are switched to while there is nothing to do.
#[test]
#[cfg(target_os = "linux")]
fn an_idle_runtime_does_not_wake_up() {
    const NAME: &str = "an_idle_runtime_does_not_wake_up";
    if !is_child() {
        return run_in_child(NAME);
    }
    let runtime = multi_thread(2);
    for _ in 0..2 {
        // A stall among it, so that there are spare threads as well.
        let blocks = runtime.spawn(async {
            wakeful::spawn(async { wakeful::time::sleep(Duration::from_millis(5)).await });
            thread::sleep(Duration::from_millis(20));
            let before = switches("wakeful-monitor");
            eventually("the monitor looks", || switches("wakeful-monitor") > before);
        });
        runtime.block_on(blocks).unwrap();
        eventually("nobody wakes up for a while", || {
            let before = switches("wakeful");
            thread::sleep(Duration::from_millis(300));
            switches("wakeful") == before
        });
    }
}

/// A poll that stands behind which nothing waits, beside workers that sleep and wake up all the
/// time.
#[test]
#[cfg(target_os = "linux")]
fn the_monitor_does_not_look_at_every_wake_up() {
    const NAME: &str = "the_monitor_does_not_look_at_every_wake_up";
    if !is_child() {
        return run_in_child(NAME);
    }
    let (runtime, flag) = (multi_thread(3), Flag::default());
    let waits = flag.clone();
    let stands = runtime.spawn(async move { waits.block() });
    let metrics = runtime.metrics();
    eventually("it stands", || metrics.longest_stall() >= Duration::from_millis(50));
    let sleeps = |runtime: &wakeful::runtime::Runtime| {
        let metrics = runtime.metrics();
        (0..3).map(|worker| metrics.worker_park_count(worker)).sum::<u64>()
    };
    let (looks_before, sleeps_before) = (switches("wakeful-monitor"), sleeps(&runtime));
    let begun = Instant::now();
    while sleeps(&runtime) - sleeps_before < 4000 {
        runtime.block_on(runtime.spawn(async {})).unwrap();
        thread::sleep(Duration::from_micros(50));
    }
    let looks = switches("wakeful-monitor") - looks_before;
    // Two waits for each look, every 2 ms; it may be interrupted now and then. (It was more than
    // four.)
    let most = 3 * (begun.elapsed().as_millis() as u64 / 2 + 20);
    assert!(looks <= most, "{looks} looks in {:?}", begun.elapsed());
    flag.set();
    runtime.block_on(stands).unwrap();
}
