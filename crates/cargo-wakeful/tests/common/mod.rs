//! Temporary folders with small programs, and calls of `cargo wakeful` on them.

#![allow(dead_code, reason = "each test file uses a part of this module")]

pub mod double;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::{env, fs, process};

/// A folder that is deleted at the end of the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Folder {
        let path = env::temp_dir().join(format!("cargo-wakeful-test-{test}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(fs::canonicalize(path).unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns a call of `cargo wakeful` in this folder.
    pub fn wakeful(&self, args: &[&str]) -> Command {
        let mut command = clean(env!("CARGO_BIN_EXE_cargo-wakeful"));
        command.current_dir(&self.0).arg("wakeful").args(args);
        // Processes that a shell starts in the background inherit SIGINT as ignored.
        let reset_sigint = || {
            // SAFETY: `signal` is async-signal-safe and accesses no memory of this process.
            unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: code between fork and exec may only do what is async-signal-safe: the closure
        // makes one such call, and neither allocates nor locks.
        unsafe { command.pre_exec(reset_sigint) };
        command
    }

    /// Runs cargo and panics if it fails.
    pub fn cargo(&self, args: &[&str]) {
        let output = clean(env!("CARGO")).current_dir(&self.0).args(args).output().unwrap();
        assert!(output.status.success(), "cargo {args:?}: {}", stderr(&output));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a command without the environment variables that could be set around `cargo test`.
fn clean(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_remove("CARGO_TARGET_DIR").env_remove("WAKEFUL_PATH");
    command
}

/// Returns all files of the program except build output.
pub fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("target") {
            continue;
        } else if path.is_dir() {
            files.extend(contents(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts the command and waits until the program it runs has printed a line.
pub fn start(mut command: Command) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

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
pub fn program(test: &str, dependencies: &str) -> Folder {
    let folder = Folder::new(test);
    let head = "[package]\nname = 'program'\nversion = '0.1.0'\nedition = '2021'\n";
    folder.write("program/Cargo.toml", &format!("{head}[dependencies]\n{dependencies}\n"));
    folder.write("program/src/main.rs", MAIN);
    stand_in(&folder, "stand-in", "the stand-in");
    folder
}

pub fn stand_in(folder: &Folder, name: &str, says: &str) {
    let manifest = "[package]\nname = \"tokio\"\nversion = \"1.54.1\"\nedition = \"2021\"\n[features]\nrt = []\n[workspace]\n";
    folder.write(&format!("{name}/Cargo.toml"), manifest);
    folder.write(&format!("{name}/src/lib.rs"), &format!("pub const STAND_IN: &str = {says:?};"));
}

/// Returns a call of `cargo wakeful` for the program, with the stand-in as the drop-in.
pub fn wakeful(folder: &Folder, args: &[&str]) -> Command {
    let mut command = folder.wakeful(args);
    command.current_dir(folder.path("program")).env("WAKEFUL_PATH", folder.path("stand-in"));
    command
}

pub fn output(folder: &Folder, args: &[&str]) -> Output {
    wakeful(folder, args).output().unwrap()
}

/// Writes a lock file that contains this version of the real Tokio.
pub fn lock(folder: &Folder, version: &str) {
    folder.cargo(&["generate-lockfile", "--manifest-path", "program/Cargo.toml"]);
    let manifest = ["--manifest-path", "program/Cargo.toml"];
    folder.cargo(&[&["update", "tokio", "--precise", version][..], &manifest].concat());
}
