//! The generated package that contains a suite's tests.
//!
//! The dependencies, dev-dependencies and features that the tests need are taken from cargo's
//! metadata of the published crate, so no copy of its manifest is kept here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::suites::{EXCLUDED_FILES, Suite};
use super::target_dir;
use crate::cargo::Cargo;
use crate::json::{Json, quoted};
use crate::probe::{self, failed, manifest_head, write};
use crate::repo;

#[cfg(test)]
mod tests;

/// The runtime that the tests run on.
#[derive(Clone, Copy, PartialEq)]
pub enum Backend {
    DropIn,
    Tokio,
}

/// Writes the package and returns its folder. If there is a lock file at `lock`, its versions are
/// used, so that both backends are built with the same dependencies.
pub fn lay_out(suite: &Suite, backend: Backend, lock: &Path) -> Result<PathBuf, String> {
    let published = Published::find(suite)?;
    let on = if backend == Backend::DropIn { "drop-in" } else { "itself" };
    let dir = target_dir().join(format!("{}-on-{on}", suite.name));
    let mut manifest = manifest(suite, &published.metadata);
    if backend == Backend::DropIn {
        let drop_in = repo::root().join("crates/tokio-drop-in");
        let drop_in = quoted(&drop_in.to_string_lossy());
        manifest.push_str(&format!("\n[patch.crates-io]\ntokio = {{ path = {drop_in} }}\n"));
    }
    probe::lay_out(&dir, &manifest)?;
    copy_changed(&published.tests(), &dir.join("tests"))?;
    let locked = dir.join("Cargo.lock");
    if lock.exists() {
        fs::copy(lock, &locked).map_err(|e| failed("copy", lock, &e))?;
    } else if locked.exists() {
        fs::remove_file(&locked).map_err(|e| failed("remove", &locked, &e))?;
    }
    Ok(dir)
}

