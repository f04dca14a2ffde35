//! A child that another process traces. After its exit only the tracer can wait for it at first.

use crate::runtimes;
use crate::support::net::is_child;
use crate::support::signals::is_zombie;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::process::Stdio;
use std::task::Poll;
use std::time::Duration;
use wakeful::io::{AsyncBufReadExt, BufReader};
use wakeful::process::Command;
use wakeful::time::sleep;

/// Acts as a debugger, in its own process: seizes the process `WAKEFUL_TRACED`, reports the result
/// on standard output, and detaches when its input ends.
#[test]
fn a_tracer() {
    let Ok(pid) = std::env::var("WAKEFUL_TRACED") else { return };
    assert!(is_child());
    let pid: libc::pid_t = pid.parse().unwrap();
    // SAFETY: `PTRACE_SEIZE` takes integers only and does not change the memory of either process.
    let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
    println!("\n{}", if seized == 0 { "seized" } else { "refused" });
    let _end_of_input = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_traced_child_is_waited_for_after_its_tracer() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let pid = child.id().unwrap();
            let stdin = child.stdin.take();
            let mut tracer = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "traced::a_tracer", "--nocapture"])
                .envs([("WAKEFUL_CHILD", "tracer".to_owned()), ("WAKEFUL_TRACED", pid.to_string())])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(tracer.stdout.take().unwrap()).lines();
            let is_seized = loop {
                match lines.next_line().await.unwrap().unwrap().as_str() {
                    "seized" => break true,
                    "refused" => break false,
                    _ => {}
                }
            };
            drop(stdin);
            if is_seized {
                let mut waiting = pin!(child.wait());
                while !is_zombie(pid) {
                    sleep(Duration::from_millis(1)).await;
                }
                // The event for the exit has arrived or arrives during this loop. It must not
                // complete the wait.
                for _ in 0..20 {
                    let polled = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await;
                    assert!(polled.is_pending(), "only the tracer can wait for the child");
                    sleep(Duration::from_millis(1)).await;
                }
            }
            drop(tracer.stdin.take());
            assert!(child.wait().await.unwrap().success());
            tracer.wait().await.unwrap();
        });
    }
}
