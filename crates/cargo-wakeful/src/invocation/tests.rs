use std::path::Path;

use super::{Invocation, Request, help, parse};

fn asked(line: &str) -> Result<Request, String> {
    parse(line.split_whitespace().map(str::to_owned))
}

fn call(line: &str) -> Invocation {
    match asked(line) {
        Ok(Request::Run(call)) => call,
        other => panic!("not a call: {other:?}"),
    }
}

#[test]
fn the_leading_word_wakeful_is_optional() {
    assert_eq!(asked("wakeful run --release"), asked("run --release"));
    assert_eq!(asked("wakeful"), Ok(Request::Help));
    assert_eq!(asked(""), Ok(Request::Help));
    assert_eq!(asked("wakeful --version"), Ok(Request::Version));
    assert_eq!(asked("wakeful -h"), Ok(Request::Help));
}

#[test]
fn short_names_work_and_arguments_are_unchanged() {
    let call = call("wakeful t --release -p one -- --nocapture --locked");
    assert_eq!(call.subcommand, "t");
    assert_eq!(call.args, ["--release", "-p", "one", "--", "--nocapture", "--locked"]);
    assert!(!call.is_locked, "what follows -- is not cargo's");
}

#[test]
fn an_unknown_command_is_refused_with_a_list_of_commands() {
    for line in ["wakeful publish", "wakeful --release run"] {
        let message = asked(line).unwrap_err();
        assert!(message.contains("run, test, build, bench, check"), "{message}");
    }
}

#[test]
fn options_that_affect_resolution_are_found_in_either_form() {
    let expected = ["--manifest-path", "a/Cargo.toml", "--config", "net.retry=3", "--offline"];
    let apart = call("build --manifest-path a/Cargo.toml --config net.retry=3 --offline");
    let joined = call("build --manifest-path=a/Cargo.toml --config=net.retry=3 --offline");
    assert_eq!(apart.resolve_args, expected);
    assert_eq!(joined.resolve_args, expected);
}

#[test]
fn frozen_is_locked_and_offline() {
    let call = call("build --frozen --target x86_64-unknown-linux-gnu --target-dir elsewhere");
    assert!(call.is_locked);
    assert_eq!(call.resolve_args, ["--offline"]);
    assert_eq!(call.targets, ["x86_64-unknown-linux-gnu"]);
}

#[test]
fn arguments_of_the_program_are_not_parsed() {
    let call = call("run -p one --bin two three --locked --manifest-path none");
    assert!(!call.is_locked);
    assert!(call.resolve_args.is_empty());
    // The first word after `cargo test` is a filter; options may follow it.
    assert!(self::call("test some_name --locked").is_locked);
}

#[test]
fn help_of_a_command_is_left_to_cargo() {
    assert!(call("run --help").asks_for_help);
    assert!(!call("run -- --help").asks_for_help);
}

#[test]
fn a_missing_value_is_named() {
    assert!(asked("build --manifest-path").unwrap_err().contains("--manifest-path"));
}

#[test]
fn the_help_shows_the_default_checkout() {
    let text = help(Path::new("/some/where"));
    assert!(text.contains("/some/where") && text.contains("WAKEFUL_PATH"), "{text}");
}
