//! Why Tokio stayed, in words that help.

use std::fmt::Write;

use semver::VersionReq;
use serde_json::Value;

use crate::drop_in::DropIn;
use crate::tokio_package::{TokioPackage, is_crates_io};

#[cfg(test)]
mod tests;

/// What was found in our place, why, and what to do.
pub fn explain(
    metadata: &Value,
    found: &TokioPackage<'_>,
    drop_in: &DropIn,
    cargo_error: Option<&str>,
) -> String {
    let ours = &drop_in.version;
    let dir = drop_in.dir.display();
    let mut text = format!("Tokio {} stayed in the program; nothing was run.\n", found.version);
    match found.source {
        None => {
            let its_dir = found.dir.display();
            let _ = write!(
                text,
                "It comes from the folder {its_dir}, by a path dependency or a [patch]. Take that out, or put Wakeful's\n\
                 folder in its place: {dir}"
            );
        }
        Some(source) if source.starts_with("git+") => {
            let url = source.trim_start_matches("git+").split(['#', '?']).next().unwrap_or(source);
            let _ = write!(
                text,
                "It comes from git, {url}, and only Tokio from crates.io is replaced.\n\
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
                    let _ = write!(text, "Cargo says:\n\n{}", reason.trim_end());
                }
                (true, None) => text.push_str("`cargo update -p tokio` may help."),
                (false, _) => {
                    let _ = write!(
                        text,
                        "Wakeful stands in for Tokio {ours}. Relax what is asked for, or update the dependency that asks."
                    );
                }
            }
        }
        Some(source) => {
            let _ = write!(
                text,
                "It comes from another registry, {source}, and only Tokio from crates.io is replaced."
            );
        }
    }
    text
}

/// The program has no Tokio that we could stand in for.
pub fn explain_none(all: &[TokioPackage<'_>], drop_in: &DropIn) -> String {
    let major = drop_in.version.major;
    match all.first() {
        Some(old) => format!(
            "the program uses tokio {}, and Wakeful stands in for {major}.x only; nothing was run",
            old.version
        ),
        None => format!(
            "the program does not use Tokio: no `tokio` {major}.x is among its dependencies; nothing was run"
        ),
    }
}

/// Who asks for a version or a feature that we do not have.
fn unmet_requests(metadata: &Value, found: &TokioPackage<'_>, drop_in: &DropIn) -> Vec<String> {
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
            // Somebody may use a Tokio of long ago, beside this one.
            if !admits(&found.version) {
                continue;
            }
            if !admits(&drop_in.version) {
                unmet_requests.push(format!(
                    "`{dependent}` asks for tokio `{requirement}`, which {} is not.",
                    drop_in.version
                ));
            }
            let features = asked["features"].as_array().into_iter().flatten();
            for feature in features.filter_map(Value::as_str) {
                if !drop_in.features.iter().any(|ours| ours == feature) {
                    unmet_requests.push(format!(
                        "`{dependent}` asks for tokio's feature `{feature}`, which Wakeful's does not have."
                    ));
                }
            }
        }
    }
    unmet_requests.dedup();
    unmet_requests
}
