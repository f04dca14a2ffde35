//! A folder for the files of a test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, fs, process};

/// A new, empty folder that is removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder that no other test uses.
    #[expect(clippy::new_without_default, reason = "a default would not create a folder")]
    pub fn new() -> Scratch {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("wakeful-ecosystem-{}-{}", process::id(), MADE.fetch_add(1, Relaxed));
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder).expect("cannot create the folder");
        Scratch(folder)
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the path of the folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
