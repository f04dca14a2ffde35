//! Explanations for the user why Tokio was not replaced.

use std::fmt::Write;

use semver::VersionReq;
use serde_json::Value;

use crate::drop_in::DropIn;
use crate::tokio_package::{TokioPackage, is_crates_io};

#[cfg(test)]
mod tests;

/// Explains which Tokio was not replaced, why, and what to do.
pub fn explain(
    metadata: &Value,
    found: &TokioPackage<'_>,
    drop_in: &DropIn,
    cargo_error: Option<&str>,
) -> String {
    let ours = &drop_in.version;
    let dir = drop_in.dir.display();
    let mut text =
        format!("Tokio {} could not be replaced by Wakeful; nothing was run.\n", found.version);
    match found.source {
        None => {
            let its_dir = found.dir.display();
            let _ = write!(
                text,
                "It comes from the folder {its_dir}, by a path dependency or a [patch]. Remove that, or change\n\
                 its path to Wakeful's: {dir}"
            );
        }
        Some(source) if source.starts_with("git+") => {
            let url = source.trim_start_matches("git+").split(['#', '?']).next().unwrap_or(source);
            let _ = write!(
                text,
                "It comes from git ({url}), and only Tokio from crates.io can be replaced.\n\
                 Depend on a release of Tokio, or add to Cargo.toml:\n\n    \
                 [patch.\"{url}\"]\n    tokio = {{ path = \"{dir}\" }}"
            );
        }
        source if is_crates_io(source) => {
            let reasons = unmet_requests(metadata, found, drop_in);
            for reason in &reasons {
                let _ = writeln!(text, "{reason}");
            }
            match (reasons.is_empty(), cargo_error) {
                (true, Some(reason)) => {
                    let _ = write!(text, "Cargo's message:\n\n{}", reason.trim_end());
                }
                (true, None) => text.push_str("Try `cargo update -p tokio`."),
                (false, _) => {
                    let _ = write!(
                        text,
                        "Wakeful replaces Tokio {ours}. Relax the requirement, or update the dependency that has it."
                    );
                }
            }
        }
        Some(source) => {
            let _ = write!(
                text,
                "It comes from another registry ({source}), and only Tokio from crates.io can be replaced."
            );
        }
    }
    text
}

/// Explains that the program has no Tokio that the drop-in could replace.
pub fn explain_none(all: &[TokioPackage<'_>], drop_in: &DropIn) -> String {
    let major = drop_in.version.major;
    match all.first() {
        Some(old) => format!(
            "the program uses tokio {}, and Wakeful replaces {major}.x only; nothing was run",
            old.version
        ),
        None => format!(
            "the program does not use Tokio: no `tokio` {major}.x is among its dependencies; nothing was run"
        ),
    }
}

/// Returns a line for each dependency on a version or feature of Tokio that the drop-in does not
/// have.
pub fn unmet_requests(metadata: &Value, found: &TokioPackage<'_>, drop_in: &DropIn) -> Vec<String> {
    let mut unmet_requests = Vec::new();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    for package in packages {
        let dependent = package["name"].as_str().unwrap_or_default();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        for asked in dependencies.filter(|dependency| dependency["name"] == "tokio") {
            let requirement = asked["req"].as_str().unwrap_or("*");
            let admits = |version| {
                VersionReq::parse(requirement).is_ok_and(|requirement| requirement.matches(version))
            };
            // Skips dependencies on another, older Tokio in the same program.
            if !admits(&found.version) {
                continue;
            }
            if !admits(&drop_in.version) {
                unmet_requests.push(format!(
                    "`{dependent}` requires tokio `{requirement}`, which {} does not satisfy.",
                    drop_in.version
                ));
            }
            unmet_requests.extend(unknown_features(dependent, asked, drop_in));
        }
    }
    unmet_requests.dedup();
    unmet_requests
}

/// Returns a line for each feature that a package of `metadata` requires of Tokio, in any version,
/// and that the drop-in does not have.
pub fn missing_features(metadata: &Value, drop_in: &DropIn) -> Vec<String> {
    let mut missing = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let dependent = package["name"].as_str().unwrap_or_default();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        for dependency in dependencies.filter(|dependency| dependency["name"] == "tokio") {
            missing.extend(unknown_features(dependent, dependency, drop_in));
        }
    }
    missing.dedup();
    missing
}

fn unknown_features(dependent: &str, dependency: &Value, drop_in: &DropIn) -> Vec<String> {
    let features = dependency["features"].as_array().into_iter().flatten();
    let unknown = features
        .filter_map(Value::as_str)
        .filter(|feature| !drop_in.features.iter().any(|ours| ours == feature));
    let line = |feature| {
        format!("`{dependent}` requires tokio's feature `{feature}`, which Wakeful does not have.")
    };
    unknown.map(line).collect()
}
