//! The standard streams of a child.

use crate::runtimes;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Stdio;
use wakeful::io::{AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use wakeful::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

fn piped(program: &str, args: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true).spawn().unwrap()
}

#[test]
fn what_is_written_to_cat_is_read_back() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = piped("cat", &[]);
            let mut stdin = child.stdin.take().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            for number in 0..100 {
                stdin.write_all(format!("line {number}\n").as_bytes()).await.unwrap();
                stdin.flush().await.unwrap();
                assert_eq!(lines.next_line().await.unwrap().unwrap(), format!("line {number}"));
            }
            drop(stdin);
            assert!(lines.next_line().await.unwrap().is_none());
            assert!(child.wait().await.unwrap().success());
        });
    }
}

#[test]
fn more_than_fits_into_a_pipe_goes_through_both() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = piped("cat", &[]);
            let mut stdin = child.stdin.take().unwrap();
            let data: Vec<u8> = (0..2_000_000u32).map(|number| number as u8).collect();
            let sent = data.clone();
            let writer = wakeful::spawn(async move {
                let (head, tail) = sent.split_at(500_000);
                let slices = [std::io::IoSlice::new(head), std::io::IoSlice::new(tail)];
                assert!(stdin.is_write_vectored());
                let n = stdin.write_vectored(&slices).await.unwrap();
                stdin.write_all(&sent[n..]).await.unwrap();
            });
            let output = child.wait_with_output().await.unwrap();
            writer.await.unwrap();
            assert!(output.stdout == data);
        });
    }
}

#[test]
fn errors_have_a_stream_of_their_own() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = piped("sh", &["-c", "echo out; echo err >&2"]);
            let (mut out, mut err) = (String::new(), String::new());
            child.stdout.take().unwrap().read_to_string(&mut out).await.unwrap();
            child.stderr.take().unwrap().read_to_string(&mut err).await.unwrap();
            assert_eq!((&out[..], &err[..]), ("out\n", "err\n"));
            child.wait().await.unwrap();
        });
    }
}

#[test]
fn a_full_pipe_whose_reader_dies_is_broken() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = piped("sleep", &["1000"]);
            let mut stdin = child.stdin.take().unwrap();
            let writer = wakeful::spawn(async move { stdin.write_all(&[0; 1_000_000]).await });
            wakeful::task::yield_now().await;
            child.kill().await.unwrap();
            assert_eq!(writer.await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
        });
    }
}

#[test]
fn the_output_of_one_child_is_the_input_of_another() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut echo = piped("echo", &["hello there"]);
            let input: Stdio = echo.stdout.take().unwrap().try_into().unwrap();
            let mut upper = Command::new("tr");
            let upper = upper.args(["a-z", "A-Z"]).stdin(input).output();
            assert_eq!(upper.await.unwrap().stdout, b"HELLO THERE\n");
            echo.wait().await.unwrap();
        });
    }
}

#[test]
fn into_owned_fd_returns_a_blocking_descriptor() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = piped("sh", &["-c", "echo text; echo more >&2"]);
            let raw = child.stdout.as_ref().unwrap().as_raw_fd();
            let stdout = child.stdout.take().unwrap().into_owned_fd().unwrap();
            assert_eq!(stdout.as_raw_fd(), raw);
            let stderr = child.stderr.take().unwrap().into_owned_fd().unwrap();
            let stdin = child.stdin.take().unwrap().into_owned_fd().unwrap();
            for fd in [&stdin, &stdout, &stderr] {
                // SAFETY: the call takes and returns integers only.
                let flags = unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GETFL) };
                assert_eq!(flags & libc::O_NONBLOCK, 0);
            }
            let mut text = String::new();
            std::fs::File::from(stdout).read_to_string(&mut text).unwrap();
            assert_eq!(text, "text\n");
            child.wait().await.unwrap();
        });
    }
}

#[test]
fn streams_convert_from_std() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = std::process::Command::new("sh")
                .args(["-c", "cat; echo done >&2"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = ChildStdin::from_std(child.stdin.take().unwrap()).unwrap();
            let mut stdout = ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
            let mut stderr = ChildStderr::from_std(child.stderr.take().unwrap()).unwrap();
            stdin.write_all(b"data").await.unwrap();
            stdin.shutdown().await.unwrap();
            drop(stdin);
            let (mut out, mut err) = (String::new(), String::new());
            stdout.read_to_string(&mut out).await.unwrap();
            stderr.read_to_string(&mut err).await.unwrap();
            assert_eq!((&out[..], &err[..]), ("data", "done\n"));
            child.wait().unwrap();
        });
    }
}
