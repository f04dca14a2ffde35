//! Compiling a crate's tests.

use std::path::{Path, PathBuf};

use super::list::Entry;
use super::{Runtime, target_dir};
use crate::cargo::Cargo;
use crate::conformance::build::Built;
use crate::json::{Json, quoted};
use crate::repo;

/// Builds the tests of the crate in `dir`: of its library, its binaries and its folder `tests`. A
/// target that does not compile does not affect the others.
pub fn tests(entry: &Entry, dir: &Path, runtime: Runtime) -> Result<Built, String> {
    let mut args = vec!["--config".to_owned(), "profile.dev.debug=false".to_owned()];
    if runtime == Runtime::Wakeful {
        let drop_in = repo::root().join("crates/tokio-drop-in");
        let drop_in = quoted(&drop_in.to_string_lossy());
        args.extend(["--config".to_owned(), format!("patch.crates-io.tokio.path={drop_in}")]);
    }
    args.extend(entry.args.iter().cloned());
    let (messages, errors) = Cargo::new(dir, "build --tests --keep-going --message-format=json")
        .env("CARGO_TARGET_DIR", &target_dir().join("build").to_string_lossy())
        // Lints of newer compilers would stop crates that deny warnings.
        .env("RUSTFLAGS", "--cap-lints=warn")
        .args_unshown(&args)
        .captured()?;
    let messages: Vec<Json> = messages.lines().filter_map(|line| Json::parse(line).ok()).collect();
    let built = read(dir, &messages);
    for (target, outcome) in &built {
        if let Err(why) = outcome {
            println!("    {target} does not compile on {}: {why}", runtime.name());
        }
    }
    if built.values().all(Result::is_err) {
        return Err(format!("on {}, no test compiles:\n{errors}", runtime.name()));
    }
    check_runtime(&messages, runtime)?;
    Ok(built)
}

/// Returns the test binaries of the package in `dir`.
fn read(dir: &Path, messages: &[Json]) -> Built {
    let mut built = Built::new();
    let manifest = dir.join("Cargo.toml");
    for message in messages.iter().filter(|it| Path::new(it["manifest_path"].text()) == manifest) {
        let target = &message["target"];
        let Some(key) = key_of(target) else { continue };
        let said = &message["message"];
        if message["profile"]["test"].is_true() {
            if let Some(binary) = message["executable"].str() {
                built.insert(key, Ok(PathBuf::from(binary)));
            }
        } else if said["level"].text() == "error" && target["test"].is_true() {
            built.entry(key).or_insert(Err(said["message"].text().to_owned()));
        }
    }
    built
}

/// Returns the name of a target in the list of crates: `lib`, `bin/NAME` or `tests/NAME`.
fn key_of(target: &Json) -> Option<String> {
    let kinds: Vec<&str> = target["kind"].items().iter().map(Json::text).collect();
    let name = target["name"].text();
    match kinds[..] {
        ["test"] => Some(format!("tests/{name}")),
        ["bin"] => Some(format!("bin/{name}")),
        ["example" | "bench" | "custom-build"] => None,
        _ => Some("lib".to_owned()),
    }
}

/// Checks that the tests are linked with the runtime that they are meant to run on, and with no
/// other Tokio of version 1.
fn check_runtime(messages: &[Json], runtime: Runtime) -> Result<(), String> {
    let is_tokio = |message: &&Json| {
        message["reason"].text() == "compiler-artifact"
            && message["target"]["name"].text() == "tokio"
    };
    let tokios: Vec<&str> =
        messages.iter().filter(is_tokio).map(|message| message["package_id"].text()).collect();
    let is_wanted = |id: &&str| match runtime {
        Runtime::Tokio => id.starts_with("registry+") && id.contains("#tokio@1."),
        Runtime::Wakeful => id.starts_with("path+") && id.contains("crates/tokio-drop-in#"),
    };
    if !tokios.is_empty() && tokios.iter().all(is_wanted) {
        Ok(())
    } else {
        Err(format!("not built on {}, but on {tokios:?}", runtime.name()))
    }
}
