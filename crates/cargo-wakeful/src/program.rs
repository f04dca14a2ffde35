//! The program to run on Wakeful.

use std::env;
use std::path::PathBuf;

use serde_json::Value;

use crate::Stop;
use crate::cargo::{Captured, Cargo};
use crate::invocation::Invocation;

/// The location of the program and of its build output.
pub struct Program {
    pub workspace_root: PathBuf,
    pub target_dir: PathBuf,
}

impl Program {
    pub fn find(call: &Invocation) -> Result<Program, Stop> {
        // With `--no-deps`, cargo resolves nothing and so writes no lock file.
        let metadata = Cargo::new()
            .args(["metadata", "--no-deps", "--format-version=1"])
            .args(&call.resolve_args)
            .capture()?;
        let metadata = parse_metadata(metadata)?;
        let path = |name: &str| metadata[name].as_str().map(PathBuf::from).unwrap_or_default();
        let own_folder = path("target_directory").join("wakeful");
        let named = env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty());
        Ok(Program {
            workspace_root: path("workspace_root"),
            // A `--target-dir` among the arguments overrides the environment variable.
            target_dir: named.map_or(own_folder, PathBuf::from),
        })
    }

    /// Fails, as `cargo --locked` does, if the program's own lock file is not up to date.
    pub fn check_locked(&self, call: &Invocation) -> Result<(), Stop> {
        let metadata = Cargo::new()
            .args(["metadata", "--locked", "--format-version=1"])
            .args(&call.resolve_args)
            .capture()?;
        parse_metadata(metadata).map(drop)
    }
}

/// Parses the output of `cargo metadata`. If the command failed, prints its error messages.
pub fn parse_metadata(metadata: Captured) -> Result<Value, Stop> {
    if !metadata.is_success {
        eprint!("{}", metadata.stderr);
        return Err(Stop::CargoFailed(metadata.ended));
    }
    serde_json::from_str(&metadata.stdout).map_err(|error| {
        Stop::Message(format!("could not parse the output of `cargo metadata`: {error}"))
    })
}
