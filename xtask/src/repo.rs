//! The repository as a set of files in memory, so that checks are functions of text.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::manifest::Manifest;

/// The text of each file, by its path relative to the repository's root.
pub type Files = BTreeMap<PathBuf, String>;

/// A `Cargo.toml` with a `[package]` section, inside the workspace or outside.
pub struct Package {
    /// The folder, relative to the repository's root.
    pub dir: PathBuf,
    pub name: String,
    pub manifest: Manifest,
}

impl Package {
    /// Returns the source files of this package that cargo compiles as crate roots.
    pub fn roots(&self, files: &Files) -> Vec<PathBuf> {
        let src = self.dir.join("src");
        let given = self.manifest.target_paths.iter().map(|path| self.dir.join(path));
        let usual = [src.join("lib.rs"), src.join("main.rs")];
        let bin = src.join("bin");
        let bins = files.keys().filter(|path| {
            let below = path.strip_prefix(&bin).map_or(0, |below| below.components().count());
            below == 1 || (below == 2 && path.ends_with("main.rs"))
        });
        let mut roots: Vec<PathBuf> = given.chain(usual).chain(bins.cloned()).collect();
        roots.retain(|root| files.contains_key(root));
        // A manifest may name files that cargo also finds by default.
        roots.sort();
        roots.dedup();
        roots
    }
}

/// Returns the repository's root folder. It is determined at run time, since a target folder shared
/// between checkouts may contain a binary compiled in another one.
pub fn root() -> PathBuf {
    let xtask_dir = env::var("CARGO_MANIFEST_DIR");
    let xtask_dir = PathBuf::from(xtask_dir.unwrap_or(env!("CARGO_MANIFEST_DIR").to_owned()));
    xtask_dir.parent().expect("the xtask crate lies in a folder of the repository").to_owned()
}

/// Reads every file that is committed or could be: neither ignored nor in a target folder.
pub fn load(root: &Path) -> Result<Files, String> {
    let paths = match listed_by_git(root) {
        Some(paths) => paths,
        // A source archive, or a machine without git.
        None => walked(root, Path::new(""))?,
    };
    let mut files = Files::new();
    for path in paths {
        let full = root.join(&path);
        // Skips submodules, links, and deleted files that git still lists.
        if fs::symlink_metadata(&full).is_ok_and(|meta| meta.is_file()) {
            let bytes =
                fs::read(&full).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(files)
}

/// Returns all packages of the repository, sorted by folder.
pub fn packages(files: &Files) -> Vec<Package> {
    let manifests = files.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
    let packages = manifests.filter_map(|(path, text)| {
        let manifest = Manifest::parse(text);
        let name = manifest.package.clone()?;
        Some(Package { dir: path.parent()?.to_owned(), name, manifest })
    });
    packages.collect()
}

fn listed_by_git(root: &Path) -> Option<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths: Vec<PathBuf> =
        listing.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    // The list is empty for an archive unpacked in an ignored folder of another repository.
    (!paths.is_empty()).then_some(paths)
}

fn walked(root: &Path, dir: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |e: std::io::Error| format!("cannot list {}: {e}", root.join(dir).display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join(dir)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = dir.join(entry.file_name());
        if !entry.file_type().map_err(unreadable)?.is_dir() {
            paths.push(path);
        } else if entry.file_name() != "target" && entry.file_name() != ".git" {
            paths.extend(walked(root, &path)?);
        }
    }
    Ok(paths)
}
