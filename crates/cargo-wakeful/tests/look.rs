//! `cargo wakeful ps`, `dump` and `console` with a double of a program.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{self, Child, Command, Stdio};

use serde_json::{Value, json};

use common::double::{Double, exists, finding, greeting, socket_folder, socket_name};
use common::{Folder, stderr, stdout};

/// Runs a call that succeeds, and returns what it prints.
fn printed(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// Runs a call that fails, and returns the message.
fn refused(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(101), "{}", stdout(&output));
    stderr(&output)
}

fn own_pid() -> String {
    process::id().to_string()
}

#[test]
fn ps_lists_programs_and_removes_dead_sockets() {
    let double = Double::with_tasks("lists", 812);
    let folder = double.folder.path("wakeful");
    // Processes have smaller numbers.
    let dead = "4194305-77.sock";
    drop(UnixListener::bind(folder.join(dead)).unwrap());
    fs::write(folder.join("note.txt"), "not a socket").unwrap();
    let text = printed(double.wakeful(&["ps"]));
    let line = text.lines().find(|line| line.ends_with("/srv/bin/lists")).expect(&text);
    let words: Vec<&str> = line.split_whitespace().collect();
    // PID, UP, TASKS, QUEUED, WORKERS, STALLS, RUNTIMES, PROGRAM.
    assert_eq!(words[0], own_pid());
    assert_eq!(words[2..], ["812", "0", "2", "2", "1", "/srv/bin/lists"], "{text}");
    assert!(!exists(&folder, dead), "the socket of a process that has ended");
    assert!(exists(&folder, &socket_name()) && exists(&folder, "note.txt"));
}

#[test]
fn the_socket_of_a_live_process_is_never_removed() {
    let folder = Folder::new("live-socket");
    let sockets = socket_folder(&folder);
    drop(UnixListener::bind(sockets.join(socket_name())).unwrap());
    let message = refused(finding(&folder, &["ps", &own_pid()]));
    assert!(message.contains("could not connect to process"), "{message}");
    assert!(exists(&sockets, &socket_name()));
}

#[test]
fn ps_prints_tasks_below_what_hangs() {
    let double = Double::with_tasks("tasks", 12);
    let text = printed(double.wakeful(&["ps", &own_pid()]));
    let head = format!("Process {}, /srv/bin/tasks, up ", own_pid());
    assert!(text.starts_with(&head), "{text}");
    assert!(text.contains("12 waiting, 0 queued, 0 running; 1 runtime, 2 stalls"), "{text}");
    assert!(text.contains("  1. deadlock (certain): task 1 waits for mutex 1\n"), "{text}");
    let row = "10  db    src/conn.rs:20:5  waiting  data to read  1.5ms     10  100µs";
    assert!(text.lines().any(|line| line.trim() == row), "{text}");
    assert_eq!(
        double.requests_for("tasks"),
        [json!({ "get": "tasks", "offset": 0, "limit": 100 })]
    );
}

#[test]
fn sort_filter_and_state_are_left_to_the_program() {
    let double = Double::with_tasks("options", 100);
    let args = [
        "ps",
        &own_pid(),
        "--sort",
        "busy",
        "--filter",
        "db",
        "--state",
        "waiting",
        "--limit",
        "3",
    ];
    let text = printed(double.wakeful(&args));
    assert!(text.ends_with("\n3 of 10 tasks; `--limit all` prints every one\n"), "{text}");
    let expected = json!({
        "get": "tasks", "offset": 0, "limit": 3, "sort": "busy_us", "descending": true,
        "filter": "db", "state": "waiting",
    });
    assert_eq!(double.requests_for("tasks"), [expected]);
    let none = printed(double.wakeful(&["ps", &own_pid(), "--filter", "no such"]));
    assert!(none.ends_with("None of the 100 tasks matches.\n"), "{none}");
}

