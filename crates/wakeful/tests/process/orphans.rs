//! Children whose `Child` is dropped: none stays a zombie.

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

/// A child that runs until the stream that is returned is closed, and holds it open so long.
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

/// Whether a child on the other side holds its end.
fn is_held(stream: &mut UnixStream) -> bool {
    stream.write_all(b"x").is_ok()
}

#[test]
fn a_dropped_child_goes_on_and_is_waited_for() {
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
                // Nothing comes from it but the end.
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
fn one_that_is_dropped_by_a_task_without_budget_is_waited_for() {
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
fn one_that_was_killed_by_hand_is_not_killed_again_but_waited_for() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (mut child, _stream) = child_until(true);
            let pid = child.id().unwrap();
            child.start_kill().unwrap();
            eventually("it ends", || is_zombie(pid));
            drop(child);
            assert!(!is_known(pid), "one that has ended is waited for on the spot");
        });
    }
}

#[test]
fn a_runtime_that_ends_leaves_its_orphans_to_somebody() {
    for runtime in runtimes() {
        // Dropped before the runtime, with it by a task, and after it.
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
fn a_runtime_that_ends_kills_those_that_want_it() {
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
fn the_reaper_goes_when_its_last_orphan_does_and_comes_again() {
    if !is_child() {
        return run_in_child("orphans::the_reaper_goes_when_its_last_orphan_does_and_comes_again");
    }
    let reapers = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
        // Threads may end while we look.
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
        // What a runtime opens but once is open by then.
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
        // The reaper, where there is one, has some of its own until it goes.
        eventually("descriptors are closed", || open_descriptors() == before);
    }
}
