//! Resolving the program with Wakeful's `tokio`, and checking that it replaced Tokio.

use semver::Version;
use serde_json::Value;

use crate::Stop;
use crate::cargo::{Captured, Cargo};
use crate::drop_in::DropIn;
use crate::invocation::Invocation;
use crate::not_replaced;
use crate::output::print_note;
use crate::program::{parse_metadata, targets};
use crate::tokio_package::{is_crates_io, tokio_packages, unreplaced_tokio};

#[cfg(test)]
mod tests;

/// Writes a lock file that contains Wakeful's `tokio`, or explains why that is impossible.
pub fn prepare(call: &Invocation, drop_in: &DropIn) -> Result<(), Stop> {
    let mut metadata = resolved(call, drop_in)?;
    let mut cargo_error = None;
    let mut unreplaced = unreplaced_tokio(&metadata, drop_in);
    if let Some(locked) = unreplaced.as_ref().filter(|found| is_crates_io(found.source)) {
        // The lock file may require another version of Tokio. It is updated; the saved copy is
        // restored later.
        cargo_error = update_conflicts(call, drop_in, &locked.version)?;
        metadata = resolved(call, drop_in)?;
        unreplaced = unreplaced_tokio(&metadata, drop_in);
    }
    if let Some(found) = unreplaced {
        return Err(
            not_replaced::explain(&metadata, &found, drop_in, cargo_error.as_deref()).into()
        );
    }
    let all = tokio_packages(&metadata);
    if !all.iter().any(|found| found.dir == drop_in.dir) {
        return Err(not_replaced::explain_none(&all, drop_in).into());
    }
    for old in all.iter().filter(|found| found.version.major != drop_in.version.major) {
        print_note(format_args!(
            "note: a dependency uses tokio {}, which is built next to Wakeful's tokio {}",
            old.version, drop_in.version
        ));
    }
    Ok(())
}

/// Changes the lock file to Wakeful's `tokio`, and updates crates that are locked to a version too
/// old for Wakeful. Returns cargo's error message if that is not enough.
fn update_conflicts(
    call: &Invocation,
    drop_in: &DropIn,
    locked: &Version,
) -> Result<Option<String>, Stop> {
    let tokio = [format!("tokio@{locked}"), "--precise".to_owned(), drop_in.version.to_string()];
    let mut updated: Vec<String> = Vec::new();
    // Requires exactly Wakeful's version: otherwise cargo selects a Tokio that fits the other
    // packages, and does not name the conflicting ones.
    while let Some(reason) = try_update(call, drop_in, &tokio)? {
        let conflicting_packages =
            conflicting_packages(&reason).filter(|package| !updated.contains(package));
        let conflicting_packages: Vec<String> = conflicting_packages.collect();
        if conflicting_packages.is_empty() {
            return Ok(Some(reason));
        }
        // Their dependencies may be locked to versions that are too old for them.
        let with_dependencies = [&conflicting_packages[..], &["--recursive".to_owned()]].concat();
        if try_update(call, drop_in, &with_dependencies)?.is_some() {
            return Ok(Some(reason));
        }
        updated.extend(conflicting_packages);
    }
    if !updated.is_empty() {
        let updated = updated.join(", ");
        print_note(format_args!("note: updated, since Wakeful needs newer versions: {updated}"));
    }
    Ok(None)
}

/// Runs `cargo update`, and returns its error message if it fails.
fn try_update(
    call: &Invocation,
    drop_in: &DropIn,
    args: &[String],
) -> Result<Option<String>, Stop> {
    let update = drop_in.cargo().args(["update"]).args(args).args(&call.resolve_args);
    let update = update.capture()?;
    stop_if_interrupted(&update)?;
    Ok((!update.is_success).then_some(update.stderr))
}

/// Returns the packages, as `name@version`, whose locked versions cargo reports as conflicting.
fn conflicting_packages(cargo_output: &str) -> impl Iterator<Item = String> + '_ {
    let named = cargo_output.lines().filter_map(|line| {
        let (_, named) = line.split_once("previously selected package `")?;
        let (name, rest) = named.split_once(" v")?;
        let version = rest.split(['`', ' ']).next()?;
        Some(format!("{name}@{version}"))
    });
    named.filter(|spec| !spec.starts_with("tokio@"))
}

fn resolved(call: &Invocation, drop_in: &DropIn) -> Result<Value, Stop> {
    let all = metadata(drop_in.cargo(), call, &["--all-features".to_owned()])?;
    if all.is_success {
        return parse_metadata(all);
    }
    // The packages of features that the call does not enable may not have been downloaded.
    let enabled = metadata(drop_in.cargo(), call, &call.feature_args)?;
    if enabled.is_success {
        return parse_metadata(enabled);
    }
    if let Some(missing) = missing_features(call, drop_in, &all.stderr)? {
        return Err(Stop::Message(missing));
    }
    Err(Stop::Message(format!(
        "cargo cannot resolve the program with Wakeful's tokio {}. Its message:\n\n{}\n\n\
         If the program resolves without Wakeful, either a dependency requires a version of Tokio that Wakeful does\n\
         not have, or a crate that Wakeful needs (libc, bytes, socket2) is not available, for example because of\n\
         vendored sources or --offline.",
        drop_in.version,
        shortened(all.stderr.trim_end())
    )))
}

/// Runs `cargo metadata` for the platforms that the call builds for, so that packages for other
/// systems are not downloaded.
pub fn metadata(cargo: Cargo, call: &Invocation, features: &[String]) -> Result<Captured, Stop> {
    let targets = targets(call);
    let filters = targets.iter().flat_map(|target| ["--filter-platform", target]);
    let metadata = cargo
        .args(["metadata", "--format-version=1"])
        .args(features)
        .args(filters)
        .args(&call.resolve_args)
        .capture()?;
    stop_if_interrupted(&metadata)?;
    Ok(metadata)
}

/// Returns a message that names features of Tokio that do not exist, if cargo reports such.
fn missing_features(
    call: &Invocation,
    drop_in: &DropIn,
    cargo_output: &str,
) -> Result<Option<String>, Stop> {
    if !cargo_output.contains("tokio") || !cargo_output.contains("feature") {
        return Ok(None);
    }
    // Without its dependencies, the program itself is described even if it does not resolve.
    let members = Cargo::new()
        .args(["metadata", "--no-deps", "--format-version=1"])
        .args(&call.resolve_args)
        .capture()?;
    let members = parse_metadata(members)?;
    let missing = not_replaced::missing_features(&members, drop_in);
    if !missing.is_empty() {
        return Ok(Some(format!(
            "the program cannot be resolved with Wakeful's tokio {}; nothing was run.\n{}\n\
             Remove the feature from Cargo.toml, or correct its name.",
            drop_in.version,
            missing.join("\n")
        )));
    }
    Ok(None)
}

/// Shortens cargo's lists of all versions of a package.
fn shortened(cargo_output: &str) -> String {
    const SHOWN: usize = 4;
    let short = |line: &str| {
        let Some((before, versions)) = line.split_once(" are: ") else { return line.to_owned() };
        let versions: Vec<&str> = versions.split(", ").collect();
        if versions.len() <= SHOWN {
            return line.to_owned();
        }
        let (shown, rest) = versions.split_at(SHOWN);
        format!("{before} are: {}, and {} more", shown.join(", "), rest.len())
    };
    cargo_output.lines().map(short).collect::<Vec<_>>().join("\n")
}

fn stop_if_interrupted(captured: &Captured) -> Result<(), Stop> {
    match crate::signals::received() {
        Some(_) => Err(Stop::CargoFailed(captured.ended)),
        None => Ok(()),
    }
}
