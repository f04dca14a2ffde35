//! `cargo xtask features`: checks that the drop-in compiles without warnings with any of Tokio's
//! features.
//!
//! Compiling with a single feature finds code that lacks a `cfg`. The sets are those that popular
//! crates request, which never include all features.

use std::collections::BTreeSet;

use crate::cargo::{self, Cargo};
use crate::conformance::package;
use crate::conformance::suites::TOKIO;
use crate::json::Json;
use crate::repo;

/// Popular crates, and the features of Tokio that they request with their own features enabled.
const USUAL_SETS: &[(&str, &str)] = &[
    ("hyper", "sync"),
    ("hyper-util, quinn, redis", "net,rt,sync,time"),
    ("h2, tokio-tungstenite", "io-util"),
    ("tokio-rustls", ""),
    ("reqwest, tokio-postgres", "io-util,net,time"),
    ("reqwest, blocking and streaming", "fs,io-util,net,sync,time"),
    ("axum, tonic", "macros,net,rt,time"),
    ("tower", "rt,sync,time"),
    ("sqlx", "fs,io-util,net,rt,sync,time"),
    ("async-nats", "fs,io-util,macros,net,rt,sync,time"),
    ("tokio-util", "io-util,net,rt,sync,time"),
    ("tokio-stream", "fs,io-util,net,rt,signal,sync,time"),
    ("a program", "macros,rt-multi-thread"),
    ("a program's tests", "macros,rt,test-util"),
    ("everything", "full,test-util"),
];

/// Checks that the feature names equal Tokio's, then compiles each feature alone and each usual
/// set.
pub fn run() -> Result<(), String> {
    let names = own_features()?;
    compare_names(&names, &package::features_of(&TOKIO)?)?;
    let mut sets: Vec<(&str, &str)> = names.iter().map(|name| ("", name.as_str())).collect();
    sets.extend(USUAL_SETS);
    for (whose, features) in sets {
        check(features).map_err(|why| {
            let whose = if whose.is_empty() { "alone" } else { whose };
            format!("features `{features}` ({whose}): {why}")
        })?;
    }
    Ok(())
}

fn check(features: &str) -> Result<(), String> {
    let root = repo::root();
    // A separate folder, since the flags differ from those of every other build.
    let target_dir = cargo::target_dir(&root).join("features");
    Cargo::new(&root, "check --quiet --package tokio --no-default-features --features")
        .args(&[features.to_owned()])
        .env("RUSTFLAGS", "-D warnings")
        .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy())
        .run()
}

fn own_features() -> Result<BTreeSet<String>, String> {
    let drop_in = repo::root().join("crates/tokio-drop-in");
    let metadata =
        Cargo::new(&drop_in, "metadata --quiet --no-deps --format-version=1").output()?;
    let metadata = Json::parse(&metadata)?;
    let own = metadata["packages"].items().iter().find(|it| it["name"].text() == "tokio");
    let own = own.ok_or("cargo metadata does not list the drop-in")?;
    Ok(own["features"].fields().map(|(name, _)| name.to_owned()).collect())
}

/// Compares the names of the features. Cargo does not use a patch that lacks a requested feature.
fn compare_names(ours: &BTreeSet<String>, tokio: &BTreeSet<String>) -> Result<(), String> {
    let list =
        |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let missing: Vec<&String> = tokio.difference(ours).collect();
    let extra: Vec<&String> = ours.difference(tokio).collect();
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the drop-in's features differ from Tokio's: missing [{}], extra [{}]",
        list(missing),
        list(extra)
    ))
}

#[cfg(test)]
mod tests {
    use super::compare_names;
    use std::collections::BTreeSet;

    #[test]
    fn the_names_must_be_the_same() {
        let names =
            |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
        assert!(compare_names(&names(&["rt", "sync"]), &names(&["sync", "rt"])).is_ok());
        let error = compare_names(&names(&["rt", "own"]), &names(&["rt", "sync"])).unwrap_err();
        assert!(error.contains("missing [sync], extra [own]"), "{error}");
    }
}
