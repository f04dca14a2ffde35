//! `cargo wakeful ps`, `dump` and `profile` with a program on the runtime: this test program, which
//! starts itself again.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod common;

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use wakeful::runtime::Builder;
use wakeful::sync::{Barrier, Mutex, Notify};

use common::double::finding;
use common::{Folder, stderr, stdout};

/// Set in the process that is watched.
const IS_PROGRAM: &str = "CARGO_WAKEFUL_TEST_PROGRAM";

/// The program: fifty tasks that wait for a notification, and two that lock each other's mutex.
fn hang() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let (locks, both) = ([Arc::new(Mutex::new(())), Arc::default()], Arc::new(Barrier::new(3)));
        for (first, second) in [(0, 1), (1, 0)] {
            let (first, second) = (locks[first].clone(), locks[second].clone());
            let both = both.clone();
            wakeful::spawn(async move {
                let _first = first.lock().await;
                both.wait().await;
                let _second = second.lock().await;
            });
        }
        let never = Arc::new(Notify::new());
        for _ in 0..50 {
            let never = never.clone();
            wakeful::spawn(async move { never.notified().await });
        }
        both.wait().await;
        println!("\nready");
        never.notified().await;
    });
}

/// A program of which one task computes, and five wait for a mutex in a function of a function.
fn compute() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let lock = Arc::new(Mutex::new(()));
        let _held = lock.lock().await;
        for _ in 0..5 {
            wakeful::spawn(serve(lock.clone()));
        }
        wakeful::spawn(async {
            loop {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_micros(500) {}
                wakeful::task::yield_now().await;
            }
        });
        println!("\nready");
        Notify::new().notified().await;
    });
}

async fn serve(lock: Arc<Mutex<()>>) {
    store(&lock).await;
}

async fn store(lock: &Mutex<()>) {
    let _held = lock.lock().await;
}

/// The program's process, which is killed when this is dropped.
struct Program {
    process: Child,
    folder: Folder,
}

impl Program {
    fn start(test: &str, console: Option<&str>) -> Program {
        // Short, as the path of a socket has to be.
        let folder = Folder::new(&test[..16]);
        let mut call = Command::new(env::current_exe().unwrap());
        call.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(IS_PROGRAM, "1");
        call.env("XDG_RUNTIME_DIR", folder.path("")).env_remove("WAKEFUL_CONSOLE");
        call.envs(console.map(|value| ("WAKEFUL_CONSOLE", value)));
        let mut process = call.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.map(Result::unwrap).any(|line| line == "ready"));
        Program { process, folder }
    }

    fn call(&self, args: &[&str]) -> Command {
        let pid = self.process.id().to_string();
        finding(&self.folder, &[&args[..1], &[&pid], &args[1..]].concat())
    }

    fn printed(&self, args: &[&str]) -> String {
        let output = self.call(args).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_program() -> bool {
    env::var_os(IS_PROGRAM).is_some()
}

#[test]
fn a_watched_program_is_listed_and_its_deadlock_is_found() {
    if is_program() {
        return hang();
    }
    let test = "a_watched_program_is_listed_and_its_deadlock_is_found";
    let program = Program::start(test, Some("watch"));
    let pid = program.process.id().to_string();
    let list = stdout(&finding(&program.folder, &["ps"]).output().unwrap());
    let is_listed = |line: &str| line.split_whitespace().next() == Some(&pid);
    assert!(list.lines().any(is_listed), "{list}");
    let tasks = program.printed(&["ps", "--sort", "wait", "--limit", "all"]);
    assert!(tasks.contains("1. deadlock (likely): task "), "{tasks}");
    // The two of the deadlock, fifty that wait for the notification, and the thread.
    let waits = |what: &str| tasks.lines().filter(|line| line.contains(what)).count();
    assert_eq!(waits("  mutex "), 2, "{tasks}");
    assert_eq!(waits("real_program.rs:"), 53 + 1, "with the verdict: {tasks}");
    let json = program.printed(&["ps", "--filter", "notify", "--limit", "7", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["matching"], 51, "{json}");
    assert_eq!(json["rows"].as_array().unwrap().len(), 7);
    let groups = program.printed(&["ps", "--group"]);
    assert!(groups.lines().any(|line| line.trim_start().starts_with("50  ")), "{groups}");
    let dump = program.printed(&["dump"]);
    assert!(dump.contains("What hangs:") && dump.contains("deadlock (likely)"), "{dump}");
}

#[test]
fn a_program_without_the_variable_is_explained() {
    if is_program() {
        return hang();
    }
    let program = Program::start("a_program_without_the_variable_is_explained", None);
    let output = program.call(&["ps"]).output().unwrap();
    assert_eq!(output.status.code(), Some(101));
    assert!(stderr(&output).contains("runs without WAKEFUL_CONSOLE"), "{}", stderr(&output));
}

#[test]
fn a_stopped_program_does_not_hold_up_the_tool() {
    if is_program() {
        return hang();
    }
    let program = Program::start("a_stopped_program_does_not_hold_up_the_tool", Some("1"));
    // SAFETY: `kill` accesses no memory of this process, and the child has not been reaped.
    unsafe { libc::kill(program.process.id() as i32, libc::SIGSTOP) };
    let output = program.call(&["dump"]).output().unwrap();
    assert_eq!(output.status.code(), Some(101));
    assert!(stderr(&output).contains("does not answer"), "{}", stderr(&output));
}

#[test]
fn a_profile_has_the_task_that_computes_and_those_that_wait() {
    if is_program() {
        return compute();
    }
    let test = "a_profile_has_the_task_that_computes_and_those_that_wait";
    let program = Program::start(test, Some("1"));
    let text = program.printed(&["profile", "--for", "1500ms", "--folded", "-"]);
    let time_of = |has: &[&str]| -> f64 {
        let lines = text.lines().filter(|line| has.iter().all(|part| line.contains(part)));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    // The test may share its CPU with others, but a task that never waits is busy for most of it.
    let computing = time_of(&["busy;", "real_program.rs:"]);
    assert!((0.5e6..3e6).contains(&computing), "{text}");
    let waiting = time_of(&["waiting;real_program::serve", ";real_program::store", ";a mutex "]);
    assert!((5.0 * 1.4e6..5.0 * 3e6).contains(&waiting), "{text}");
    assert!(text.contains("tests/real_program.rs:"), "debug builds have files and lines: {text}");
}

#[test]
fn a_program_that_may_not_be_asked_is_explained() {
    if is_program() {
        return compute();
    }
    let program = Program::start("a_program_that_may_not_be_asked_is_explained", Some("nopoll"));
    let output = program.call(&["profile", "--waiting"]).output().unwrap();
    assert_eq!(output.status.code(), Some(101));
    assert!(stderr(&output).contains("`nopoll` in WAKEFUL_CONSOLE"), "{}", stderr(&output));
    let output = program.call(&["profile", "--for", "500ms"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("real_program.rs:"), "{}", stdout(&output));
    assert!(stderr(&output).contains("without waiting time"), "{}", stderr(&output));
}
