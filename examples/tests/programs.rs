//! Runs every example as a process and talks to it over loopback, each within a limit of time.
//!
//! The same file is a test of `examples`, where the programs run on Wakeful, and of
//! `examples-on-tokio`. The clients here are plain threads and sockets of `std`, so that they share
//! no bug with the programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{self, Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

const ON_WAKEFUL: bool = matches!(env!("CARGO_PKG_NAME").as_bytes(), b"examples");

/// No test takes as long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// A running example. It is killed at the end of the test, and at the latest after [`LIMIT`], which
/// ends every wait for its output.
struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
    errors: Option<JoinHandle<String>>,
    /// Ends the watchdog by being dropped.
    is_over: Option<mpsc::Sender<()>>,
    watchdog: Option<JoinHandle<()>>,
}

impl Program {
    fn start(path: &str, args: &[&str]) -> Program {
        let mut child = Command::new(path)
            .args(args)
            .env("WAKEFUL_VERSION", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let (is_over, ended) = mpsc::channel();
        let pid = child.id();
        let watchdog = thread::spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                signal(pid, libc::SIGKILL);
            }
        });
        let (errors, is_over, watchdog) = (Some(errors), Some(is_over), Some(watchdog));
        Program { child, output, errors, is_over, watchdog }
    }

    /// Returns the next line of the program's output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns the address that the program prints.
    fn address(&mut self) -> String {
        let line = self.line();
        line.strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("unexpected: {line}"))
            .to_owned()
    }

    fn signal(&self, number: i32) {
        signal(self.child.id(), number);
    }

    /// Waits for the end of the program, and returns the rest of its output.
    fn rest(mut self) -> String {
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success(), "{text}");
        text
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Ends the watchdog first: the process id belongs to the child until `wait` returns.
        drop(self.is_over.take());
        self.watchdog.take().unwrap().join().unwrap();
        let _ = self.child.kill();
        let _ = self.child.wait();
        let errors = self.errors.take().unwrap().join().unwrap();
        if !thread::panicking() {
            assert_eq!(errors.contains("runs on Wakeful"), ON_WAKEFUL, "{errors}");
        }
    }
}

fn signal(pid: u32, number: i32) {
    // SAFETY: `kill` accesses no memory of this process. The child has not been waited for, so the
    // id is still its own.
    assert_eq!(unsafe { libc::kill(pid as i32, number) }, 0);
}

/// A client that talks in lines.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: &str) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Client(BufReader::new(stream))
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a line and returns the line that comes back.
    fn ask(&mut self, line: &str) -> String {
        self.send(&format!("{line}\n"));
        self.line()
    }
}

/// Sends `bytes`, closes that direction, and returns everything that comes back.
fn exchange(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut client = Client::connect(address).0.into_inner();
    let mut sender = client.try_clone().unwrap();
    let bytes = bytes.to_vec();
    let sending = thread::spawn(move || {
        sender.write_all(&bytes).unwrap();
        sender.shutdown(Shutdown::Write).unwrap();
    });
    let mut back = Vec::new();
    client.read_to_end(&mut back).unwrap();
    sending.join().unwrap();
    back
}

fn some_bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n % 251) as u8).collect()
}

#[test]
fn echo_sends_everything_back() {
    let mut echo = Program::start(env!("CARGO_BIN_EXE_echo"), &[]);
    let address = echo.address();
    let sent = some_bytes(3_000_000);
    assert!(exchange(&address, &sent) == sent);
    assert!(echo.line().ends_with("3000000 bytes"));
    // A connection that does nothing does not keep others waiting.
    let _silent = Client::connect(&address);
    assert_eq!(Client::connect(&address).ask("hello"), "hello");
}

#[test]
fn the_proxy_passes_both_directions_on() {
    let mut echo = Program::start(env!("CARGO_BIN_EXE_echo"), &[]);
    let mut proxy = Program::start(env!("CARGO_BIN_EXE_proxy"), &[&echo.address()]);
    let sent = some_bytes(1_000_000);
    assert!(exchange(&proxy.address(), &sent) == sent);
    assert!(proxy.line().ends_with("1000000 bytes there, 1000000 back"));
}

