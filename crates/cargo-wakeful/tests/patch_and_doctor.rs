//! `cargo wakeful add`, `remove` and `doctor`, on small programs and a stand-in for the drop-in.

mod common;

use std::fs;
use std::process::{Command, Output};

use common::{Folder, contents, lock, output, program, stand_in, stderr, stdout, wakeful};
use serde_json::Value;

fn manifest(folder: &Folder) -> String {
    fs::read_to_string(folder.path("program/Cargo.toml")).unwrap()
}

fn succeeds(folder: &Folder, args: &[&str]) -> Output {
    let output = output(folder, args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    output
}

#[test]
fn add_puts_the_program_on_the_drop_in_and_remove_puts_it_back() {
    let folder = program("add", "tokio = '1' # the runtime\n\n# the end");
    lock(&folder, "1.40.0");
    let before = manifest(&folder);
    let preview = succeeds(&folder, &["add", "--dry-run"]);
    assert!(
        stdout(&preview).contains("tokio = { path = \"../stand-in\" }"),
        "{}",
        stdout(&preview)
    );
    assert_eq!(manifest(&folder), before);

    let added = succeeds(&folder, &["add"]);
    assert!(stderr(&added).contains("To go back: `cargo wakeful remove`"), "{}", stderr(&added));
    let patch = "\n[patch.crates-io]\ntokio = { path = \"../stand-in\" }\n";
    assert_eq!(manifest(&folder), before.clone() + patch);
    // The lock file matches: cargo itself builds the stand-in, and changes nothing.
    let files = contents(&folder.path("program"));
    folder.cargo(&["test", "--quiet", "--locked", "--manifest-path", "program/Cargo.toml"]);
    let again = succeeds(&folder, &["add"]);
    assert!(stderr(&again).contains("has the patch already"), "{}", stderr(&again));
    assert_eq!(contents(&folder.path("program")), files);

    let removed = succeeds(&folder, &["remove"]);
    assert!(stderr(&removed).contains("Cargo.lock has tokio 1."), "{}", stderr(&removed));
    assert_eq!(manifest(&folder), before);
    let again = succeeds(&folder, &["remove"]);
    assert!(stderr(&again).contains("has no patch for tokio"), "{}", stderr(&again));
    assert!(!folder.path("program/Cargo.toml.wakeful").exists());
}

#[test]
fn the_patch_of_a_member_is_written_to_the_root_of_the_workspace() {
    let folder = program("add-member", "tokio = '1'");
    let root = "# all\n[workspace]\nresolver = '2'\nmembers = ['program']\n";
    folder.write("Cargo.toml", root);
    let member = manifest(&folder);
    succeeds(&folder, &["add"]);
    let text = fs::read_to_string(folder.path("Cargo.toml")).unwrap();
    assert_eq!(text, root.to_owned() + "\n[patch.crates-io]\ntokio = { path = \"stand-in\" }\n");
    assert_eq!(manifest(&folder), member);
    succeeds(&folder, &["remove", "--manifest-path", "Cargo.toml"]);
    assert_eq!(fs::read_to_string(folder.path("Cargo.toml")).unwrap(), root);
}

#[test]
fn a_patch_that_is_not_wakefuls_is_left_alone() {
    let folder =
        program("foreign", "tokio = '1'\n[patch.crates-io]\ntokio = { path = '../other' }");
    stand_in(&folder, "other", "another");
    let before = contents(&folder.path(""));
    for command in ["add", "remove"] {
        let output = output(&folder, &[command]);
        assert_eq!(output.status.code(), Some(101));
        let text = stderr(&output);
        assert!(text.contains("not Wakeful's: path = \"../other\""), "{text}");
        assert_eq!(contents(&folder.path("")), before);
    }
}

#[test]
fn the_path_of_another_checkout_is_updated() {
    let folder = program(
        "moved",
        "tokio = '1'\n[patch.crates-io]\ntokio = { path = '../gone/crates/tokio-drop-in' }",
    );
    // The old folder is not there any more, so cargo itself cannot resolve the program.
    succeeds(&folder, &["add"]);
    assert!(
        manifest(&folder).contains("tokio = { path = \"../stand-in\" }"),
        "{}",
        manifest(&folder)
    );
    assert!(!manifest(&folder).contains("gone"), "{}", manifest(&folder));
}

#[test]
fn a_patch_can_name_a_git_repository() {
    let folder = program("git", "tokio = '1'");
    lock(&folder, "1.40.0");
    let before = manifest(&folder);
    // The repository: the stand-in as a commit.
    stand_in(&folder, "wakeful/crates/tokio-drop-in", "of the repository");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(folder.path("wakeful")).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
        ]);
        assert!(command.args(args).output().unwrap().status.success(), "git {args:?}");
    };
    git(&["init", "--quiet", "--initial-branch=trunk"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "first"]);
    let url = format!("file://{}", folder.path("wakeful").display());
    succeeds(&folder, &["add", "--git", &url, "--branch", "trunk"]);
    let line = format!("tokio = {{ git = \"{url}\", branch = \"trunk\" }}\n");
    assert!(manifest(&folder).ends_with(&line), "{}", manifest(&folder));
    let lock_file = fs::read_to_string(folder.path("program/Cargo.lock")).unwrap();
    assert!(lock_file.contains(&format!("git+{url}")), "{lock_file}");
    let again = succeeds(&folder, &["add", "--git", &url, "--branch", "trunk"]);
    assert!(stderr(&again).contains("has the patch already"), "{}", stderr(&again));
    // Without `--git`, the checkout takes the repository's place.
    succeeds(&folder, &["add"]);
    assert!(manifest(&folder).ends_with("tokio = { path = \"../stand-in\" }\n"));
    succeeds(&folder, &["remove"]);
    assert_eq!(manifest(&folder), before);
}

