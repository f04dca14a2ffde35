//! Generated packages, through which cargo resolves and builds other packages.

use std::fs;
use std::path::Path;

/// Returns the start of a manifest. The package is inside this repository, but has its own
/// workspace.
pub fn manifest_head(name: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n"
    )
}

/// Writes a package without code.
pub fn lay_out(dir: &Path, manifest: &str) -> Result<(), String> {
    write(&dir.join("src/lib.rs"), "")?;
    write(&dir.join("Cargo.toml"), manifest)
}

/// Writes a file and its folders, unless the file has this content already: cargo rebuilds if the
/// modification time changes.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let folder = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(folder).map_err(|e| failed("make", folder, &e))?;
    fs::write(path, text).map_err(|e| failed("write", path, &e))
}

/// Returns an error message about a file.
pub fn failed(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}
