//! What is *certain* to hang hangs. These programs only look so: a guard, or a future that has one,
//! was moved to another task, or a task is about to be aborted. A verdict on them is *likely* at
//! most.

#![cfg(target_os = "linux")]

use std::thread;
use std::time::Duration;

use driver::{CONSOLE, Program};

/// Reports come after a second at the earliest.
const REPORTED_AFTER: Duration = Duration::from_millis(2_500);

const DUMPS: usize = 3;

fn no_verdict_is_certain(name: &str) {
    let run = |flavor: &str, variables: &[(&str, &str)]| {
        let path = env!("CARGO_BIN_EXE_hung");
        let mut program = Program::start(path, &[name, "--flavor", flavor], variables);
        let says_so = |said: &[String]| said.iter().any(|line| line.contains("(certain)"));
        for _ in 0..DUMPS {
            let dump = program.dump();
            assert!(!says_so(&dump.lines), "{name} {flavor}: it goes on, but:\n{}", program.said());
        }
        thread::sleep(REPORTED_AFTER);
        assert!(!says_so(&program.errors.get()), "{name} {flavor}: {}", program.said());
        program.close_input();
        let status = program.status();
        assert!(status.success(), "{name} {flavor}: {}", program.said());
        assert_eq!(program.output.get(), ["ready", "done"], "{name} {flavor}");
    };
    let modes: [&[_]; 2] =
        [&[(CONSOLE, "1")], &[(CONSOLE, "watch"), ("WAKEFUL_DEADLOCK_REPORT", "50ms")]];
    thread::scope(|scope| {
        for flavor in ["mt", "ct"] {
            for mode in modes {
                scope.spawn(move || run(flavor, mode));
            }
        }
    });
}

macro_rules! goes_on {
    ($($name:ident)*) => {
        $(#[test] fn $name() { no_verdict_is_certain(stringify!($name)); })*
    };
}

goes_on! {
    aborted_join
    moved_future
    moved_grant
    moved_guard
    moved_initializer
    moved_leaked_guard
    moved_read_guard
    moved_write_guard
}
