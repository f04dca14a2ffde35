//! `cargo wakeful` runs small programs on the drop-in and leaves them unchanged. A stand-in for the
//! drop-in, without dependencies, keeps builds short; `mini_redis.rs` uses the real one.

mod common;

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Folder, contents, lock, output, program, stand_in, start, stderr, stdout, wakeful};

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
fn a_signal_ends_both_processes() {
    let folder = program("signal", "tokio = '1'");
    lock(&folder, "1.54.1");
    let before = contents(&folder.path("program"));
    for number in [libc::SIGINT, libc::SIGTERM] {
        let (mut child, line) = start(wakeful(&folder, &["run", "--quiet", "--", "wait"]));
        assert_eq!(line, "the stand-in\n");
        assert_eq!(
            contents(&folder.path("program")),
            before,
            "the lock file is restored before the program runs"
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
fn a_signal_after_a_call_of_cargo_has_ended_ends_the_process() {
    let folder = program("ended", "tokio = '1'");
    lock(&folder, "1.54.1");
    let before = contents(&folder.path("program"));
    // Cargo ends, and a process that it has left behind keeps its output open.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--all-features*) (touch {:?}; sleep 1) & ;; esac\nexec {:?} \"$@\"\n",
        folder.path("ending"),
        env!("CARGO"),
    );
    folder.write("cargo", &script);
    fs::set_permissions(folder.path("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut call = wakeful(&folder, &["check", "--quiet"]);
    let mut child = call.env("CARGO", folder.path("cargo")).spawn().unwrap();
    wait_for_file(&folder, "ending");
    // Long enough for `cargo metadata` to end. If it takes longer, the signal ends it.
    thread::sleep(Duration::from_millis(500));
    signal(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    assert_eq!(contents(&folder.path("program")), before);
}

/// Makes the build of the program wait until the file `go-on` exists in the folder.
fn slow_build(folder: &Folder) {
    let script = format!(
        "fn main() {{\n    println!(\"cargo::rerun-if-changed=none\");\n    std::fs::write({:?}, \"\").unwrap();\n    \
         while !std::path::Path::new({:?}).exists() {{\n        \
         std::thread::sleep(std::time::Duration::from_millis(10));\n    }}\n}}\n",
        folder.path("building"),
        folder.path("go-on")
    );
    folder.write("program/build.rs", &script);
}

fn wait_for_file(folder: &Folder, name: &str) {
    let start = Instant::now();
    while !folder.path(name).exists() {
        assert!(start.elapsed() < Duration::from_secs(120), "no file `{name}`");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_next_call_restores_the_lock_file_of_a_killed_one() {
    let folder = program("killed", "tokio = '1'");
    lock(&folder, "1.40.0");
    slow_build(&folder);
    let before = contents(&folder.path("program"));
    let mut child = wakeful(&folder, &["build", "--quiet"]).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_file(&folder, "building");
    child.kill().unwrap();
    child.wait().unwrap();
    folder.write("go-on", "");
    // Reaches the end once cargo has ended: the kernel ends it together with the killed call.
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
    assert_eq!(contents(&folder.path("program")), before);
    signal(&server, libc::SIGTERM);
    server.wait().unwrap();
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn what_another_program_writes_to_the_lock_file_during_the_build_is_saved() {
    let folder = program("changed", "tokio = '1'");
    lock(&folder, "1.54.1");
    slow_build(&folder);
    let before = contents(&folder.path("program"));
    let mut call = wakeful(&folder, &["build", "--quiet"]);
    // A home of its own, so that the saved file goes away with the folder.
    let home = folder.path("home");
    let real_home = env::var("CARGO_HOME").map(PathBuf::from);
    let real_home =
        real_home.unwrap_or_else(|_| PathBuf::from(env::var("HOME").unwrap()).join(".cargo"));
    fs::create_dir_all(&home).unwrap();
    for shared in ["registry", "git"] {
        let _ = std::os::unix::fs::symlink(real_home.join(shared), home.join(shared));
    }
    let child = call.env("CARGO_HOME", &home).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_file(&folder, "building");
    fs::write(folder.path("program/Cargo.lock"), "an update").unwrap();
    folder.write("go-on", "");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(contents(&folder.path("program")), before);
    let message = stderr(&output);
    assert!(message.contains("another program changed Cargo.lock during the build"), "{message}");
    let saved = message.lines().find_map(|line| line.strip_prefix("the changed content is in "));
    let saved = saved.unwrap().trim_end_matches('.');
    assert_eq!(fs::read_to_string(saved).unwrap(), "an update");
}

#[test]
fn a_change_of_the_lock_file_while_the_program_runs_stays() {
    let folder = program("meanwhile", "tokio = '1'");
    lock(&folder, "1.54.1");
    let (mut child, _) = start(wakeful(&folder, &["run", "--quiet", "--", "wait"]));
    folder.cargo(&[
        "update",
        "tokio",
        "--precise",
        "1.40.0",
        "--manifest-path",
        "program/Cargo.toml",
    ]);
    let updated = contents(&folder.path("program"));
    signal(&child, libc::SIGTERM);
    child.wait().unwrap();
    assert_eq!(contents(&folder.path("program")), updated);
}

#[test]
fn the_lock_file_is_restored_before_tests_and_doc_tests_run() {
    let folder = program("before-tests", "tokio = '1'");
    lock(&folder, "1.40.0");
    folder.write(
        "program/src/lib.rs",
        "//! ```\n//! assert!(std::fs::read_to_string(\"Cargo.lock\").unwrap().contains(\"1.40.0\"));\n//! ```\n",
    );
    folder.write(
        "program/tests/lock.rs",
        "#[test]\nfn lock() {\n    assert!(std::fs::read_to_string(\"Cargo.lock\").unwrap().contains(\"1.40.0\"));\n    \
         assert_eq!(tokio::STAND_IN, \"the stand-in\");\n}\n",
    );
    let before = contents(&folder.path("program"));
    let output = output(&folder, &["test", "--quiet"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn a_runner_of_the_user_is_used() {
    let folder = program("runner", "tokio = '1'");
    lock(&folder, "1.54.1");
    folder.write("program/.cargo/config.toml", "[target.'cfg(unix)']\nrunner = ['env', 'A=1']\n");
    let before = contents(&folder.path("program"));
    let ran = output(&folder, &["run"]);
    assert_eq!(stdout(&ran), "the stand-in\n", "{}", stderr(&ran));
    assert!(stderr(&ran).contains("Running `env A=1 "), "{}", stderr(&ran));
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn each_call_says_that_it_is_on_wakeful_unless_it_is_quiet() {
    let folder = program("says", "tokio = '1'");
    for _ in 0..2 {
        let text = stderr(&output(&folder, &["check"]));
        assert!(text.contains("cargo wakeful: on Wakeful's tokio 1.54.1, "), "{text}");
    }
    let quiet = stderr(&output(&folder, &["check", "--quiet"]));
    assert_eq!(quiet, "");
}

#[test]
fn builds_go_below_the_folder_that_the_environment_names() {
    let folder = program("target-dir", "tokio = '1'");
    let mut call = wakeful(&folder, &["build", "--quiet"]);
    let output = call.env("CARGO_TARGET_DIR", folder.path("builds")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(folder.path("builds/wakeful/debug/program").exists());
    assert!(!folder.path("builds/debug").exists(), "the place of builds with Tokio");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new("reader");
    let mut child =
        folder.wakeful(&["--help"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
}

#[test]
fn locked_and_frozen_download_nothing_that_cargo_does_not() {
    let folder = program(
        "frozen",
        "tokio = '1'\n[target.'cfg(windows)'.dependencies]\nwindows-sys = '0.59'",
    );
    lock(&folder, "1.54.1");
    // An empty home without packages, but with the index.
    for args in [&["check", "--locked"][..], &["check", "--frozen"]] {
        let output = wakeful(&folder, args).env("CARGO_NET_OFFLINE", "true").output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    }
    // Still checked: the lock file does not have this dependency.
    let manifest = fs::read_to_string(folder.path("program/Cargo.toml")).unwrap();
    folder
        .write("program/Cargo.toml", &manifest.replace("tokio = '1'", "tokio = '1'\nlibc = '0.2'"));
    let stale = output(&folder, &["check", "--locked"]);
    assert_eq!(stale.status.code(), Some(101));
    assert!(stderr(&stale).contains("--locked"), "{}", stderr(&stale));
}

#[test]
fn a_feature_that_no_tokio_has_is_named_without_a_list_of_versions() {
    let folder = program("typo", "tokio = { version = '1', features = ['rt', 'no-such-thing'] }");
    let output = output(&folder, &["check"]);
    assert_eq!(output.status.code(), Some(101));
    let text = stderr(&output);
    assert!(text.contains("`program` requires tokio's feature `no-such-thing`"), "{text}");
    assert!(!text.contains("1.53.0"), "{text}");
}

#[test]
fn clippy_doc_and_tree_run_on_the_drop_in() {
    let folder = program("other", "tokio = '1'");
    lock(&folder, "1.40.0");
    let before = contents(&folder.path("program"));
    for args in
        [&["clippy", "--", "-D", "warnings"][..], &["doc", "--no-deps"], &["tree", "-i", "tokio"]]
    {
        let output = output(&folder, args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        assert_eq!(contents(&folder.path("program")), before, "{args:?}");
        if args[0] == "tree" {
            assert!(stdout(&output).starts_with("tokio v1.54.1 (/"), "{}", stdout(&output));
        }
    }
}

#[test]
fn nextest_runs_on_the_drop_in() {
    if !Command::new("cargo-nextest").arg("--version").output().is_ok_and(|it| it.status.success())
    {
        eprintln!("skipped: cargo-nextest is not installed");
        return;
    }
    let folder = program("nextest", "tokio = '1'");
    lock(&folder, "1.40.0");
    let before = contents(&folder.path("program"));
    let output = output(&folder, &["nextest", "run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 passed"), "{}", stderr(&output));
    assert_eq!(contents(&folder.path("program")), before);
}

#[test]
fn a_command_that_builds_tokio_after_all_is_reported() {
    let folder = program("ignores", "tokio = '1'");
    lock(&folder, "1.54.1");
    // A clippy that ignores its options.
    let script = format!("#!/bin/sh\n{:?} build --quiet 2> /dev/null\nexit 0\n", env!("CARGO"));
    folder.write("bin/cargo-clippy", &script);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path("bin/cargo-clippy"), executable).unwrap();
    let path = format!("{}:{}", folder.path("bin").display(), env::var("PATH").unwrap());
    let output = wakeful(&folder, &["clippy"]).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(101));
    let text = stderr(&output);
    assert!(text.contains("`cargo clippy` has built Tokio"), "{text}");
    assert!(text.contains("cargo wakeful add"), "what to do instead: {text}");
}

#[test]
fn another_toolchain_can_be_named_first() {
    let Ok(list) = Command::new("rustup").args(["toolchain", "list", "--quiet"]).output() else {
        eprintln!("skipped: rustup is not installed");
        return;
    };
    let names = stdout(&list);
    let Some(name) = names.lines().next() else { return };
    let folder = program("toolchain", "tokio = '1'");
    let checked = output(&folder, &[&format!("+{name}"), "check"]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert!(stderr(&checked).contains("on Wakeful's tokio"), "{}", stderr(&checked));
    let missing = output(&folder, &["+no-such-toolchain", "check"]);
    assert!(!missing.status.success());
}

#[test]
fn a_program_with_unstable_parts_of_tokio_is_told_where_to_look() {
    let folder = program("unstable", "tokio = '1'");
    folder
        .write("program/.cargo/config.toml", "[build]\nrustflags = ['--cfg', 'tokio_unstable']\n");
    let text = stderr(&output(&folder, &["check"]));
    assert!(text.contains("`--cfg tokio_unstable` is set"), "{text}");
    assert!(text.contains("cargo wakeful doctor"), "{text}");
}
