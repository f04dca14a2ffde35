//! `cargo wakeful profile` with a double of a program.

mod common;

use std::fs;
use std::process::{self, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use common::double::{Double, greeting};
use common::{stderr, stdout};

/// Where a stack of the double waits.
fn frame(function: &str, line: Option<u64>) -> Value {
    match line {
        Some(line) => json!({ "function": function, "file": "src/conn.rs", "line": line }),
        None => json!({ "function": function }),
    }
}

/// What a program answers that has three tasks: task 1 takes 1 ms per look, task 2 is not polled,
/// and task 3 has ended at the third look, when task 4 is new. Of 8 tasks that wait, 4 are asked.
struct Program {
    begun: Instant,
    looks: AtomicU64,
    askings: AtomicU64,
    lines: Option<u64>,
    asks: bool,
}

impl Program {
    fn start(test: &str, lines: Option<u64>, asks: bool) -> Double {
        let (looks, askings) = (AtomicU64::new(0), AtomicU64::new(0));
        let program = Program { begun: Instant::now(), looks, askings, lines, asks };
        Double::start(test, greeting(test), move |request| program.answer(request))
    }

    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64 + 1_000_000
    }

    fn answer(&self, request: &Value) -> Option<Value> {
        Some(match request["get"].as_str().unwrap() {
            "summary" => json!({
                "asks": self.asks, "runtimes": [{ "workers": [{ "busy_us": self.now_us() }] }],
            }),
            "tasks" => self.tasks(),
            "stacks" if !self.asks => json!({ "error": "WAKEFUL_CONSOLE contains nopoll" }),
            "stacks" => self.stacks(),
            other => json!({ "error": format!("get is {other:?}") }),
        })
    }

    fn tasks(&self) -> Value {
        let look = self.looks.fetch_add(1, Ordering::Relaxed);
        let now_us = self.now_us();
        // An asked task takes a second for its answer, which is no time of the program's own.
        let asked_us = 1_000_000 * self.askings.load(Ordering::Relaxed);
        let busy_us = 500_000 + 1_000 * look + asked_us;
        let task = |id: u64, at_us, busy_us, polls| {
            json!({
                "id": id, "kind": "task", "site": format!("src/task{id}.rs:3:5"), "type": "app::run",
                "state": "waiting", "last_poll_at_us": at_us, "busy_us": busy_us, "polls": polls,
            })
        };
        let mut third = task(3, now_us, 7_000, 3);
        if look >= 2 {
            third = task(4, now_us, 3_000, 1);
            third["age_us"] = 10.into();
        }
        // The one that was polled last comes first.
        let rows = [task(1, now_us, busy_us, look + 9), third, task(2, 5, 900_000, 7)];
        json!({ "time_us": now_us, "rows": rows })
    }

    fn stacks(&self) -> Value {
        self.askings.fetch_add(1, Ordering::Relaxed);
        let outer = frame("app::serve", self.lines);
        json!({
            "time_us": self.now_us(), "asked": 4, "waiting": 8,
            "rows": [
                { "tasks": 3, "waits_for": "a mutex", "stack": [frame("app::lock", self.lines), outer] },
                { "tasks": 1, "waits_for": "a point in time", "stack": [outer] },
            ],
        })
    }
}

fn profile(double: &Double, args: &[&str]) -> Command {
    let pid = process::id().to_string();
    double.wakeful(&[&["profile", &pid][..], args].concat())
}

/// Runs a call that succeeds, and returns what it prints to standard output and error.
fn printed(mut command: Command) -> (String, String) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    (stdout(&output), stderr(&output))
}

fn refused(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(101), "{}", stdout(&output));
    stderr(&output)
}

