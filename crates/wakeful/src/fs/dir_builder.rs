//! How a directory is to be made.

use super::dispatch::on_pool;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Says how a directory is to be made, as [`std::fs::DirBuilder`] does.
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
    /// A directory in one that is there, which everybody may use as far as the process' mask allows.
    pub fn new() -> DirBuilder {
        DirBuilder::default()
    }

    /// To make those that it lies in too; what is there already is no error then.
    pub fn recursive(&mut self, recursive: bool) -> &mut DirBuilder {
        self.recursive = recursive;
        self
    }

    /// The permissions, less those that the process' mask takes away.
    pub fn mode(&mut self, mode: u32) -> &mut DirBuilder {
        self.mode = Some(mode);
        self
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// As [`std::fs::DirBuilder::create`].
    ///
    /// # Panics
    /// Outside of a runtime.
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
