//! Compiling a suite's test files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cargo::Cargo;
use crate::json::Json;

/// For each test file, its binary, or the first error if it does not compile.
pub type Built = BTreeMap<String, Result<PathBuf, String>>;

/// Builds `files` of the package in `dir`. A file that does not compile does not affect the others.
pub fn test_files(
    dir: &Path,
    target_dir: &Path,
    files: &[String],
    rustflags: &str,
) -> Result<Built, String> {
    let chosen: Vec<String> =
        files.iter().flat_map(|file| ["--test".to_owned(), file.clone()]).collect();
    let mut build = Cargo::new(dir, "build --keep-going --message-format=json")
        .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy())
        .args_unshown(&chosen);
    if !rustflags.is_empty() {
        build = build.env("RUSTFLAGS", rustflags);
    }
    let (messages, errors) = build.captured()?;
    let built = read(&messages);
    if built.is_empty() {
        return Err(format!("the build failed before it reached a test file:\n{errors}"));
    }
    match files.iter().find(|file| !built.contains_key(*file)) {
        Some(missing) => {
            Err(format!("cargo reported nothing about test file `{missing}`:\n{errors}"))
        }
        None => Ok(built),
    }
}

fn read(messages: &str) -> Built {
    let mut built = Built::new();
    for message in messages.lines().filter_map(|line| Json::parse(line).ok()) {
        let target = &message["target"];
        if !target["kind"].items().iter().any(|kind| kind.text() == "test") {
            continue;
        }
        let file = target["name"].text().to_owned();
        let said = &message["message"];
        if let Some(binary) = message["executable"].str() {
            built.insert(file, Ok(PathBuf::from(binary)));
        } else if said["level"].text() == "error" {
            built.entry(file).or_insert(Err(said["message"].text().to_owned()));
        }
    }
    built
}
