//! Checks of the program's dependency graph.

use std::env;
use std::fs;
use std::path::Path;

use semver::VersionReq;
use serde_json::Value;

use super::sources::{self, Package};
use super::{Finding, Level};
use crate::Stop;
use crate::cargo::Cargo;
use crate::drop_in::DropIn;
use crate::invocation::Invocation;
use crate::lock_file;
use crate::program::{Program, parse_metadata};
use crate::runner::config_files;
use crate::tokio_package::{TokioPackage, is_crates_io, tokio_packages};
use crate::{not_replaced, resolve};

/// Other runtimes: their threads, timers and sockets are their own, on Tokio as on Wakeful.
const OTHER_RUNTIMES: [&str; 10] = [
    "async-executor",
    "async-global-executor",
    "async-io",
    "async-std",
    "compio-runtime",
    "glommio",
    "monoio",
    "nuclei",
    "smol",
    "tokio-uring",
];

/// Features of Tokio that Wakeful accepts and that change nothing there.
const FEATURES_WITHOUT_EFFECT: [&str; 3] = ["io-uring", "schedule-latency", "tracing"];

/// Resolves the program on Tokio and on Wakeful, and checks both graphs. Restores `Cargo.lock`.
pub fn check(program: &Program, call: &Invocation, drop_in: &DropIn) -> Result<Vec<Finding>, Stop> {
    let loan = lock_file::borrow(&program.workspace_root)?;
    let findings = check_graphs(program, call, drop_in);
    loan.give_back()?;
    findings
}

fn check_graphs(
    program: &Program,
    call: &Invocation,
    drop_in: &DropIn,
) -> Result<Vec<Finding>, Stop> {
    let before = resolve::metadata(Cargo::new(), call, &["--all-features".to_owned()])?;
    let before = parse_metadata(before)?;
    let tokios = tokio_packages(&before);
    let mut findings = version_findings(&before, &tokios, drop_in);
    if findings.iter().all(|finding| finding.level != Level::Problem) {
        findings.push(match resolve::prepare(call, drop_in) {
            Ok(()) => Finding::ok("resolve", would_be_replaced(&tokios, drop_in)),
            Err(Stop::Message(message)) => Finding::problem("resolve", message),
            Err(stop) => return Err(stop),
        });
    }
    findings.extend(features_without_effect(&before));
    findings.extend(other_runtimes(&before));
    findings.extend(console(&before));
    let is_unstable = is_unstable(program);
    if is_unstable {
        findings.push(
            Finding::note(
                "tokio_unstable",
                "`--cfg tokio_unstable` is set. Wakeful has the task builder, the hooks, all metrics, LocalRuntime,\n\
                 RngSeed and `unhandled_panic`, with or without that flag. It has no task dumps of Tokio's.",
            )
            .advice("Items that Wakeful lacks are listed below if a crate of the program names them."),
        );
    }
    findings.extend(sources::check(&dependents(&before, program), is_unstable));
    Ok(findings)
}

