//! Runs rustdoc to describe crates as JSON.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cargo::{self, Cargo};
use crate::conformance::suites::TOKIO;
use crate::json::quoted;
use crate::{probe, repo};

/// Describes Tokio itself with `features`.
pub fn of_tokio(features: &[&str]) -> Result<Vec<PathBuf>, String> {
    let dir = folder().join("tokio");
    probe::lay_out(&dir, &manifest(features))?;
    describe(&dir, &["tokio".to_owned()])
}

/// Describes the drop-in and all our crates that it depends on.
pub fn of_drop_in(features: &[&str]) -> Result<Vec<PathBuf>, String> {
    let dir = folder().join("drop-in");
    let drop_in = repo::root().join("crates/tokio-drop-in");
    let drop_in = quoted(&drop_in.to_string_lossy());
    let patch = format!("\n[patch.crates-io]\ntokio = {{ path = {drop_in} }}\n");
    probe::lay_out(&dir, &(manifest(features) + &patch))?;
    // `cargo metadata` would also list crates that no feature enables.
    let tree = Cargo::new(&dir, "tree --quiet --prefix none --edges normal").output()?;
    let ours: BTreeSet<String> = local_packages(&tree).collect();
    let ours: Vec<String> = ours.into_iter().filter(|name| name != "api-diff").collect();
    describe(&dir, &ours)
}

fn manifest(features: &[&str]) -> String {
    let head = probe::manifest_head("api-diff");
    let version = quoted(&format!("={}", TOKIO.version));
    let features: Vec<String> = features.iter().map(|name| quoted(name)).collect();
    let features = features.join(", ");
    format!("{head}\n[dependencies]\ntokio = {{ version = {version}, features = [{features}] }}\n")
}

/// Runs rustdoc on the packages, including private items: signatures may contain private aliases.
fn describe(dir: &Path, packages: &[String]) -> Result<Vec<PathBuf>, String> {
    let target_dir = dir.join("target");
    let chosen: Vec<String> =
        packages.iter().flat_map(|package| ["--package".to_owned(), package.clone()]).collect();
    Cargo::new(dir, "doc --quiet --no-deps")
        .args(&chosen)
        .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy())
        // Rustdoc's JSON output is unstable. This enables it in the current toolchain, so that no
        // nightly toolchain is needed.
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "RUSTDOCFLAGS",
            "-Zunstable-options --output-format json --document-private-items \
             --document-hidden-items --cap-lints allow",
        )
        .run()?;
    let file =
        |package: &String| target_dir.join(format!("doc/{}.json", package.replace('-', "_")));
    Ok(packages.iter().map(file).collect())
}

/// Returns the package names in lines that end in a folder, such as `wakeful v0.1.0
/// (/folder/wakeful) (*)`.
fn local_packages(tree: &str) -> impl Iterator<Item = String> {
    let local = tree.lines().filter(|line| line.contains(" (/"));
    local.filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
}

fn folder() -> PathBuf {
    cargo::target_dir(&repo::root()).join("api-diff")
}

#[cfg(test)]
mod tests {
    use super::local_packages;

    #[test]
    fn our_packages_are_those_in_folders() {
        let tree = "api-diff v0.0.0 (/there)\nmacros v0.1.0 (proc-macro) (/here)\nlibc v0.2.1\n\
                    wakeful v0.1.0 (/here) (*)\n";
        assert_eq!(local_packages(tree).collect::<Vec<_>>(), ["api-diff", "macros", "wakeful"]);
    }
}
