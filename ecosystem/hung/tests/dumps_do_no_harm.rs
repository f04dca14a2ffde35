//! Dumps, and looks for deadlocks, change nothing in situations in which Tokio's `Handle::dump`
//! broke something.
//!
//! The programs are in `src/dumped`. Each checks its own results, round after round, until enough
//! dumps have been made.

#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use driver::{CONSOLE, DUMP_ENDS, DUMP_PATH, LIMIT, Program};

/// So many dumps are made during the rounds.
const DUMPS: usize = 8;

/// The time from one request to the next. Requests during a dump are answered by one dump.
const PERIOD: Duration = Duration::from_millis(20);

/// Deadlocks are looked for, and tasks asked, while no dump is made. There are none.
const LOOKS: (&str, &str) = ("WAKEFUL_DEADLOCK_REPORT", "20ms,likely");

macro_rules! programs {
    ($($name:ident,)*) => {
        mod multi_thread { $(#[test] fn $name() { super::in_both_modes(stringify!($name), "mt"); })* }
        mod current_thread { $(#[test] fn $name() { super::in_both_modes(stringify!($name), "ct"); })* }
    };
}

programs! { issue_6035, issue_6051, issue_6343, issue_7478, issue_8391, issue_8434, }

fn in_both_modes(name: &str, flavor: &str) {
    for variable in ["1", "watch"] {
        let dumps = Dumps::new(name, flavor, variable);
        run(name, flavor, variable, &dumps);
    }
}

fn run(name: &str, flavor: &str, variable: &str, dumps: &Dumps) {
    let path = dumps.path.to_str().expect("it is made of ASCII");
    let variables = [(CONSOLE, variable), (DUMP_PATH, path), LOOKS];
    let run = [name, "--flavor", flavor];
    let mut program = Program::start(env!("CARGO_BIN_EXE_hung"), &run, &variables);
    let started = Instant::now();
    let status = loop {
        if let Some(status) = program.try_status() {
            break status;
        }
        program.signal(libc::SIGQUIT);
        thread::sleep(PERIOD);
        if dumps.count() >= DUMPS {
            program.close_input();
        }
        let is_late = started.elapsed() > LIMIT;
        assert!(!is_late, "{} dumps and no end after {LIMIT:?}\n{}", dumps.count(), program.said());
    };
    let said = program.said();
    assert!(status.success(), "ended with {status}\n{said}");
    assert_eq!(program.output.get(), ["ready", "done"], "{said}");
    assert!(dumps.count() >= DUMPS, "ended early, after {} dumps\n{said}", dumps.count());
    let text = dumps.text();
    let hangs: Vec<&str> = text.lines().filter(|line| line.starts_with("wakeful: ")).collect();
    assert!(hangs.is_empty(), "it does not hang, but:\n{}", hangs.join("\n"));
    println!("{name} {flavor} {variable}: {} dumps in {:?}", dumps.count(), started.elapsed());
}

/// The file that the dumps of a program are written to.
struct Dumps {
    path: PathBuf,
}

impl Dumps {
    fn new(name: &str, flavor: &str, variable: &str) -> Dumps {
        let file = format!("hung-{}-{name}-{flavor}-{variable}.dump", process::id());
        Dumps { path: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file) }
    }

    fn text(&self) -> String {
        let text = fs::read(&self.path).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    fn count(&self) -> usize {
        self.text().lines().filter(|line| line.starts_with(DUMP_ENDS)).count()
    }
}

impl Drop for Dumps {
    fn drop(&mut self) {
        // Is not there if there was no dump.
        let _ = fs::remove_file(&self.path);
    }
}
