//! The exit of a child, and waiting for it.

use crate::runtimes;
use crate::support::signals::{is_known, is_zombie};
use crate::support::{current_thread, eventually};
use std::future::{Future, poll_fn};
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::Stdio;
use std::task::Poll;
use wakeful::io::AsyncReadExt;
use wakeful::process::{Child, Command};
use wakeful::runtime::is_rt_shutdown_err;

/// Starts a child that runs until its input ends.
fn cat() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn the_status_is_returned_by_every_wait() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = shell("exit 7").spawn().unwrap();
            assert!(child.id().unwrap() > 0);
            for _ in 0..3 {
                assert_eq!(child.wait().await.unwrap().code(), Some(7));
                assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
                assert_eq!(child.id(), None);
            }
        });
    }
}

#[test]
fn wait_closes_the_input_but_try_wait_does_not() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = cat();
            assert!(child.try_wait().unwrap().is_none());
            assert!(child.stdin.is_some());
            assert!(child.wait().await.unwrap().success());
            assert!(child.stdin.is_none());
        });
    }
}

#[test]
fn a_child_that_exited_earlier_can_be_waited_for() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = shell("exit 3").spawn().unwrap();
            let pid = child.id().unwrap();
            eventually("it ends", || is_zombie(pid));
            assert_eq!(child.wait().await.unwrap().code(), Some(3));
            assert!(!is_known(pid));

            let mut child = shell("exit 4").spawn().unwrap();
            eventually("it ends", || is_zombie(child.id().unwrap()));
            assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(4));
        });
    }
}

#[test]
fn a_cancelled_wait_can_be_repeated() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = cat();
            let stdin = child.stdin.take();
            for _ in 0..10 {
                let mut given_up = pin!(child.wait());
                let polled = poll_fn(|cx| Poll::Ready(given_up.as_mut().poll(cx))).await;
                assert!(polled.is_pending());
            }
            // The last wait is in another task.
            let waiter = wakeful::spawn(async move { child.wait().await });
            wakeful::task::yield_now().await;
            drop(stdin);
            assert!(waiter.await.unwrap().unwrap().success());
        });
    }
}

#[test]
fn a_killed_child_reports_the_signal() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = cat();
            let _stdin = child.stdin.take();
            child.start_kill().unwrap();
            assert_eq!(child.wait().await.unwrap().signal(), Some(libc::SIGKILL));

            let mut child = cat();
            let _stdin = child.stdin.take();
            child.kill().await.unwrap();
            assert_eq!(child.try_wait().unwrap().unwrap().signal(), Some(libc::SIGKILL));
            // Killing again is no error, and does not signal another process with the same id.
            child.start_kill().unwrap();
            child.kill().await.unwrap();
        });
    }
}

#[test]
fn waiting_for_a_child_that_was_reaped_elsewhere_is_an_error() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = shell("exit 0").spawn().unwrap();
            let pid = child.id().unwrap() as libc::pid_t;
            // SAFETY: the status pointer is null, so the call writes no memory of this process.
            assert_eq!(unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) }, pid);
            let error = child.wait().await.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ECHILD));
        });
    }
}

#[test]
fn many_children_at_once_leave_no_zombies() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let children: Vec<_> = (0..200)
                .map(|number: u32| {
                    let mut command = shell("exit $0");
                    (number, command.arg((number % 100).to_string()).spawn().unwrap())
                })
                .collect();
            let pids: Vec<_> = children.iter().map(|(_, child)| child.id().unwrap()).collect();
            let waiters: Vec<_> = children
                .into_iter()
                .map(|(number, mut child)| {
                    wakeful::spawn(async move { (number, child.wait().await.unwrap().code()) })
                })
                .collect();
            for waiter in waiters {
                let (number, code) = waiter.await.unwrap();
                assert_eq!(code, Some((number % 100) as i32));
            }
            assert!(!pids.into_iter().any(is_zombie));
        });
    }
}

#[test]
fn a_runtime_waits_for_a_child_of_another() {
    for runtime in runtimes() {
        let mut child = runtime.block_on(async { cat() });
        // While the runtime that started the child exists, but does not run.
        let other = current_thread();
        let stdin = child.stdin.take();
        other.block_on(async {
            let mut waiting = pin!(child.wait());
            assert!(poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await.is_pending());
        });
        drop(stdin);
        runtime.block_on(child.wait()).unwrap();

        // After the runtime that started the child was dropped.
        let mut child = runtime.block_on(async { cat() });
        drop(runtime);
        assert!(other.block_on(child.wait()).unwrap().success());
    }
}

#[test]
fn a_wait_continues_in_its_own_runtime_when_the_childs_shuts_down() {
    for runtime in runtimes() {
        let mut child = runtime.block_on(async { cat() });
        let stdin = child.stdin.take();
        current_thread().block_on(async {
            let mut waiting = pin!(child.wait());
            assert!(poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await.is_pending());
            wakeful::task::spawn_blocking(|| drop(runtime)).await.unwrap();
            assert!(poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await.is_pending());
            drop(stdin);
            assert!(waiting.await.unwrap().success());
        });
    }
}

#[test]
fn after_a_shutdown_no_child_is_started() {
    for runtime in runtimes() {
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        let mut command = Command::new("true");
        let started = command.spawn_with(|_| panic!("a process must not be started"));
        assert!(is_rt_shutdown_err(&started.unwrap_err()));
    }
}

#[test]
fn long_output_is_complete() {
    let script = "head -c 1000000 /dev/zero; head -c 300000 /dev/zero >&2; exit 5";
    for runtime in runtimes() {
        runtime.block_on(async {
            let output = shell(script).output().await.unwrap();
            assert_eq!(output.stdout, vec![0; 1_000_000]);
            assert_eq!(output.stderr, vec![0; 300_000]);
            assert_eq!(output.status.code(), Some(5));

            // The output of a stream that was taken out is not collected.
            let mut command = shell("echo out; echo err >&2");
            let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            let output = child.wait_with_output().await.unwrap();
            assert_eq!((&output.stdout[..], &output.stderr[..]), (&b""[..], &b"err\n"[..]));
            let mut text = String::new();
            stdout.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "out\n");
        });
    }
}

#[test]
fn status_does_not_wait_for_unused_pipes() {
    for runtime in runtimes() {
        runtime.block_on(async {
            // The child waits for its input, then writes more than fits into a pipe. `SIGPIPE`
            // kills it.
            let mut command = shell("cat; head -c 1000000 /dev/zero");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            command.status().await.unwrap();
        });
    }
}