/// Returns the names of the suite's test files, without the excluded ones.
pub fn test_files(suite: &Suite) -> Result<Vec<String>, String> {
    if let Some(files) = suite.files {
        return Ok(files.iter().map(|&file| file.to_owned()).collect());
    }
    let tests = Published::find(suite)?.tests();
    let mut names = Vec::new();
    for path in entries(&tests)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let left_out = EXCLUDED_FILES.iter().any(|part| name.contains(part));
        if path.extension().is_some_and(|end| end == "rs") && !left_out {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the names of all features of the suite's crate.
pub fn features_of(suite: &Suite) -> Result<BTreeSet<String>, String> {
    let published = Published::find(suite)?;
    Ok(published.metadata["features"].fields().map(|(name, _)| name.to_owned()).collect())
}

/// Saves the lock file of the package that was built on Tokio itself.
pub fn save_lock(suite: &Suite, lock: &Path) -> Result<(), String> {
    let from = target_dir().join(format!("{}-on-itself/Cargo.lock", suite.name));
    fs::copy(&from, lock).map_err(|e| failed("copy", &from, &e))?;
    Ok(())
}

/// A published crate that cargo has fetched.
struct Published {
    metadata: Json,
}

impl Published {
    fn find(suite: &Suite) -> Result<Published, String> {
        let probe = target_dir().join("probe");
        let head = manifest_head("probe");
        let Suite { krate, version, .. } = suite;
        probe::lay_out(&probe, &format!("{head}\n[dependencies]\n{krate} = \"={version}\"\n"))?;
        let metadata = Cargo::new(&probe, "metadata --quiet --format-version=1").output()?;
        let Json::Object(mut metadata) = Json::parse(&metadata)? else {
            return Err("cargo metadata: not an object".to_owned());
        };
        let Some(Json::Array(packages)) = metadata.remove("packages") else {
            return Err("cargo metadata: no packages".to_owned());
        };
        let is_it = |package: &Json| {
            package["name"].text() == *krate && package["version"].text() == *version
        };
        let found = packages.into_iter().find(is_it);
        let metadata = found.ok_or_else(|| format!("cargo did not fetch {krate} {version}"))?;
        Ok(Published { metadata })
    }

    fn tests(&self) -> PathBuf {
        let manifest = Path::new(self.metadata["manifest_path"].text());
        manifest.with_file_name("tests")
    }
}

/// Returns the manifest of the package with the suite's tests.
fn manifest(suite: &Suite, published: &Json) -> String {
    let mut text = manifest_head(&format!("{}-conformance", suite.name));
    // There are many binaries, and small ones link faster.
    text.push_str("\n[profile.dev]\ndebug = false\nincremental = false\n");
    text.push_str("\n[lints.rust]\nunexpected_cfgs = \"allow\"\n");
    text.push_str("\n[features]\n");
    // The tests have `cfg`s on the features of the crate they were published in.
    let enabled = enabled_features(suite, published);
    text.push_str(&format!("default = {}\n", array(&enabled)));
    for name in &enabled {
        text.push_str(&format!("{name} = []\n"));
    }
    let Suite { krate, version, features, .. } = suite;
    let features: Vec<String> = features.iter().map(|&name| name.to_owned()).collect();
    text.push_str(&format!(
        "\n[dev-dependencies.{krate}]\nversion = \"={version}\"\nfeatures = {}\n",
        array(&features)
    ));
    for dependency in published["dependencies"].items() {
        text.push_str(&dependency_section(suite, dependency).unwrap_or_default());
    }
    text
}

/// Returns the features that the suite's features imply, without those that only enable a
/// dependency.
fn enabled_features(suite: &Suite, published: &Json) -> Vec<String> {
    let mut enabled: Vec<String> = Vec::new();
    let mut open: Vec<&str> = suite.features.to_vec();
    open.push("default");
    while let Some(name) = open.pop() {
        let implied = &published["features"][name];
        let of_dependency = implied.items().iter().any(|item| item.text() == format!("dep:{name}"));
        if implied.is_null() || of_dependency || enabled.iter().any(|known| known == name) {
            continue;
        }
        if name != "default" {
            enabled.push(name.to_owned());
        }
        open.extend(implied.items().iter().map(Json::text));
    }
    enabled.sort();
    enabled
}

/// Returns the section of a dependency, or `None` for a build dependency or the crate itself.
fn dependency_section(suite: &Suite, dependency: &Json) -> Option<String> {
    let kind = match dependency["kind"].str() {
        None => "dependencies",
        Some("dev") => "dev-dependencies",
        Some(_) => return None,
    };
    let name = dependency["name"].text();
    if name == suite.krate {
        return None;
    }
    let known_as = dependency["rename"].str().unwrap_or(name);
    let target = dependency["target"].str();
    let target = target.map_or(String::new(), |target| format!("target.{}.", quoted(target)));
    let features: Vec<String> =
        dependency["features"].items().iter().map(|name| name.text().to_owned()).collect();
    Some(format!(
        "\n[{target}{kind}.{known_as}]\npackage = {}\nversion = {}\ndefault-features = {}\nfeatures = {}\n",
        quoted(name),
        quoted(dependency["req"].text()),
        dependency["uses_default_features"].is_true(),
        array(&features)
    ))
}

fn array(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    format!("[{}]", names.join(", "))
}

/// Copies a folder recursively, except files that are unchanged.
fn copy_changed(from: &Path, to: &Path) -> Result<(), String> {
    for path in entries(from)? {
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_changed(&path, &copy)?;
        } else {
            let text = fs::read_to_string(&path).map_err(|e| failed("read", &path, &e))?;
            write(&copy, &text)?;
        }
    }
    Ok(())
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let read = fs::read_dir(dir).and_then(|all| all.map(|entry| Ok(entry?.path())).collect());
    read.map_err(|e| failed("list", dir, &e))
}