#[test]
fn all_rows_are_fetched_in_pages() {
    let double = Double::with_tasks("pages", 1_203);
    let text = printed(double.wakeful(&["ps", &own_pid(), "--limit", "all", "--json"]));
    let json: Value = serde_json::from_str(&text).unwrap();
    let ids: Vec<u64> =
        json["rows"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=1_203).collect::<Vec<_>>());
    assert_eq!(json["program"]["program"], "/srv/bin/pages");
    assert_eq!(json["verdicts"][0]["name"], "deadlock");
    assert_eq!(double.requests_for("tasks").len(), 3);
}

#[test]
fn groups_are_sorted_and_filtered() {
    let double = Double::with_tasks("groups", 640);
    let text = printed(double.wakeful(&["ps", "groups", "--group", "--sort", "polls"]));
    let (db, conn) = (text.find("src/db.rs").expect(&text), text.find("src/conn.rs").expect(&text));
    assert!(db < conn, "{text}");
    let text = printed(double.wakeful(&["ps", "groups", "-g", "-f", "read"]));
    assert!(text.contains("640  src/conn.rs:20:5  waiting  data to read"), "{text}");
    assert!(!text.contains("src/db.rs"), "{text}");
    let message = refused(double.wakeful(&["ps", "groups", "-g", "--sort", "wakes"]));
    assert!(message.contains("does not work with --group"), "{message}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let double = Double::with_tasks("reader-of-rows", 2_000);
    let mut call = double.wakeful(&["ps", &own_pid(), "--limit", "all"]);
    let mut child = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn watching_ends_with_its_reader() {
    let double = Double::with_tasks("watching", 3);
    let mut call = double.wakeful(&["ps", &own_pid(), "--watch"]);
    let mut child = call.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut tables = 0;
    while tables < 2 {
        tables += usize::from(lines.next().unwrap().unwrap().starts_with("Process "));
    }
    drop(lines);
    assert!(child.wait().unwrap().success());
}

#[test]
fn dump_prints_the_text() {
    let double = Double::with_tasks("dumps", 3);
    assert_eq!(printed(double.wakeful(&["dump", &own_pid()])), "asked: true\n");
    assert_eq!(printed(double.wakeful(&["dump", "dumps", "--no-ask"])), "asked: false\n");
}

#[test]
fn a_program_that_cannot_be_watched_is_explained() {
    let folder = Folder::new("explained");
    let message = refused(finding(&folder, &["ps", "4194305"]));
    assert!(message.contains("there is no process 4194305"), "{message}");
    let mut sleeper =
        Command::new("sleep").arg("600").env_remove("WAKEFUL_CONSOLE").spawn().unwrap();
    let pid = sleeper.id().to_string();
    wait_until_exec(&sleeper, "sleep");
    let message = refused(finding(&folder, &["dump", &pid]));
    assert!(message.contains("runs without WAKEFUL_CONSOLE"), "{message}");
    assert!(message.contains("WAKEFUL_CONSOLE=1 ./program"), "how to start it: {message}");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let mut sleeper = Command::new("sleep").arg("600").env("WAKEFUL_CONSOLE", "1").spawn().unwrap();
    wait_until_exec(&sleeper, "sleep");
    let message = refused(finding(&folder, &["console", &sleeper.id().to_string()]));
    assert!(message.contains("has WAKEFUL_CONSOLE set, but does not listen"), "{message}");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let message = refused(finding(&folder, &["dump", "no-such-name"]));
    assert!(message.contains("no program named `no-such-name` listens"), "{message}");
    let none = printed(finding(&folder, &["ps"]));
    assert!(none.contains("WAKEFUL_CONSOLE=1 ./program") || none.contains("PID"), "{none}");
}

/// Waits until the child has replaced the copy of this process, whose environment is another.
fn wait_until_exec(child: &Child, name: &str) {
    let comm = format!("/proc/{}/comm", child.id());
    while fs::read_to_string(&comm).unwrap().trim_end() != name {
        std::thread::yield_now();
    }
}

#[test]
fn a_process_of_another_user_is_refused() {
    let folder = Folder::new("other-user");
    // SAFETY: `geteuid` accesses no memory of this process.
    if unsafe { libc::geteuid() } != 0 {
        let message = refused(finding(&folder, &["ps", "1"]));
        assert!(message.contains("process 1 belongs to user 0"), "{message}");
        return;
    }
    // Root may watch all processes, so another user has to try: a copy, which that user may run.
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.path("cargo-wakeful");
    // By another process: a child that a test starts meanwhile would inherit the descriptor, and a
    // file that is open for writing cannot be run.
    let original = env!("CARGO_BIN_EXE_cargo-wakeful");
    assert!(Command::new("cp").arg(original).arg(&copy).status().unwrap().success());
    let mut call = Command::new("setpriv");
    call.args(["--reuid=65534", "--clear-groups"]).arg(&copy).args(["ps", &own_pid()]);
    let message = refused(call);
    assert!(message.contains("belongs to user 0, and only that user and root"), "{message}");
}

#[test]
fn another_version_of_the_protocol_is_refused() {
    let mut newer = greeting("newer");
    newer["protocol"] = 2.into();
    newer["wakeful"] = "9.9.9".into();
    let double = Double::start("newer", newer, |_| None);
    let message = refused(double.wakeful(&["ps", &own_pid()]));
    assert!(message.contains("speaks version 2 of the console protocol"), "{message}");
    assert!(message.contains("9.9.9"), "{message}");
    let full =
        Double::start("full", json!({ "error": "4 clients are connected already" }), |_| None);
    let message = refused(full.wakeful(&["ps", &own_pid()]));
    assert!(message.contains("refuses the connection: 4 clients"), "{message}");
}

#[test]
fn errors_of_the_program_are_printed() {
    let double = Double::start("errs", greeting("errs"), |_| Some(json!({ "error": "too busy" })));
    let message = refused(double.wakeful(&["dump", &own_pid()]));
    assert!(message.ends_with(": too busy\n"), "{message}");
    let double = Double::start("ends", greeting("ends"), |_| None);
    let message = refused(double.wakeful(&["dump", &own_pid()]));
    assert!(message.contains("has ended"), "{message}");
}

#[test]
fn a_folder_that_others_may_write_to_is_not_trusted() {
    let double = Double::with_tasks("wide", 3);
    let wide = fs::Permissions::from_mode(0o755);
    fs::set_permissions(double.folder.path("wakeful"), wide).unwrap();
    let message = refused(double.wakeful(&["ps", &own_pid()]));
    assert!(message.contains("does not listen"), "{message}");
    assert_eq!(double.requests(), [] as [Value; 0]);
}

/// A console that is ended when this is dropped.
struct Console {
    process: Child,
    port: String,
    token: String,
}

impl Console {
    fn start(double: &Double) -> Console {
        let mut call = double.wakeful(&["console", &own_pid(), "--no-open"]);
        let mut process = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines
            .map(Result::unwrap)
            .find_map(|line| line.trim().strip_prefix("http://127.0.0.1:").map(str::to_owned));
        let url = url.expect("it prints an address");
        let (port, token) = url.trim_end_matches('/').split_once('/').unwrap();
        Console { port: port.to_owned(), token: token.to_owned(), process }
    }

    /// Sends a request and returns the code and the whole answer.
    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let code = answer.split_whitespace().nth(1).expect(&answer).parse().unwrap();
        (code, answer)
    }

    fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}\r\n", self.port)
    }

    fn path(&self, name: &str) -> String {
        format!("/{}/{name}", self.token)
    }

    fn ask(&self, requests: &Value) -> (u16, String) {
        let headers = format!("{}Origin: http://127.0.0.1:{}\r\n", self.host(), self.port);
        self.send("POST", &self.path("ask"), &headers, &requests.to_string())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_console_serves_a_page_that_loads_nothing_from_elsewhere() {
    let double = Double::with_tasks("page", 3);
    let console = Console::start(&double);
    assert_eq!(console.token.len(), 32, "128 bits");
    assert_ne!(console.token, Console::start(&double).token);
    let (code, page) = console.send("GET", &console.path(""), &console.host(), "");
    assert_eq!(code, 200, "{page}");
    assert!(page.contains("default-src 'none'; script-src 'self'"), "{page}");
    assert!(page.contains("Referrer-Policy: no-referrer"), "{page}");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("text/html"), "{head}");
    let elsewhere = body.matches("http").count();
    assert_eq!(elsewhere, body.matches("http://www.w3.org/2000/svg").count(), "{body}");
    let (code, script) = console.send("GET", &console.path("main.js"), &console.host(), "");
    assert!(code == 200 && script.contains("text/javascript"), "{script}");
    let localhost = format!("Host: localhost:{}\r\n", console.port);
    assert_eq!(console.send("GET", &console.path("style.css"), &localhost, "").0, 200);
    assert_eq!(console.send("GET", &console.path("../Cargo.toml"), &console.host(), "").0, 403);
    assert_eq!(console.send("GET", &console.path("Cargo.toml"), &console.host(), "").0, 404);
    assert_eq!(console.send("PUT", &console.path("ask"), &console.host(), "").0, 405);
}

