//! The program of chapter 6 prints what the chapter says.

use std::process::Command;

/// Returns what the program prints to stdout and to stderr.
fn output(arguments: &[&str], report: &str) -> (String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_stall"));
    let output = program.args(arguments).env("WAKEFUL_STALL_REPORT", report).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

/// Asserts that the output is `right` in one of ten runs: on a machine that is short of CPU time, a
/// stall of 40 ms may go unseen.
#[track_caller]
fn assert_output(arguments: &[&str], report: &str, right: impl Fn(&str, &str) -> bool) {
    let mut outputs = (0..10).map(|_| output(arguments, report));
    assert!(outputs.any(|(stdout, stderr)| right(&stdout, &stderr)));
}

#[test]
fn stalls_are_counted_unasked() {
    assert_output(&[], "0", |stdout, stderr| {
        assert!(stdout.contains("stalls: "), "{stdout}");
        assert!(!stderr.contains("wakeful: "), "{stderr}");
        !stdout.contains("stalls: 0")
    });
}

#[test]
fn the_report_names_where_the_task_that_blocks_was_spawned() {
    let mut program = include_str!("../src/bin/stall.rs").lines();
    let line = program.position(|line| line.contains("spawn(reload_settings())")).unwrap() + 1;
    let place = format!("src/bin/stall.rs:{line}:");
    for page in [include_str!("../06-stalls.md"), include_str!("../06-stalls.zh-CN.md")] {
        assert!(page.contains(&place), "the chapter shows an older program's output");
    }
    let is_named = |line: &str| line.starts_with("wakeful: task ") && line.contains(&place);
    for arguments in [&[][..], &["current-thread"]] {
        assert_output(arguments, "1", |_, stderr| stderr.lines().any(is_named));
    }
}
