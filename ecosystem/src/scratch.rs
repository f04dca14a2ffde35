//! A folder for what a test leaves on disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, fs, process};

/// A new, empty folder that goes away with this value.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A folder that no other test has.
    #[expect(clippy::new_without_default, reason = "a default would not create a folder")]
    pub fn new() -> Scratch {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("wakeful-ecosystem-{}-{}", process::id(), MADE.fetch_add(1, Relaxed));
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder).expect("the folder is new and may be created");
        Scratch(folder)
    }

    /// Where a file of that name lies in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
