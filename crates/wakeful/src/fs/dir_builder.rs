//! Options for creating a directory.

use super::dispatch::on_pool;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Options for creating a directory, like [`std::fs::DirBuilder`].
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// # let root = std::env::temp_dir().join(format!("wakeful-doc-dir-{}", std::process::id()));
/// wakeful::fs::DirBuilder::new().recursive(true).mode(0o700).create(root.join("a/b")).await?;
/// # std::fs::remove_dir_all(root)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    mode: Option<u32>,
}

impl DirBuilder {
    /// Creates a builder that is not recursive and uses the default mode, `0o777`.
    pub fn new() -> DirBuilder {
        DirBuilder::default()
    }

    /// Sets whether missing parent directories are created too.
    ///
    /// If so, it is no error if the directory exists.
    pub fn recursive(&mut self, recursive: bool) -> &mut DirBuilder {
        self.recursive = recursive;
        self
    }

    /// Sets the mode of the new directories. The process's umask is applied to it.
    pub fn mode(&mut self, mode: u32) -> &mut DirBuilder {
        self.mode = Some(mode);
        self
    }

    /// Creates the directory.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::DirBuilder::create`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref().to_owned();
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(self.recursive);
        if let Some(mode) = self.mode {
            builder.mode(mode);
        }
        on_pool("fs::DirBuilder::create", move || builder.create(path)).await
    }
}
