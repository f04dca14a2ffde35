//! `cargo wakeful` runs small programs on the drop-in and leaves them unchanged. A stand-in for the
//! drop-in, without dependencies, keeps builds short; `mini_redis.rs` uses the real one.

mod common;

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use common::{Folder, contents, start, stderr, stdout};

const MAIN: &str = r#"
    fn main() {
        println!("{}", tokio::STAND_IN);
        match std::env::args().nth(1).as_deref() {
            Some("wait") => std::thread::sleep(std::time::Duration::from_secs(600)),
            Some(code) => std::process::exit(code.parse().unwrap()),
            None => {}
        }
    }

    #[test]
    fn is_on_the_stand_in() {
        assert_eq!(tokio::STAND_IN, "the stand-in");
    }
"#;

/// Creates a program that only compiles with the stand-in. `dependencies` is the end of its
/// manifest.
fn program(test: &str, dependencies: &str) -> Folder {
    let folder = Folder::new(test);
    let head = "[package]\nname = 'program'\nversion = '0.1.0'\nedition = '2021'\n";
    folder.write("program/Cargo.toml", &format!("{head}[dependencies]\n{dependencies}\n"));
    folder.write("program/src/main.rs", MAIN);
    stand_in(&folder, "stand-in", "the stand-in");
    folder
}

fn stand_in(folder: &Folder, name: &str, says: &str) {
    let manifest = "[package]\nname = \"tokio\"\nversion = \"1.54.1\"\nedition = \"2021\"\n[features]\nrt = []\n[workspace]\n";
    folder.write(&format!("{name}/Cargo.toml"), manifest);
    folder.write(&format!("{name}/src/lib.rs"), &format!("pub const STAND_IN: &str = {says:?};"));
}

/// Returns a call of `cargo wakeful` for the program, with the stand-in as the drop-in.
fn wakeful(folder: &Folder, args: &[&str]) -> Command {
    let mut command = folder.wakeful(args);
    command.current_dir(folder.path("program")).env("WAKEFUL_PATH", folder.path("stand-in"));
    command
}

fn output(folder: &Folder, args: &[&str]) -> Output {
    wakeful(folder, args).output().unwrap()
}

