//! Standard input, output and error, in child processes that run this test program.

mod support;

use std::io::Write;
use std::process::{Command, Output, Stdio};
use support::{current_thread, multi_thread};
use wakeful::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

const ROLE: &str = "WAKEFUL_TEST_IO_STD";

/// Runs the test `name` in a child process, which recognizes its role by an environment variable.
fn run(name: &str, input: &[u8]) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(ROLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn is_child() -> bool {
    std::env::var_os(ROLE).is_some()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn input_is_read_to_its_end() {
    if !is_child() {
        let lines: Vec<u8> = (0..20_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let output = run("input_is_read_to_its_end", &lines);
        assert!(contains(&output.stdout, format!("<{}>", lines.len()).as_bytes()));
        return;
    }
    multi_thread(2).block_on(async {
        let mut lines = BufReader::new(wakeful::io::stdin()).lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "line 0");
        let mut rest = Vec::new();
        lines.into_inner().read_to_end(&mut rest).await.unwrap();
        print!("<{}>", rest.len() + "line 0\n".len());
    });
}

#[test]
fn output_comes_in_order_with_what_is_printed() {
    if !is_child() {
        let output = run("output_comes_in_order_with_what_is_printed", b"");
        assert!(contains(&output.stdout, b"<one><two><three>"), "{output:?}");
        assert!(contains(&output.stderr, b"<one><two><three>"), "{output:?}");
        return;
    }
    current_thread().block_on(async {
        let (mut out, mut err) = (wakeful::io::stdout(), wakeful::io::stderr());
        print!("<one>");
        out.write_all(b"<two>").await.unwrap();
        out.flush().await.unwrap();
        print!("<three>");
        eprint!("<one>");
        err.write_all(b"<two>").await.unwrap();
        err.flush().await.unwrap();
        eprint!("<three>");
        out.shutdown().await.unwrap();
        out.write_all(b"<four>").await.unwrap();
    });
}

#[test]
fn written_bytes_are_output_without_a_flush() {
    if !is_child() {
        let output = run("written_bytes_are_output_without_a_flush", b"");
        let count = output.stdout.iter().filter(|&&byte| byte == b'x').count();
        assert_eq!(count, 5_000_000);
        return;
    }
    let runtime = multi_thread(1);
    runtime.block_on(async {
        let mut out = wakeful::io::stdout();
        out.write_all(&vec![b'x'; 5_000_000]).await.unwrap();
    });
    drop(runtime);
    // The bytes are in the buffer of `std::io::stdout`. A partial line there must be flushed by the
    // process.
    std::io::stdout().flush().unwrap();
}

#[test]
fn a_stream_returns_its_descriptor() {
    use std::os::fd::{AsFd, AsRawFd};
    assert_eq!(wakeful::io::stdin().as_raw_fd(), 0);
    assert_eq!(wakeful::io::stdout().as_fd().as_raw_fd(), 1);
    assert_eq!(wakeful::io::stderr().as_fd().as_raw_fd(), 2);
}

#[test]
fn an_empty_read_of_input_does_not_wait() {
    current_thread().block_on(async {
        assert_eq!(wakeful::io::stdin().read(&mut []).await.unwrap(), 0);
    });
}
