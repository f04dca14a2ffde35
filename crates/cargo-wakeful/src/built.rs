//! Checking, after a call of cargo, that it has built Wakeful and not Tokio.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[cfg(test)]
mod tests;

/// Returns the source folder of a Tokio 1.x that was compiled into `target_dir` since `start`.
///
/// Next to each crate that rustc compiles for cargo there is a file that lists its source files.
pub fn tokio_built_since(start: SystemTime, target_dir: &Path) -> Option<PathBuf> {
    let profiles: Vec<PathBuf> = folders_in(target_dir).collect();
    // With `--target`, there is one more level for the platform.
    let of_platforms = profiles.iter().flat_map(|dir| folders_in(dir)).collect::<Vec<_>>();
    let mut folders = profiles.iter().chain(&of_platforms);
    folders.find_map(|dir| tokio_in(&dir.join("deps"), start))
}

fn folders_in(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir())
}

fn tokio_in(deps: &Path, start: SystemTime) -> Option<PathBuf> {
    for entry in fs::read_dir(deps).ok()?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_new = entry.metadata().and_then(|data| data.modified()).is_ok_and(|at| at >= start);
        if !is_new || !name.starts_with("tokio-") || !name.ends_with(".d") {
            continue;
        }
        let sources = fs::read_to_string(entry.path()).unwrap_or_default();
        if let Some(dir) = released_tokio(&sources) {
            return Some(dir);
        }
    }
    None
}

/// Returns the folder of a release of Tokio 1.x among the paths of a dependency list.
fn released_tokio(sources: &str) -> Option<PathBuf> {
    let paths = sources.split_whitespace().map(Path::new);
    let mut folders = paths.filter(|path| path.ends_with("src/lib.rs"));
    folders.find_map(|path| {
        let dir = path.parent()?.parent()?;
        let name = dir.file_name()?.to_str()?;
        name.starts_with("tokio-1.").then(|| dir.to_owned())
    })
}
