//! Children whose `Child` was dropped. None of them stays a zombie.

use crate::runtimes;
use crate::support::eventually;
use crate::support::net::{is_child, open_descriptors, run_in_child};
use crate::support::signals::{is_known, is_zombie};
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::process::Stdio;
use std::task::Poll;
use wakeful::process::{Child, Command};
use wakeful::task::coop::{consume_budget, has_budget_remaining};

/// Starts a child that runs until the returned stream is closed. The child holds the other end
/// open.
fn child_until(kill_on_drop: bool) -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let child = Command::new("cat")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .kill_on_drop(kill_on_drop)
        .spawn()
        .unwrap();
    (child, ours)
}

/// Returns whether a child holds the other end of `stream`.
fn is_held(stream: &mut UnixStream) -> bool {
    stream.write_all(b"x").is_ok()
}

#[test]
fn a_dropped_child_keeps_running_and_is_waited_for() {
    for runtime in runtimes() {
        let (pid, mut stream) = runtime.block_on(async {
            let (child, stream) = child_until(false);
            (child.id().unwrap(), stream)
        });
        assert!(is_held(&mut stream));
        drop(stream);
        runtime.block_on(async {
            wakeful::task::spawn_blocking(move || {
                eventually("the runtime waits for it", || !is_known(pid));
            })
            .await
            .unwrap();
        });
    }
}

#[test]
fn kill_on_drop_kills_and_waits() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (child, mut stream) = child_until(true);
            let pid = child.id().unwrap();
            drop(child);
            wakeful::task::spawn_blocking(move || {
                // The child wrote nothing: the read returns the end or an error.
                assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
                eventually("the runtime waits for it", || !is_known(pid));
            })
            .await
            .unwrap();
        });
    }
}

#[test]
fn a_future_that_is_dropped_drops_its_child() {
    for runtime in runtimes() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let task = runtime.spawn(async move {
            let (child, stream) = child_until(true);
            sender.send((child.id().unwrap(), stream)).unwrap();
            child.wait_with_output().await
        });
        let (pid, mut stream) = runtime.block_on(async move {
            wakeful::task::spawn_blocking(move || receiver.recv().unwrap()).await.unwrap()
        });
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
        runtime.block_on(async move {
            let gone = move || eventually("the runtime waits for it", || !is_known(pid));
            wakeful::task::spawn_blocking(gone).await.unwrap();
        });
    }
}

#[test]
fn a_child_dropped_by_a_task_without_budget_is_waited_for() {
    for runtime in runtimes() {
        let dropped = runtime.spawn(async {
            let (child, _stream) = child_until(false);
            let pid = child.id().unwrap();
            poll_fn(|cx| {
                while pin!(consume_budget()).poll(cx).is_ready() {}
                Poll::Ready(())
            })
            .await;
            assert!(!has_budget_remaining());
            drop(child);
            pid
        });
        runtime.block_on(async move {
            let pid = dropped.await.unwrap();
            let gone = move || eventually("the runtime waits for it", || !is_known(pid));
            wakeful::task::spawn_blocking(gone).await.unwrap();
        });
    }
}

#[test]
fn a_killed_child_is_not_killed_again_on_drop_but_waited_for() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (mut child, _stream) = child_until(true);
            let pid = child.id().unwrap();
            child.start_kill().unwrap();
            eventually("it ends", || is_zombie(pid));
            drop(child);
            assert!(!is_known(pid), "the drop must wait for a child that has exited");
        });
    }
}

#[test]
fn the_orphans_of_a_dropped_runtime_are_waited_for() {
    for runtime in runtimes() {
        // The first is dropped before the runtime, the second with it by a task, the third after
        // it.
        let (before, mut first) = runtime.block_on(async { child_until(false) });
        let (within, mut second) = runtime.block_on(async { child_until(false) });
        let (after, mut third) = runtime.block_on(async { child_until(false) });
        let pids = [&before, &within, &after].map(|child| child.id().unwrap());
        drop(before);
        runtime.spawn(async move { within.wait_with_output().await });
        drop(runtime);
        drop(after);
        assert!([&mut first, &mut second, &mut third].into_iter().all(is_held));
        drop((first, second, third));
        for pid in pids {
            eventually("the reaper waits for it", || !is_known(pid));
        }
    }
}

#[test]
fn a_dropped_runtime_kills_children_with_kill_on_drop() {
    for runtime in runtimes() {
        let (child, mut stream) = runtime.block_on(async { child_until(true) });
        let pid = child.id().unwrap();
        runtime.spawn(async move { child.wait_with_output().await });
        drop(runtime);
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
        eventually("the reaper waits for it", || !is_known(pid));
    }
}

#[test]
fn the_reaper_exits_with_its_last_orphan_and_starts_again() {
    if !is_child() {
        return run_in_child("orphans::the_reaper_exits_with_its_last_orphan_and_starts_again");
    }
    let reapers = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
        // Threads may exit during the listing.
        names.flatten().filter(|name| name.trim() == "wakeful-reaper").count()
    };
    for runtime in runtimes() {
        let (children, streams): (Vec<_>, Vec<_>) =
            runtime.block_on(async { (0..20).map(|_| child_until(false)).unzip() });
        let pids: Vec<_> = children.iter().map(|child| child.id().unwrap()).collect();
        drop(runtime);
        drop(children);
        eventually("one comes for all of them", || reapers() == 1);
        drop(streams);
        for pid in pids {
            eventually("the reaper waits for it", || !is_known(pid));
        }
        eventually("the reaper goes", || reapers() == 0);
    }
}

#[test]
fn many_orphans_at_once_leave_neither_zombies_nor_descriptors() {
    if !is_child() {
        return run_in_child("orphans::many_orphans_at_once_leave_neither_zombies_nor_descriptors");
    }
    for runtime in runtimes() {
        // Makes the process open the descriptors that it opens only once.
        runtime.block_on(async { Command::new("true").status().await.unwrap() });
        let before = open_descriptors();
        let pids: Vec<_> = runtime.block_on(async {
            let start = |number| {
                let mut command = Command::new("true");
                command.kill_on_drop(number % 2 == 0).spawn().unwrap().id().unwrap()
            };
            (0..200).map(start).collect()
        });
        runtime.block_on(async {
            let look = move || {
                eventually("all are waited for", || !pids.iter().any(|&pid| is_known(pid)));
            };
            wakeful::task::spawn_blocking(look).await.unwrap();
        });
        // The reaper thread, if it runs, holds descriptors until it exits.
        eventually("descriptors are closed", || open_descriptors() == before);
    }
}
