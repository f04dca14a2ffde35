//! The program to run on Wakeful.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::Stop;
use crate::cargo::{Captured, Cargo};
use crate::invocation::Invocation;
use crate::output::pass_on_stderr;

/// The location of the program and of its build output.
pub struct Program {
    pub workspace_root: PathBuf,
    pub target_dir: PathBuf,
}

impl Program {
    /// Finds the program that these options select.
    pub fn find(resolve_args: &[String]) -> Result<Program, Stop> {
        // With `--no-deps`, cargo resolves nothing and so writes no lock file.
        let metadata = Cargo::new()
            .args(["metadata", "--no-deps", "--format-version=1"])
            .args(resolve_args)
            .capture()?;
        let metadata = parse_metadata(metadata)?;
        let path = |name: &str| metadata[name].as_str().map(PathBuf::from).unwrap_or_default();
        Ok(Program {
            workspace_root: path("workspace_root"),
            // Also below the folder that CARGO_TARGET_DIR or the configuration names: that one
            // belongs to builds with Tokio. A `--target-dir` among the arguments overrides this.
            target_dir: path("target_directory").join("wakeful"),
        })
    }

    /// Fails, as `cargo --locked` does, if the program's own lock file is not up to date. Downloads
    /// no packages, so it works offline wherever cargo's own build does.
    pub fn check_locked(call: &Invocation) -> Result<(), Stop> {
        let update = Cargo::new()
            .args(["update", "--workspace", "--locked"])
            .args(&call.resolve_args)
            .capture()?;
        if update.is_success {
            return Ok(());
        }
        pass_on_stderr(&update.stderr);
        Err(Stop::CargoFailed(update.ended))
    }
}

/// Returns the targets that the call builds for, which is the host if none is named.
pub fn targets(call: &Invocation) -> Vec<String> {
    let mut targets = call.targets.clone();
    if targets.is_empty() {
        targets.extend(host());
    }
    targets
}

pub fn host() -> Option<String> {
    rustc_says("host: ")
}

/// Returns what `rustc -vV` prints after this label.
pub fn rustc_says(label: &str) -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix(label)).map(str::to_owned)
}

/// Parses the output of `cargo metadata`. If the command failed, prints its error messages.
pub fn parse_metadata(metadata: Captured) -> Result<Value, Stop> {
    if !metadata.is_success {
        pass_on_stderr(&metadata.stderr);
        return Err(Stop::CargoFailed(metadata.ended));
    }
    serde_json::from_str(&metadata.stdout).map_err(|error| {
        Stop::Message(format!("could not parse the output of `cargo metadata`: {error}"))
    })
}
