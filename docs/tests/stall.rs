//! What chapter 6 says its program prints, it prints.

use std::process::Command;

/// What the program prints to stdout and to stderr.
fn output(arguments: &[&str], report: &str) -> (String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_stall"));
    let output = program.args(arguments).env("WAKEFUL_STALL_REPORT", report).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn stalls_are_counted_unasked() {
    let (stdout, stderr) = output(&[], "0");
    assert!(stdout.contains("stalls: ") && !stdout.contains("stalls: 0"), "{stdout}");
    assert!(!stderr.contains("wakeful: "), "{stderr}");
}

#[test]
fn the_report_names_where_the_task_that_blocks_was_spawned() {
    for arguments in [&[][..], &["current-thread"]] {
        let (_, stderr) = output(arguments, "1");
        let spawned = include_str!("../src/bin/stall.rs").lines();
        let line = spawned.enumerate().find(|(_, line)| line.contains("spawn(reload_settings"));
        let place = format!("src/bin/stall.rs:{}:", line.unwrap().0 + 1);
        let named = |line: &str| line.starts_with("wakeful: task ") && line.contains(&place);
        assert!(stderr.lines().any(named), "{stderr}");
    }
}
