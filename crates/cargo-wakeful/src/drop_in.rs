//! Finding the drop-in crate `tokio` of Wakeful.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::Value;

use crate::cargo::Cargo;

/// The crate that replaces Tokio.
#[derive(Debug)]
pub struct DropIn {
    /// Its folder, without symbolic links, since paths in cargo's metadata are compared with it.
    pub dir: PathBuf,
    pub version: Version,
    pub features: Vec<String>,
    /// The version of `wakeful` in the same workspace.
    pub wakeful_version: Option<Version>,
    /// The oldest Rust version that compiles it.
    pub rust_version: Option<Version>,
}

/// Returns the checkout that this program was built from. `cargo install --path` does not move the
/// checkout, so this works for installed programs too.
pub fn default_checkout() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

impl DropIn {
    pub fn find() -> Result<DropIn, String> {
        let (checkout, named_by) = match env::var_os("WAKEFUL_PATH") {
            Some(path) => (PathBuf::from(path), "set by WAKEFUL_PATH"),
            None => (default_checkout(), "the checkout that cargo-wakeful was built from"),
        };
        let candidates = [checkout.join("crates/tokio-drop-in"), checkout.clone()];
        let found = candidates.iter().find(|dir| has_tokio_manifest(dir));
        let dir = found.and_then(|dir| fs::canonicalize(dir).ok()).ok_or_else(|| {
            format!(
                "Wakeful was not found in {} ({named_by}): the folder crates/tokio-drop-in is missing.\n\
                 Set WAKEFUL_PATH to a checkout of Wakeful.",
                checkout.display()
            )
        })?;
        let manifest = dir.join("Cargo.toml");
        let metadata = Cargo::new()
            .args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"])
            .args([&manifest])
            .capture()?;
        let unreadable = || format!("could not read {}:\n{}", manifest.display(), metadata.stderr);
        let packages: Value = serde_json::from_str(&metadata.stdout).map_err(|_| unreadable())?;
        let packages = packages["packages"].as_array().ok_or_else(unreadable)?;
        let named = |name: &str| packages.iter().find(|package| package["name"] == name);
        let version_of =
            |package: &Value| package["version"].as_str().and_then(|text| text.parse().ok());
        let package = named("tokio").ok_or_else(unreadable)?;
        let version = version_of(package);
        let rust_version =
            package["rust_version"].as_str().map(|text| match text.split('.').count() {
                // A manifest may omit the patch number.
                2 => format!("{text}.0"),
                _ => text.to_owned(),
            });
        let features = package["features"].as_object().ok_or_else(unreadable)?;
        Ok(DropIn {
            dir,
            version: version.ok_or_else(unreadable)?,
            features: features.keys().cloned().collect(),
            wakeful_version: named("wakeful").and_then(version_of),
            rust_version: rust_version.and_then(|text| text.parse().ok()),
        })
    }

    /// Returns a call of cargo that replaces the `tokio` of crates.io by this crate.
    pub fn cargo(&self) -> Cargo {
        Cargo::new().args(self.cargo_options())
    }

    /// Returns the options of cargo that replace the `tokio` of crates.io by this crate.
    pub fn cargo_options(&self) -> [String; 2] {
        // A JSON string is also a valid basic string in TOML.
        let dir = Value::from(self.dir.to_string_lossy());
        ["--config".to_owned(), format!("patch.crates-io.tokio.path={dir}")]
    }

    /// Returns what replaces Tokio, for messages.
    pub fn title(&self) -> String {
        match &self.wakeful_version {
            Some(wakeful) => format!("Wakeful {wakeful} (as tokio {})", self.version),
            None => format!("Wakeful's tokio {}", self.version),
        }
    }
}

fn has_tokio_manifest(dir: &Path) -> bool {
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
    manifest.lines().any(|line| line.replace(' ', "") == "name=\"tokio\"")
}