fn would_be_replaced(tokios: &[TokioPackage<'_>], drop_in: &DropIn) -> String {
    if tokios.iter().any(|found| found.dir == drop_in.dir) {
        return format!("the program is on {} already, by a patch", drop_in.title());
    }
    let same_major = tokios.iter().filter(|found| found.version.major == drop_in.version.major);
    let versions: Vec<String> = same_major.map(|found| found.version.to_string()).collect();
    format!("tokio {} would be replaced by {}", versions.join(", "), drop_in.title())
}

/// Returns what keeps Tokio from being replaced, by crate, and notes on older versions of Tokio.
fn version_findings(
    metadata: &Value,
    tokios: &[TokioPackage<'_>],
    drop_in: &DropIn,
) -> Vec<Finding> {
    let ours = &drop_in.version;
    let mut findings = Vec::new();
    if !tokios.iter().any(|found| found.version.major == ours.major) {
        findings.push(
            Finding::problem("tokio", not_replaced::explain_none(tokios, drop_in))
                .advice("Wakeful has nothing to replace in this program."),
        );
        return findings;
    }
    for found in tokios.iter().filter(|found| found.dir != drop_in.dir) {
        if found.version.major != ours.major {
            let message = format!(
                "tokio {} is in the dependency graph: required by {}",
                found.version,
                list(&requiring(metadata, found))
            );
            findings.push(
                Finding::note("old-tokio", message).advice(
                    "Wakeful does not replace it: its tasks and sockets stay on that Tokio. Update those crates.",
                ),
            );
        } else if !is_crates_io(found.source) {
            findings.push(Finding::problem(
                "source",
                not_replaced::explain(metadata, found, drop_in, None),
            ));
        } else {
            for reason in not_replaced::unmet_requests(metadata, found, drop_in) {
                findings.push(Finding::problem("version", reason).advice(format!(
                    "Wakeful replaces tokio {ours}. Relax the requirement, or update the crate that has it."
                )));
            }
        }
    }
    findings
}

/// Returns the packages that depend on this Tokio.
fn requiring<'a>(metadata: &'a Value, tokio: &TokioPackage<'_>) -> Vec<&'a str> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let requires = |package: &&Value| {
        tokio_dependencies(package).any(|dependency| {
            let requirement = dependency["req"].as_str().unwrap_or("*");
            VersionReq::parse(requirement).is_ok_and(|wanted| wanted.matches(&tokio.version))
        })
    };
    packages.filter(requires).filter_map(|package| package["name"].as_str()).collect()
}

fn tokio_dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies.filter(|dependency| dependency["name"] == "tokio")
}

fn features_without_effect(metadata: &Value) -> Vec<Finding> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut findings = Vec::new();
    for package in packages {
        for dependency in
            tokio_dependencies(package).filter(|dependency| dependency["kind"].is_null())
        {
            let features = dependency["features"].as_array().into_iter().flatten();
            let names = features.filter_map(Value::as_str);
            for feature in names.filter(|name| FEATURES_WITHOUT_EFFECT.contains(name)) {
                let dependent = package["name"].as_str().unwrap_or_default();
                findings.push(Finding::note(
                    "feature",
                    format!("`{dependent}` enables tokio's feature `{feature}`, which Wakeful accepts and which has no effect"),
                ));
            }
        }
    }
    findings
}

fn other_runtimes(metadata: &Value) -> Option<Finding> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let names = packages.filter_map(|package| package["name"].as_str());
    let found: Vec<&str> = names.filter(|name| OTHER_RUNTIMES.contains(name)).collect();
    if found.is_empty() {
        return None;
    }
    let message = format!("other runtimes are in the dependency graph: {}", list(&found));
    Some(Finding::note("runtimes", message).advice(
        "Their tasks and sockets stay on them, as on Tokio; `cargo tree -i NAME` shows which crate uses one.",
    ))
}

fn console(metadata: &Value) -> Option<Finding> {
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    packages.find(|package| package["name"] == "console-subscriber")?;
    Some(Finding::note(
        "console",
        "`console-subscriber` builds and runs, but tokio-console shows no tasks: Wakeful emits no tracing events",
    ))
}

/// Returns the crates with a dependency on Tokio: only their sources can name items of Tokio.
fn dependents(metadata: &Value, program: &Program) -> Vec<Package> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let dependents = packages.filter(|package| tokio_dependencies(package).next().is_some());
    let found = dependents.filter_map(|package| {
        let dir = Path::new(package["manifest_path"].as_str()?).parent()?;
        Some(Package {
            name: package["name"].as_str()?.to_owned(),
            dir: dir.to_owned(),
            is_member: dir.starts_with(&program.workspace_root) && package["source"].is_null(),
        })
    });
    found.collect()
}

/// Returns whether `--cfg tokio_unstable` is set, by the environment or by cargo's configuration.
pub fn is_unstable(program: &Program) -> bool {
    const FLAG: &str = "tokio_unstable";
    let in_environment =
        env::vars().any(|(name, value)| name.ends_with("RUSTFLAGS") && value.contains(FLAG));
    let folder = env::current_dir().unwrap_or_else(|_| program.workspace_root.clone());
    let files = config_files(&folder).into_iter().chain(config_files(&program.workspace_root));
    in_environment
        || files.into_iter().any(|file| {
            let text = fs::read_to_string(file).unwrap_or_default();
            text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(FLAG))
        })
}

fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
