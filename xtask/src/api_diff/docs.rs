//! Having rustdoc describe crates as JSON.

use std::path::PathBuf;

use crate::cargo::{self, Cargo};
use crate::conformance::suites::TOKIO;
use crate::json::{Json, quoted};
use crate::{probe, repo};

/// All but the unstable parts.
const FEATURES: &str = r#"["full", "test-util"]"#;

/// The description of Tokio itself.
pub fn of_tokio() -> Result<Vec<PathBuf>, String> {
    let dir = folder().join("tokio");
    probe::lay_out(&dir, &manifest())?;
    describe(&dir, &["tokio".to_owned()])
}

/// The descriptions of the drop-in and of all our crates under it.
pub fn of_drop_in() -> Result<Vec<PathBuf>, String> {
    let dir = folder().join("drop-in");
    let drop_in = repo::root().join("crates/tokio-drop-in");
    let drop_in = quoted(&drop_in.to_string_lossy());
    let patch = format!("\n[patch.crates-io]\ntokio = {{ path = {drop_in} }}\n");
    probe::lay_out(&dir, &(manifest() + &patch))?;
    let metadata = Cargo::new(&dir, "metadata --quiet --format-version=1").output()?;
    let metadata = Json::parse(&metadata)?;
    let packages = metadata["packages"].items().iter();
    let ours = packages
        .filter(|package| package["source"].is_null() && package["name"].text() != "api-diff");
    let ours: Vec<String> = ours.map(|package| package["name"].text().to_owned()).collect();
    describe(&dir, &ours)
}

fn manifest() -> String {
    let head = probe::manifest_head("api-diff");
    let version = TOKIO.version;
    format!(
        "{head}\n[dependencies]\ntokio = {{ version = \"={version}\", features = {FEATURES} }}\n"
    )
}

/// Private items too: a signature may go through an alias that only its crate can name.
fn describe(dir: &std::path::Path, packages: &[String]) -> Result<Vec<PathBuf>, String> {
    let target_dir = dir.join("target");
    let chosen: Vec<String> =
        packages.iter().flat_map(|package| ["--package".to_owned(), package.clone()]).collect();
    Cargo::new(dir, "doc --quiet --no-deps")
        .args(&chosen)
        .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy())
        // JSON is not a stable output of rustdoc; this lets the toolchain in use write it all the
        // same, and no other has to be installed.
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

fn folder() -> PathBuf {
    cargo::target_dir(&repo::root()).join("api-diff")
}
