//! `cargo xtask package`: checks the crates that are published, as registries and docs.rs will see
//! them.
//!
//! Each crate without `publish = false` is packaged, and built from its package. The
//! documentation is built with the flags of docs.rs, which show the features that an item needs.

use std::path::Path;

use crate::cargo::Cargo;
use crate::repo::{self, Files, Package};

#[cfg(test)]
mod tests;

/// Files that each published crate has, beside its code.
const FILES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// The keys of `[package]` that each published crate has. `repository` is not among them: it is
/// added with the first public address.
const KEYS: &[&str] = &["categories", "description", "keywords", "license", "rust-version"];

/// The flag that docs.rs passes to the compiler and to rustdoc.
const DOCS_RS: &str = "--cfg docsrs";

/// Packages all published crates and builds their documentation.
pub fn run() -> Result<(), String> {
    let root = repo::root();
    let files = repo::load(&root)?;
    let packages = repo::packages(&files);
    let published = published(&packages);
    for package in &published {
        let missing = missing(package, &files, &root);
        if !missing.is_empty() {
            return Err(format!("{} has no {}", package.name, missing.join(", no ")));
        }
    }
    let chosen: Vec<String> = published
        .iter()
        .flat_map(|package| ["--package".to_owned(), package.name.clone()])
        .collect();
    Cargo::new(&root, "package --quiet --allow-dirty").args(&chosen).run()?;
    docs_rs(&root)
}

/// Returns the packages below `crates/` that are published.
fn published(packages: &[Package]) -> Vec<&Package> {
    let in_crates = packages.iter().filter(|package| package.dir.starts_with("crates"));
    in_crates.filter(|package| package.manifest.is_published).collect()
}

fn missing(package: &Package, files: &Files, root: &Path) -> Vec<&'static str> {
    let manifest =
        files.get(&package.dir.join("Cargo.toml")).map(String::as_str).unwrap_or_default();
    let head = manifest.split("\n[").next().unwrap_or_default();
    let has_key = |key: &str| {
        head.lines().any(|line| {
            line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        })
    };
    // The licences are symbolic links, which `files` does not contain.
    let has_file = |name: &str| root.join(&package.dir).join(name).is_file();
    let keys = KEYS.iter().filter(|key| !has_key(key));
    keys.chain(FILES.iter().filter(|name| !has_file(name))).copied().collect()
}

/// Builds the documentation of `wakeful` as docs.rs does.
fn docs_rs(root: &Path) -> Result<(), String> {
    // Without its own target folder, it would replace what was built without the flag.
    let target_dir = crate::cargo::target_dir(root).join("docs-rs");
    Cargo::new(root, "doc --quiet --no-deps --package wakeful --all-features")
        // docs.rs uses a nightly compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target_dir.to_string_lossy())
        .env("RUSTFLAGS", DOCS_RS)
        .env("RUSTDOCFLAGS", &format!("{DOCS_RS} -D warnings"))
        .run()
}