#[test]
fn lines_of_the_chat_reach_all_others() {
    let mut chat = Program::start(env!("CARGO_BIN_EXE_chat"), &[]);
    let address = chat.address();
    let join = |name: &str| {
        let mut client = Client::connect(&address);
        assert_eq!(client.line(), "your name?");
        assert_eq!(client.ask(name), "welcome");
        client
    };
    let mut ann = join("Ann");
    let mut bob = join("Bob");
    assert_eq!(ann.line(), "Bob has joined");
    bob.send("hello\n");
    ann.send("hello Bob\n");
    assert_eq!(ann.line(), "Bob: hello");
    assert_eq!(bob.line(), "Ann: hello Bob", "and not Bob's own line");
    drop(ann);
    assert_eq!(bob.line(), "Ann has left");
}

/// Sends an HTTP request on a connection of its own, and returns the status and the body.
fn request(address: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = Client::connect(address).0.into_inner();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}"
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

#[test]
fn the_http_service_keeps_notes_and_limits_the_time_of_a_request() {
    let mut http = Program::start(env!("CARGO_BIN_EXE_http"), &[]);
    let address = http.address();
    let slow = {
        let address = address.clone();
        thread::spawn(move || request(&address, "GET", "/slow", "").0)
    };
    assert_eq!(request(&address, "GET", "/notes/today", "").0, 404);
    assert_eq!(request(&address, "PUT", "/notes/today", "buy tea").0, 201);
    assert_eq!(request(&address, "PUT", "/notes/today", "drink tea").0, 204);
    assert_eq!(request(&address, "GET", "/notes/today", ""), (200, "drink tea".to_owned()));
    assert_eq!(request(&address, "GET", "/", "").1, "today\n");
    assert_eq!(request(&address, "DELETE", "/notes/today", "").0, 204);
    assert_eq!(request(&address, "GET", "/", "").1, "");
    assert_eq!(request(&address, "PUT", "/notes/long", &"a".repeat(65 * 1024)).0, 413);
    assert_eq!(slow.join().unwrap(), 503);
}

#[test]
fn what_the_database_acknowledges_survives_a_kill_and_a_torn_end() {
    let log = env::temp_dir().join(format!("wakeful-examples-{ON_WAKEFUL}-{}.wal", process::id()));
    let _ = fs::remove_file(&log);
    let start = || {
        let mut program = Program::start(env!("CARGO_BIN_EXE_tinydb"), &[log.to_str().unwrap()]);
        let recovered = program.line();
        let address = program.address();
        (program, recovered, address)
    };
    let (program, recovered, address) = start();
    assert_eq!(recovered, "recovered 0 keys");
    // Several clients at once, so that changes share commits.
    thread::scope(|scope| {
        for number in 0..8 {
            let address = &address;
            scope.spawn(move || {
                let mut client = Client::connect(address);
                for n in 0..25 {
                    assert_eq!(client.ask(&format!("SET {number}.{n} the value {n}")), "OK");
                }
                assert_eq!(client.ask(&format!("DEL {number}.0")), "OK");
            });
        }
    });
    let mut client = Client::connect(&address);
    assert_eq!(client.ask("GET 3.7"), "the value 7");
    assert_eq!(client.ask("GET 3.0"), "NONE");
    assert!(client.ask("PUT 3.0").starts_with("ERROR"));
    program.signal(libc::SIGKILL);
    drop(program);

    // A crash in the middle of a record.
    let length = fs::metadata(&log).unwrap().len();
    let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(b"0123abcd SET 3.7 never acknow").unwrap();
    let (_program, recovered, address) = start();
    assert_eq!(recovered, "recovered 192 keys");
    assert_eq!(fs::metadata(&log).unwrap().len(), length, "the torn end is cut off");
    let mut client = Client::connect(&address);
    assert_eq!(client.ask("GET 3.7"), "the value 7");
    assert_eq!(client.ask("SET 3.7 new"), "OK");
    assert_eq!(client.ask("GET 3.7"), "new");
    fs::remove_file(&log).unwrap();
}

#[test]
fn udp_questions_are_answered_even_if_packets_are_lost() {
    for options in [&["server"][..], &["server", "--lossy"]] {
        let mut server = Program::start(env!("CARGO_BIN_EXE_udp"), options);
        let address = server.address();
        for words in [["first", "words"], ["and", "more"]] {
            let args = [&["client", address.as_str()], &words[..]].concat();
            let client = Program::start(env!("CARGO_BIN_EXE_udp"), &args);
            assert_eq!(client.rest().trim_end(), words.join(" ").to_uppercase());
        }
    }
}

