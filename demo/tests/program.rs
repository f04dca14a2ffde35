//! Tests the program as users run it: `--check`, Ctrl-C, wrong arguments.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn demo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Kills the service when dropped, so that a failed test leaves no process behind.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _has_ended = self.0.kill();
        let _is_known = self.0.wait();
    }
}

impl Running {
    /// Starts the service on a free port. Returns its further output and its address.
    fn start() -> (Running, BufReader<ChildStdout>, String) {
        let child = demo(&["--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut running = Running(child);
        let mut output = BufReader::new(running.0.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let (_, address) = line.split_once("http://").expect("it prints its address");
        let address = address.split('/').next().unwrap().to_owned();
        (running, output, address)
    }

    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    fn exit_code(&mut self) -> Option<i32> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            match self.0.try_wait().unwrap() {
                Some(status) => return status.code(),
                None => assert!(Instant::now() < give_up, "the program did not end"),
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn the_check_passes() {
    let Output { status, stdout, stderr } = demo(&["--check"]).output().unwrap();
    assert!(status.success(), "{}{}", text(&stdout), text(&stderr));
    assert!(text(&stdout).contains("while"), "{}", text(&stdout));
}

#[test]
fn the_check_fails_if_blocked_workers_hold_up_requests() {
    // With one worker, no other worker could answer.
    let mut check = demo(&["--check", "--no-handoff"]);
    let Output { status, stdout, stderr } =
        check.env("WAKEFUL_WORKER_THREADS", "1").output().unwrap();
    assert_eq!(status.code(), Some(1), "{}", text(&stdout));
    assert!(text(&stderr).contains("while all workers were blocked"), "{}", text(&stderr));
}

#[test]
fn ctrl_c_ends_it_with_a_page_open_and_workers_blocked() {
    for signal in ["-INT", "-TERM"] {
        let (mut running, mut output, address) = Running::start();
        let mut page = TcpStream::connect(&address).unwrap();
        write!(page, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        page.read_exact(&mut [0; 64]).unwrap();
        let mut button = TcpStream::connect(&address).unwrap();
        write!(button, "POST /block/all HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        button.read_exact(&mut [0; 64]).unwrap();
        running.signal(signal);
        assert_eq!(running.exit_code(), Some(0), "{signal}");
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert!(rest.starts_with("ended after "), "{rest}");
        page.set_read_timeout(Some(PATIENCE)).unwrap();
        page.read_to_end(&mut Vec::new()).expect("the stream has an end");
    }
}

#[test]
fn a_port_in_use_is_reported() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let output = demo(&["--port", &port]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(&format!("port {port} is taken")));
}

#[test]
fn wrong_arguments_are_explained() {
    let output = demo(&["--prot", "8080"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("--prot is not an option") && said.contains("usage:"), "{said}");
    assert!(demo(&["--help"]).output().unwrap().status.success());
}
