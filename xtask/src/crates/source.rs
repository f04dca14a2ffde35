//! Copies of a crate's published source, with locked dependencies.

use std::fs;
use std::path::{Path, PathBuf};

use super::list::Entry;
use super::{Runtime, target_dir};
use crate::cargo::Cargo;
use crate::conformance::suites::TOKIO;
use crate::json::Json;
use crate::probe::{self, failed};

/// Copies the crate's source for a runtime, and returns the copy's folder. The copy for Tokio comes
/// first: the one for Wakeful takes its lock file, so that both are built with the same versions.
pub fn copy(entry: &Entry, runtime: Runtime) -> Result<PathBuf, String> {
    let dir = folder(entry, runtime);
    let locked = dir.join("Cargo.lock");
    copy_folder(&published(entry)?, &dir)?;
    for (from, to) in &entry.copies {
        copy_file(&dir.join(from), &dir.join(to))?;
    }
    let manifest = dir.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|e| failed("read", &manifest, &e))?;
    // The copy may lie inside this repository, whose workspace does not contain it.
    if !text.lines().any(|line| line.trim() == "[workspace]") {
        let text = format!("{text}\n[workspace]\n");
        fs::write(&manifest, text).map_err(|e| failed("write", &manifest, &e))?;
    }
    match runtime {
        // The versions of an earlier run are built already.
        Runtime::Tokio if locked.exists() => {}
        Runtime::Tokio => lock(&dir)?,
        Runtime::Wakeful => {
            let from = folder(entry, Runtime::Tokio).join("Cargo.lock");
            fs::copy(&from, &locked).map_err(|e| failed("copy", &from, &e))?;
        }
    }
    Ok(dir)
}

fn folder(entry: &Entry, runtime: Runtime) -> PathBuf {
    target_dir().join(runtime.name()).join(format!("{}-{}", entry.name, entry.version))
}

/// Locks the newest versions, and Tokio's version to the drop-in's: cargo applies the patch only to
/// the locked version.
fn lock(dir: &Path) -> Result<(), String> {
    Cargo::new(dir, "generate-lockfile --quiet").run()?;
    Cargo::new(dir, &format!("update --quiet -p tokio@1 --precise {}", TOKIO.version)).run()
}

/// Returns the folder of the published crate, which cargo downloads if needed.
fn published(entry: &Entry) -> Result<PathBuf, String> {
    let Entry { name, version, .. } = entry;
    let probe = target_dir().join("probe");
    let head = probe::manifest_head("probe");
    probe::lay_out(
        &probe,
        &format!(
            "{head}\n[dependencies.{name}]\nversion = \"={version}\"\ndefault-features = false\n"
        ),
    )?;
    let metadata = Cargo::new(&probe, "metadata --quiet --format-version=1").output()?;
    let metadata = Json::parse(&metadata)?;
    let is_it =
        |package: &&Json| package["name"].text() == name && package["version"].text() == version;
    let package = metadata["packages"].items().iter().find(is_it);
    let package = package.ok_or_else(|| format!("cargo did not fetch {name} {version}"))?;
    let manifest = Path::new(package["manifest_path"].text());
    Ok(manifest.parent().expect("a manifest lies in a folder").to_owned())
}

/// Copies a folder, without what would change the toolchain or the versions.
fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    const LEFT_OUT: &[&str] = &[".cargo", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"];
    fs::create_dir_all(to).map_err(|e| failed("make", to, &e))?;
    for entry in fs::read_dir(from).map_err(|e| failed("list", from, &e))? {
        let path = entry.map_err(|e| failed("list", from, &e))?.path();
        let name = path.file_name().unwrap_or_default();
        if LEFT_OUT.iter().any(|left_out| name == *left_out) {
            continue;
        }
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else {
            copy_file(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Copies a file, unless the copy has this content already: cargo rebuilds if the modification time
/// changes.
fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    let content = fs::read(from).map_err(|e| failed("read", from, &e))?;
    if fs::read(to).is_ok_and(|there| there == content) {
        return Ok(());
    }
    fs::write(to, content).map_err(|e| failed("write", to, &e))
}