#[test]
fn a_program_that_cannot_move_is_not_changed() {
    let folder = program("stays", "tokio = '=1.40.0'");
    lock(&folder, "1.40.0");
    let before = contents(&folder.path("program"));
    let output = output(&folder, &["add"]);
    assert_eq!(output.status.code(), Some(101));
    assert!(stderr(&output).contains("`program` requires tokio `=1.40.0`"), "{}", stderr(&output));
    assert_eq!(contents(&folder.path("program")), before);
}

fn doctor(folder: &Folder, args: &[&str]) -> (Option<i32>, Value) {
    let output = output(folder, &[&["doctor", "--json"], args].concat());
    let json = serde_json::from_slice(&output.stdout);
    (output.status.code(), json.unwrap_or_else(|_| panic!("{}", stderr(&output))))
}

/// Returns the level and the message of the program's finding of this check.
fn finding(report: &Value, check: &str) -> Option<(String, String)> {
    let found = report["program"].as_array()?.iter().find(|it| it["check"] == check)?;
    Some((found["level"].as_str()?.to_owned(), found["message"].as_str()?.to_owned()))
}

#[test]
fn the_doctor_finds_no_problem_in_a_program_that_moves_and_changes_nothing() {
    let folder = program("healthy", "tokio = '1'");
    lock(&folder, "1.40.0");
    let before = contents(&folder.path("program"));
    let (code, report) = doctor(&folder, &[]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["problems"], 0);
    let (level, message) = finding(&report, "resolve").unwrap();
    assert_eq!(level, "ok");
    assert!(
        message.contains("tokio 1.40.0 would be replaced by Wakeful's tokio 1.54.1"),
        "{message}"
    );
    assert_eq!(contents(&folder.path("program")), before);
    let text = stdout(&succeeds(&folder, &["doctor"]));
    assert!(text.contains("This machine") && text.contains("No problem found"), "{text}");
}

#[test]
fn the_doctor_names_what_would_not_move_and_says_what_to_do() {
    let folder = program("ill", "tokio = { version = '=1.40.0', features = ['sync'] }");
    folder.write("program/src/dump.rs", "use tokio::runtime::dump::Dump;\n");
    folder
        .write("program/.cargo/config.toml", "[build]\nrustflags = ['--cfg', 'tokio_unstable']\n");
    lock(&folder, "1.40.0");
    let (code, report) = doctor(&folder, &[]);
    assert_eq!(code, Some(1));
    let program = report["program"].as_array().unwrap();
    let versions: Vec<&Value> = program.iter().filter(|it| it["check"] == "version").collect();
    assert_eq!(versions.len(), 2, "a version and a feature: {report:#}");
    assert!(versions.iter().all(|it| it["advice"].as_str().unwrap().contains("Relax")));
    assert_eq!(finding(&report, "task-dump").unwrap().0, "problem");
    assert_eq!(finding(&report, "tokio_unstable").unwrap().0, "note");
    assert_eq!(report["problems"], 3, "{report:#}");
}

#[test]
fn the_doctor_names_other_runtimes_and_features_without_effect() {
    let folder = program(
        "mixed",
        "tokio = { version = '1', features = ['tracing'] }\nsmol = { path = '../smol' }",
    );
    folder.write("smol/Cargo.toml", "[package]\nname = 'smol'\nversion = '2.0.0'\n");
    folder.write("smol/src/lib.rs", "");
    let drop_in = fs::read_to_string(folder.path("stand-in/Cargo.toml")).unwrap();
    folder.write("stand-in/Cargo.toml", &drop_in.replace("rt = []", "rt = []\ntracing = []"));
    let (code, report) = doctor(&folder, &[]);
    assert_eq!(code, Some(0), "notes are no problems: {report:#}");
    assert!(finding(&report, "runtimes").unwrap().1.contains("`smol`"));
    assert!(finding(&report, "feature").unwrap().1.contains("`tracing`"));
}

#[test]
fn the_doctor_checks_the_machine_without_a_program() {
    let folder = Folder::new("no-program");
    stand_in(&folder, "stand-in", "the stand-in");
    let call = || {
        let mut command = wakeful(&folder, &["doctor", "--json"]);
        command.current_dir(folder.path(""));
        command
    };
    let healthy = call().output().unwrap();
    assert!(healthy.status.success(), "{}", stderr(&healthy));
    let report: Value = serde_json::from_slice(&healthy.stdout).unwrap();
    assert_eq!(report["workspace"], Value::Null);
    assert!(report["machine"].as_array().unwrap().len() > 4);
    let wrong = call().env("WAKEFUL_WORKER_THREADS", "many").output().unwrap();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stdout(&wrong).contains("WAKEFUL_WORKER_THREADS is \\\"many\\\""),
        "{}",
        stdout(&wrong)
    );
    let missing = wakeful(&folder, &["doctor", "--manifest-path", "none/Cargo.toml"])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(101));
}