#[test]
fn a_shutdown_finishes_what_has_begun_and_refuses_what_is_new() {
    let mut server = Program::start(env!("CARGO_BIN_EXE_shutdown"), &[]);
    let address = server.address();
    let mut idle = Client::connect(&address);
    let mut busy = Client::connect(&address);
    assert_eq!(idle.ask("one"), "done: one");
    busy.send("two\n");
    thread::sleep(Duration::from_millis(200)); // The server has begun, and works for 500 ms.
    server.signal(libc::SIGTERM);
    assert_eq!(server.line(), "stopping: 2 connections");
    assert!(TcpStream::connect(&address).is_err());
    assert_eq!(idle.line(), "bye");
    assert_eq!(busy.line(), "done: two");
    assert_eq!(busy.line(), "bye");
    assert_eq!(server.rest().trim_end(), "answered 2 lines");
}

#[test]
fn a_second_signal_ends_a_shutdown_at_once() {
    let mut server = Program::start(env!("CARGO_BIN_EXE_shutdown"), &[]);
    let mut busy = Client::connect(&server.address());
    // More work than the grace period allows: lines that wait in the socket count as begun.
    busy.send(&"line\n".repeat(3));
    thread::sleep(Duration::from_millis(200));
    server.signal(libc::SIGINT);
    assert_eq!(server.line(), "stopping: 1 connections");
    let start = Instant::now();
    server.signal(libc::SIGINT);
    assert_eq!(server.line(), "aborting 1 connections");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(server.rest().trim_end(), "answered 0 lines");
}

#[test]
fn each_way_to_run_blocking_code_returns_its_results() {
    let output = Program::start(env!("CARGO_BIN_EXE_blocking"), &[]).rest();
    let rows: Vec<&str> = output.lines().collect();
    assert_eq!(rows.len(), 6, "{output}");
    for (position, row) in rows.iter().enumerate() {
        let results = if position == 2 { "12 results" } else { " 1 results" };
        assert!(row.contains(results), "{row}");
        let late = row.split("late by ").nth(1).unwrap().trim_end_matches(" ms");
        let late_ms: f64 = late.parse().unwrap();
        // Tokio's only worker is blocked for 100 ms. Everywhere else the bound is wide, because the
        // machine may be busy.
        if position == 0 && !ON_WAKEFUL {
            assert!(late_ms > 50.0, "{row}");
        }
    }
}

#[test]
fn the_executor_runs_tasks_with_timers_sockets_and_channels() {
    let output = Program::start(env!("CARGO_BIN_EXE_executor"), &[]).rest();
    let rows: Vec<&str> = output.lines().collect();
    assert!(rows[0].starts_with("a timer on my-executor-"), "{output}");
    assert_eq!(rows[1..], ["a socket says \"hello\"", "a channel carried 500500"]);
}

/// Returns the names of the programs.
fn programs(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder.join("src/bin")).unwrap();
    let names =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned());
    names.collect()
}

#[test]
fn every_program_is_short_listed_in_both_languages_and_built_on_tokio_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = if ON_WAKEFUL { folder } else { folder.parent().unwrap() };
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let names = programs(folder);
    assert_eq!(names.len(), 9);
    for name in names {
        let lines = read(&format!("src/bin/{name}.rs")).lines().count();
        assert!(lines <= 150, "{name} has {lines} lines; an example has at most 150");
        for readme in ["README.md", "README.zh-CN.md"] {
            assert!(
                read(readme).contains(&format!("[`{name}`](src/bin/{name}.rs)")),
                "{name} in {readme}"
            );
        }
        let entry = format!("[[bin]]\nname = \"{name}\"\npath = \"../src/bin/{name}.rs\"\n");
        assert!(read("on-tokio/Cargo.toml").contains(&entry), "{name} in on-tokio/Cargo.toml");
    }
    // Both packages have the same dependencies.
    let dependencies = |manifest: String| {
        let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        let lines: Vec<String> =
            lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect();
        lines
    };
    assert_eq!(dependencies(read("Cargo.toml")), dependencies(read("on-tokio/Cargo.toml")));
}