#[test]
fn the_page_asks_the_program_by_way_of_the_console() {
    let double = Double::with_tasks("asks", 3);
    let console = Console::start(&double);
    let requests = json!([{ "get": "tasks", "limit": 2 }, { "get": "nothing" }]);
    let (code, answer) = console.ask(&requests);
    assert_eq!(code, 200, "{answer}");
    let answers: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(answers[0]["rows"].as_array().unwrap().len(), 2);
    assert!(answers[1]["error"].is_string());
    assert_eq!(console.ask(&json!({ "get": "summary" })).0, 400);
    assert_eq!(console.ask(&json!([{ "get": "x".repeat(5_000) }])).0, 400);
    assert_eq!(double.requests().len(), 2, "what is wrong does not reach the program");
}

#[test]
fn other_pages_and_other_tokens_are_refused() {
    let double = Double::with_tasks("refuses", 3);
    let console = Console::start(&double);
    let (host, ask) = (console.host(), console.path("ask"));
    let asked = json!([{ "get": "dump" }]).to_string();
    let zeros = "0".repeat(32);
    for path in ["/", "/ask", "/favicon.ico", &format!("/{zeros}/"), &format!("/{zeros}/ask")] {
        assert_eq!(console.send("GET", path, &host, "").0, 403, "{path}");
        assert_eq!(console.send("POST", path, &host, &asked).0, 403, "{path}");
    }
    let token = console.token.clone();
    for path in [format!("/{token}"), format!("/{}/", &token[1..]), format!("/{token}0/ask")] {
        assert_eq!(console.send("GET", &path, &host, "").0, 403, "{path}");
    }
    let rebound = format!("Host: rebound.example:{}\r\n", console.port);
    for headers in ["", "Host: 127.0.0.1\r\n", "Host: 127.0.0.1:1\r\n", &rebound] {
        assert_eq!(console.send("GET", &console.path(""), headers, "").0, 403, "{headers}");
        assert_eq!(console.send("POST", &ask, headers, &asked).0, 403, "{headers}");
    }
    for origin in ["null", "http://other.example", "http://127.0.0.1:1", "https://127.0.0.1"] {
        let headers = format!("{host}Origin: {origin}\r\n");
        assert_eq!(console.send("POST", &ask, &headers, &asked).0, 403, "{origin}");
        assert_eq!(console.send("GET", &console.path(""), &headers, "").0, 403, "{origin}");
    }
    assert_eq!(double.requests(), [] as [Value; 0], "nothing reached the program");
}

#[test]
fn the_end_of_the_program_is_told() {
    let double = Double::start("told", greeting("told"), |_| None);
    let console = Console::start(&double);
    let (code, answer) = console.ask(&json!([{ "get": "summary" }]));
    assert!(code == 410 && answer.contains("the program has ended"), "{answer}");
    assert_eq!(console.ask(&json!([{ "get": "summary" }])).0, 410);
    assert_eq!(console.send("GET", &console.path(""), &console.host(), "").0, 200);
}
