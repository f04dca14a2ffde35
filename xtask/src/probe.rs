//! Packages made on the fly, to have cargo look at other packages through them.

use std::fs;
use std::path::Path;

/// The start of a manifest. The package lies inside this repository, but not in its workspace.
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

/// Writes a file and the folders it lies in, unless it is there already: cargo goes by the time.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let folder = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(folder).map_err(|e| failed("make", folder, &e))?;
    fs::write(path, text).map_err(|e| failed("write", path, &e))
}

/// What to say when a file is not as it should be.
pub fn failed(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}