/// Writes a lock file that contains this version of the real Tokio.
fn lock(folder: &Folder, version: &str) {
    folder.cargo(&["generate-lockfile", "--manifest-path", "program/Cargo.toml"]);
    let manifest = ["--manifest-path", "program/Cargo.toml"];
    folder.cargo(&[&["update", "tokio", "--precise", version][..], &manifest].concat());
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: `kill` accesses no memory of this process. The child has not been reaped, so the id
    // is still its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn a_program_runs_on_the_drop_in_and_is_left_unchanged() {
    let folder = program("runs", "tokio = { version = '1', features = ['rt'] }");
    lock(&folder, "1.54.1");
    let before = contents(&folder.path("program"));
    let output = output(&folder, &["run", "--quiet", "--", "7"]);
    assert_eq!(stdout(&output), "the stand-in\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(7), "the program's exit code is passed on");
    assert_eq!(contents(&folder.path("program")), before);
    assert!(folder.path("program/target/wakeful/debug/program").exists());
    assert!(!folder.path("program/target/debug").exists());
}

#[test]
fn a_lock_file_with_an_older_tokio_works() {
    let folder = program("older", "tokio = '1'");
    lock(&folder, "1.40.0");
    let before = contents(&folder.path("program"));
    let output = output(&folder, &["test", "--quiet", "--locked"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("1 passed"));
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn a_missing_lock_file_is_missing_afterwards() {
    let folder = program("lockless", "tokio = '1'");
    let before = contents(&folder.path("program"));
    let built = output(&folder, &["build", "--target-dir", "elsewhere"]);
    assert!(built.status.success(), "{}", stderr(&built));
    assert!(folder.path("program/elsewhere/debug/program").exists());
    fs::remove_dir_all(folder.path("program/elsewhere")).unwrap();
    assert_eq!(contents(&folder.path("program")), before);
    // Cargo itself requires a lock file for --locked.
    let locked = output(&folder, &["build", "--locked"]);
    assert_eq!(locked.status.code(), Some(101));
    assert!(stderr(&locked).contains("--locked"), "{}", stderr(&locked));
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn a_patch_in_the_manifest_is_overridden() {
    let folder =
        program("patched", "tokio = '1'\n[patch.crates-io]\ntokio = { path = '../other' }");
    stand_in(&folder, "other", "another");
    folder.cargo(&["generate-lockfile", "--manifest-path", "program/Cargo.toml"]);
    let before = contents(&folder.path("program"));
    let output = output(&folder, &["run", "--quiet"]);
    assert_eq!(stdout(&output), "the stand-in\n", "{}", stderr(&output));
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn a_member_of_a_workspace_can_be_run() {
    let folder = program("members", "tokio = '1'");
    folder.write("Cargo.toml", "[workspace]\nresolver = '2'\nmembers = ['program']\n");
    let before = contents(&folder.path(""));
    let mut command = folder.wakeful(&["run", "-q", "-p", "program"]);
    let output = command.env("WAKEFUL_PATH", folder.path("stand-in")).output().unwrap();
    assert_eq!(stdout(&output), "the stand-in\n", "{}", stderr(&output));
    assert_eq!(contents(&folder.path("")), before);
    assert!(folder.path("target/wakeful/debug/program").exists());
}

/// Asserts that nothing is run, that the message contains these words, and that the program is
/// unchanged.
fn assert_refused(folder: &Folder, words: &[&str]) {
    let before = contents(&folder.path("program"));
    let output = output(folder, &["check"]);
    assert_eq!(output.status.code(), Some(101));
    for word in words {
        assert!(stderr(&output).contains(word), "{word:?} is not in: {}", stderr(&output));
    }
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn an_unmet_version_requirement_is_named() {
    let folder = program("exact", "tokio = '=1.40.0'");
    assert_refused(
        &folder,
        &["Tokio 1.40.0 could not be replaced", "`program` requires tokio `=1.40.0`"],
    );
    lock(&folder, "1.40.0");
    assert_refused(
        &folder,
        &["Tokio 1.40.0 could not be replaced", "`program` requires tokio `=1.40.0`"],
    );
}

#[test]
fn a_missing_feature_is_named() {
    let folder = program("feature", "tokio = { version = '1', features = ['sync'] }");
    assert_refused(&folder, &["feature `sync`"]);
    lock(&folder, "1.54.1");
    assert_refused(&folder, &["feature `sync`"]);
}

#[test]
fn a_tokio_in_a_folder_is_named() {
    let folder = program("folder", "tokio = { path = '../other' }");
    stand_in(&folder, "other", "another");
    assert_refused(
        &folder,
        &["Tokio 1.54.1 could not be replaced", "/other, by a path dependency"],
    );
}

#[test]
fn a_program_without_tokio_is_refused() {
    let folder = program("without", "");
    assert_refused(&folder, &["does not use Tokio"]);
}

#[test]
fn a_folder_without_a_program_or_without_wakeful_is_refused() {
    let folder = Folder::new("nothing");
    let no_program = folder.wakeful(&["run"]).output().unwrap();
    assert_eq!(no_program.status.code(), Some(101));
    assert!(stderr(&no_program).contains("could not find `Cargo.toml`"), "{}", stderr(&no_program));
    let no_wakeful =
        folder.wakeful(&["run"]).env("WAKEFUL_PATH", folder.path("")).output().unwrap();
    assert_eq!(no_wakeful.status.code(), Some(101));
    assert!(stderr(&no_wakeful).contains("Set WAKEFUL_PATH"), "{}", stderr(&no_wakeful));
}

#[test]
fn help_and_version_need_no_program() {
    let folder = Folder::new("help");
    let help = folder.wakeful(&["--help"]).output().unwrap();
    assert!(help.status.success() && stdout(&help).contains("WAKEFUL_PATH"));
    let version = folder.wakeful(&["--version"]).output().unwrap();
    assert_eq!(stdout(&version), format!("cargo-wakeful {}\n", env!("CARGO_PKG_VERSION")));
    let cargos = folder.wakeful(&["run", "--help"]).output().unwrap();
    assert!(cargos.status.success() && stdout(&cargos).contains("--manifest-path"));
}

#[test]
fn a_signal_ends_both_processes_and_the_lock_file_is_restored() {
    let folder = program("signal", "tokio = '1'");
    lock(&folder, "1.54.1");
    let before = contents(&folder.path("program"));
    for number in [libc::SIGINT, libc::SIGTERM] {
        let (mut child, line) = start(wakeful(&folder, &["run", "--quiet", "--", "wait"]));
        assert_eq!(line, "the stand-in\n");
        assert_ne!(
            contents(&folder.path("program")),
            before,
            "the lock file is changed while the program runs"
        );
        signal(&child, number);
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert_eq!(contents(&folder.path("program")), before);
    }
}

#[test]
fn the_lock_file_is_restored_after_a_signal_at_any_moment() {
    let folder = program("moments", "tokio = '1'");
    lock(&folder, "1.54.1");
    let before = contents(&folder.path("program"));
    for delay_ms in (0..500).step_by(50) {
        let mut child = wakeful(&folder, &["run", "--quiet", "--", "wait"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(delay_ms));
        signal(&child, libc::SIGINT);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT), "after {delay_ms} ms");
        assert_eq!(contents(&folder.path("program")), before, "after {delay_ms} ms");
    }
}

#[test]
fn the_next_call_restores_the_lock_file_of_a_killed_one() {
    let folder = program("killed", "tokio = '1'");
    lock(&folder, "1.40.0");
    let before = contents(&folder.path("program"));
    let (mut child, _) = start(wakeful(&folder, &["run", "--quiet", "--", "wait"]));
    child.kill().unwrap();
    child.wait().unwrap();
    // Reaches the end once the program has ended: the kernel ends it together with the killed call.
    io::copy(&mut child.stdout.take().unwrap(), &mut io::sink()).unwrap();
    assert_ne!(contents(&folder.path("program")), before);
    let next = output(&folder, &["check"]);
    assert!(next.status.success(), "{}", stderr(&next));
    assert!(stderr(&next).contains("restored Cargo.lock"), "{}", stderr(&next));
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn a_server_and_its_client_run_side_by_side() {
    let folder = program("both", "tokio = '1'");
    lock(&folder, "1.40.0");
    let before = contents(&folder.path("program"));
    let (mut server, _) = start(wakeful(&folder, &["run", "--quiet", "--", "wait"]));
    let client = output(&folder, &["run", "--quiet"]);
    assert_eq!(stdout(&client), "the stand-in\n", "{}", stderr(&client));
    assert_ne!(
        contents(&folder.path("program")),
        before,
        "the server still uses the changed lock file"
    );
    signal(&server, libc::SIGTERM);
    server.wait().unwrap();
    assert_eq!(contents(&folder.path("program")), before);
}
