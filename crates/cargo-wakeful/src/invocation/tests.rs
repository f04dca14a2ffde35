use std::path::Path;

use super::{Doctor, Edit, Invocation, Request, Topic, help, parse};

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
    assert_eq!(asked("wakeful"), Ok(Request::Help(Topic::All)));
    assert_eq!(asked(""), Ok(Request::Help(Topic::All)));
    assert_eq!(asked("wakeful --version"), Ok(Request::Version));
    assert_eq!(asked("wakeful -h"), Ok(Request::Help(Topic::All)));
}

#[test]
fn short_names_work_and_arguments_are_unchanged() {
    let call = call("wakeful t --release -p one -- --nocapture --locked");
    assert_eq!(call.command, ["t"]);
    assert_eq!(call.args, ["--release", "-p", "one", "--", "--nocapture", "--locked"]);
    assert!(!call.is_locked, "what follows -- is not cargo's");
}

#[test]
fn an_unknown_command_is_refused_with_a_list_of_commands() {
    let message = asked("wakeful publish").unwrap_err();
    assert!(message.contains("run, test, build, bench, check"), "{message}");
    assert!(message.contains("cargo wakeful add"), "what to do instead: {message}");
    let message = asked("wakeful --release run").unwrap_err();
    assert!(message.contains("cargo wakeful run --release"), "{message}");
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
    let text = help(Topic::All, Path::new("/some/where"));
    assert!(text.contains("/some/where") && text.contains("WAKEFUL_PATH"), "{text}");
}

#[test]
fn no_line_of_a_help_text_is_wider_than_a_terminal() {
    let all = [Topic::All, Topic::Add, Topic::Remove, Topic::Doctor, Topic::Ps, Topic::Dump];
    for topic in all.into_iter().chain([Topic::Console]) {
        let text = help(topic, Path::new("/some/where"));
        assert!(text.contains("Usage: cargo wakeful"), "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{widest:?} in {topic:?}");
        assert_eq!(asked(&format!("help {}", topic.name())), Ok(Request::Help(topic)));
    }
    assert_eq!(asked("wakeful doctor --help"), Ok(Request::Help(Topic::Doctor)));
    assert_eq!(asked("wakeful add -h"), Ok(Request::Help(Topic::Add)));
}

#[test]
fn commands_of_other_programs_are_marked() {
    let clippy = call("clippy --all-targets -- -D warnings");
    assert!(clippy.is_external && !clippy.runs_something());
    let nextest = call("nextest run --cargo-profile release -E test(a)");
    assert_eq!(nextest.command, ["nextest", "run"]);
    assert_eq!(nextest.args, ["--cargo-profile", "release", "-E", "test(a)"]);
    assert!(nextest.is_external && nextest.runs_something());
    assert!(!call("doc --no-deps").is_external);
    assert!(asked("nextest --workspace").unwrap_err().contains("cargo wakeful nextest run"));
    assert!(call("nextest --help").asks_for_help);
}

#[test]
fn a_toolchain_comes_first() {
    let args = vec!["test".to_owned(), "--lib".to_owned()];
    let expected = Request::Toolchain { name: "nightly".to_owned(), args };
    assert_eq!(asked("wakeful +nightly test --lib"), Ok(expected));
}

#[test]
fn features_and_quietness_are_read() {
    let call = call("test -q -F a,b --features=c --no-default-features --all-features");
    let expected =
        ["--features", "a,b", "--features", "c", "--no-default-features", "--all-features"];
    assert_eq!(call.feature_args, expected);
    assert!(call.is_quiet);
}

#[test]
fn options_of_add_remove_and_doctor_are_read() {
    let edit = Edit {
        manifest_path: Some("a/Cargo.toml".into()),
        is_dry_run: true,
        is_offline: true,
        ..Edit::default()
    };
    assert_eq!(asked("add --manifest-path a/Cargo.toml -n --offline"), Ok(Request::Add(edit)));
    let edit = Edit { manifest_path: Some("a/Cargo.toml".into()), ..Edit::default() };
    assert_eq!(asked("remove --manifest-path=a/Cargo.toml"), Ok(Request::Remove(edit)));
    let doctor = Doctor { prints_json: true, ..Doctor::default() };
    assert_eq!(asked("doctor --json"), Ok(Request::Doctor(doctor)));
    let Ok(Request::Add(edit)) = asked("add --git https://example.org/wakeful --rev 0a1b") else {
        panic!("not read");
    };
    assert_eq!(edit.git.as_deref(), Some("https://example.org/wakeful"));
    assert_eq!(edit.git_at, Some(("rev", "0a1b".to_owned())));
    for line in
        ["add --git", "add --rev 0a1b", "remove --git a", "remove tokio", "doctor --manifest-path"]
    {
        assert!(asked(line).is_err(), "{line}");
    }
}