/// Returns the stacks and counts of folded text.
fn folded(text: &str) -> Vec<(String, f64)> {
    let line = |line: &str| {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        (stack.to_owned(), count.parse().unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn waiting_time_is_scaled_to_all_that_wait() {
    let double = Program::start("waiting", Some(44), true);
    let path = double.folder.path("out.folded");
    let begun = Instant::now();
    let args = ["--for", "600ms", "--waiting", "--folded", path.to_str().unwrap()];
    let (table, _) = printed(profile(&double, &args));
    let most_us = begun.elapsed().as_micros() as f64;
    let found = folded(&fs::read_to_string(path).unwrap());
    let [(time, time_us), (lock, lock_us)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(lock, "waiting;app::serve (src/conn.rs:44);app::lock (src/conn.rs:44);a mutex");
    assert_eq!(time, "waiting;app::serve (src/conn.rs:44);a point in time");
    // Three of four stand for six of eight, for as long as was recorded.
    assert!((6.0 * 600e3..6.0 * most_us).contains(lock_us), "{lock_us}");
    assert!((lock_us / time_us - 3.0).abs() < 1e-3, "{found:?}");
    assert!(table.contains("75.0%  a mutex"), "{table}");
    assert!(!table.contains("Busy"), "{table}");
    let limits = double.requests_for("stacks").into_iter().map(|it| it["limit"].clone());
    let mut limits: Vec<Value> = limits.skip(1).collect();
    let asked = limits.len();
    limits.dedup();
    assert!(asked >= 2 && limits.len() == asked, "the same tasks are asked again: {limits:?}");
}

#[test]
fn busy_time_is_what_was_added_meanwhile() {
    let double = Program::start("busy", None, true);
    let (text, _) = printed(profile(&double, &["--for=700ms", "--busy", "--folded", "-"]));
    let looks = double.requests_for("tasks").len() as f64 - 1.0;
    let found = folded(&text);
    let [(first, first_us), (fourth, fourth_us)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(first, "busy;src/task1.rs:3:5;app::run");
    assert_eq!(fourth, "busy;src/task4.rs:3:5;app::run", "a new task counts from its start");
    assert!((first_us / (1_000.0 * looks) - 1.0).abs() < 0.2, "{looks} looks: {first_us}");
    assert!((fourth_us / 3_000.0 - 1.0).abs() < 0.2, "{fourth_us}");
    assert_eq!(double.requests_for("stacks"), [] as [Value; 0], "no task is asked");
}

#[test]
fn polls_that_answer_are_no_busy_time() {
    let double = Program::start("answers", None, true);
    let (text, notes) = printed(profile(&double, &["--for", "1200ms", "--folded", "-"]));
    let busy: f64 = folded(&text).iter().filter(|it| it.0.starts_with("busy")).map(|it| it.1).sum();
    assert!((1.0..500e3).contains(&busy), "an answer takes a second: {text}");
    assert!(notes.contains("built without debug information"), "{notes}");
}

#[test]
fn a_profile_of_both_is_written_for_pprof() {
    let double = Program::start("written", Some(44), true);
    let path = double.folder.path("out.pb");
    let args = ["--for", "300ms", "--busy", "--waiting", "--pprof", path.to_str().unwrap()];
    let (table, _) = printed(profile(&double, &args));
    assert!(table.contains("\nBusy: polls took ") && table.contains("\nWaiting: "), "{table}");
    let bytes = fs::read(path).unwrap();
    for text in ["busy", "waiting", "nanoseconds", "app::serve", "src/conn.rs", "src/task1.rs"] {
        assert!(bytes.windows(text.len()).any(|it| it == text.as_bytes()), "{text}");
    }
}

#[test]
fn a_program_that_forbids_to_ask_has_only_busy_time() {
    let double = Program::start("forbids", Some(44), false);
    let message = refused(profile(&double, &["--waiting"]));
    assert!(message.contains("`nopoll` in WAKEFUL_CONSOLE"), "{message}");
    assert!(message.contains("Start it with WAKEFUL_CONSOLE=1"), "{message}");
    let (table, notes) = printed(profile(&double, &["--for", "300ms"]));
    assert!(table.contains("Busy") && !table.contains("Waiting"), "{table}");
    assert!(notes.contains("without waiting time: the program runs with `nopoll`"), "{notes}");
}

#[test]
fn what_was_recorded_until_the_program_ended_is_kept() {
    let (program, looks) = (Mutex::new(None), AtomicU64::new(0));
    let double = Double::start("ended", greeting("ended"), move |request| {
        let mut program = program.lock().unwrap();
        let program: &mut Program = program.get_or_insert_with(|| Program {
            begun: Instant::now(),
            looks: AtomicU64::new(0),
            askings: AtomicU64::new(0),
            lines: None,
            asks: true,
        });
        let is_over = request["get"] == "tasks" && looks.fetch_add(1, Ordering::Relaxed) == 3;
        program.answer(request).filter(|_| !is_over)
    });
    let (table, notes) = printed(profile(&double, &["--for", "1min", "--busy"]));
    assert!(table.contains("src/task1.rs:3:5"), "{table}");
    assert!(notes.contains("the profile ends here: process"), "{notes}");
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_recording() {
    let double = Program::start("file", None, true);
    for option in ["--pprof", "--folded"] {
        let message = refused(profile(&double, &[option, "/no/such/folder/out"]));
        assert!(message.contains("could not create /no/such/folder/out"), "{message}");
    }
    assert_eq!(double.requests(), [] as [Value; 0]);
}
