//! The packages called `tokio` in the program's dependency graph.

use std::path::Path;

use semver::Version;
use serde_json::Value;

use crate::drop_in::DropIn;

#[cfg(test)]
mod tests;

/// A package called `tokio` in the program's dependency graph.
#[derive(Debug)]
pub struct TokioPackage<'a> {
    pub version: Version,
    /// The registry or git repository, or `None` for a folder.
    pub source: Option<&'a str>,
    pub dir: &'a Path,
}

/// Returns all packages called `tokio`, in any version.
pub fn tokio_packages(metadata: &Value) -> Vec<TokioPackage<'_>> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let tokios = packages.filter(|package| package["name"] == "tokio");
    let found = tokios.filter_map(|package| {
        Some(TokioPackage {
            version: package["version"].as_str()?.parse().ok()?,
            source: package["source"].as_str(),
            dir: Path::new(package["manifest_path"].as_str()?).parent()?,
        })
    });
    found.collect()
}

/// Returns the Tokio that the drop-in should have replaced but did not.
pub fn unreplaced_tokio<'a>(metadata: &'a Value, drop_in: &DropIn) -> Option<TokioPackage<'a>> {
    let mut all = tokio_packages(metadata).into_iter();
    all.find(|found| found.version.major == drop_in.version.major && found.dir != drop_in.dir)
}

/// Returns whether `source` is crates.io, the registry that the patch applies to.
pub fn is_crates_io(source: Option<&str>) -> bool {
    const NAMES: [&str; 2] = [
        "registry+https://github.com/rust-lang/crates.io-index",
        "sparse+https://index.crates.io/",
    ];
    source.is_some_and(|source| NAMES.contains(&source))
}
