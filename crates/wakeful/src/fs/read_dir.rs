//! Listing a directory.
//!
//! A pool thread reads the entries in chunks; [`ReadDir`] hands them out one by one.

use super::dispatch::on_pool;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::future::{Future, poll_fn};
use std::io;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wakeful_runtime::task::{JoinHandle, spawn_blocking_or_run};

/// How many entries one trip to the pool reads. Large enough that the trip's cost per entry is
/// small.
const CHUNK: usize = 128;

/// Returns a stream of the entries of a directory.
///
/// # Errors
/// Returns the errors of [`std::fs::read_dir`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut entries = wakeful::fs::read_dir(".").await?;
/// while let Some(entry) = entries.next_entry().await? {
///     println!("{}", entry.path().display());
/// }
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let first = on_pool("fs::read_dir", move || {
        let mut listing =
            Listing { std: std::fs::read_dir(path)?, entries: VecDeque::new(), has_more: true };
        listing.read_chunk();
        Ok(listing)
    });
    Ok(ReadDir(ReadDirState::Idle(Some(first.await?))))
}

/// The entries of a directory, one by one. Returned by [`read_dir`].
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let dir = std::env::temp_dir().join(format!("wakeful-doc-list-{}", std::process::id()));
/// fs::create_dir_all(dir.join("sub")).await?;
/// fs::write(dir.join("file"), "").await?;
///
/// let mut names = Vec::new();
/// let mut entries = fs::read_dir(&dir).await?;
/// while let Some(entry) = entries.next_entry().await? {
///     names.push(entry.file_name());
/// }
/// names.sort(); // they come in no order
/// assert_eq!(names, ["file", "sub"]);
/// # std::fs::remove_dir_all(dir)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "does nothing unless `next_entry` is called"]
pub struct ReadDir(ReadDirState);

#[derive(Debug)]
enum ReadDirState {
    /// No job runs. `None` once a job failed to run because the runtime has shut down.
    Idle(Option<Listing>),
    Reading(JoinHandle<Listing>),
}

#[derive(Debug)]
struct Listing {
    std: std::fs::ReadDir,
    entries: VecDeque<io::Result<DirEntry>>,
    /// Whether the end of the directory has not been reached yet.
    has_more: bool,
}

impl Listing {
    fn read_chunk(&mut self) {
        while self.has_more && self.entries.len() < CHUNK {
            let entry = self.std.next();
            // Stop at an error: the caller may not want to continue after it.
            let is_ok = matches!(entry, Some(Ok(_)));
            self.has_more = entry.is_some();
            self.entries.extend(entry.map(|entry| {
                entry.map(|std| DirEntry { file_type: std.file_type().ok(), std: Arc::new(std) })
            }));
            if !is_ok {
                return;
            }
        }
    }
}

impl ReadDir {
    /// Returns the next entry, or `None` at the end of the directory.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no entry is lost.
    ///
    /// # Errors
    /// Returns an error if the entry, or the next part of the directory, cannot be read.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// Polls for the next entry. See [`next_entry`](Self::next_entry).
    ///
    /// If several tasks call this method, only the task of the last call is woken.
    ///
    /// # Errors
    /// Returns an error if the entry, or the next part of the directory, cannot be read.
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.0 {
                ReadDirState::Idle(slot) => {
                    let Some(listing) = slot else { return Poll::Ready(Ok(None)) };
                    if let Some(entry) = listing.entries.pop_front() {
                        return Poll::Ready(entry.map(Some));
                    }
                    if !listing.has_more {
                        return Poll::Ready(Ok(None));
                    }
                    let mut listing = slot.take().expect("matched above");
                    self.0 = ReadDirState::Reading(spawn_blocking_or_run(
                        "fs::ReadDir::next_entry",
                        move || {
                            listing.read_chunk();
                            listing
                        },
                    ));
                }
                ReadDirState::Reading(job) => {
                    let read = ready!(Pin::new(job).poll(cx));
                    self.0 = ReadDirState::Idle(None);
                    self.0 = ReadDirState::Idle(Some(read?));
                }
            }
        }
    }
}

/// An entry of a directory. Returned by [`ReadDir`].
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// let mut entries = fs::read_dir("src").await?;
/// let mut bytes = 0;
/// while let Some(entry) = entries.next_entry().await? {
///     if entry.file_type().await?.is_file() {
///         bytes += entry.metadata().await?.len();
///     }
/// }
/// assert!(bytes > 0);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct DirEntry {
    /// Known if the file system returns the type with the name, as most do.
    file_type: Option<FileType>,
    std: Arc<std::fs::DirEntry>,
}

impl DirEntry {
    /// Returns the path of the entry: the path given to [`read_dir`], and the entry's name.
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// Returns the name of the entry, without the path.
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// Returns the metadata of the entry. Does not follow a symbolic link.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::DirEntry::metadata`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        on_pool("fs::DirEntry::metadata", move || std.metadata()).await
    }

    /// Returns the type of the entry. Does not follow a symbolic link.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::DirEntry::file_type`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime and the file system did not return the type
    /// with the name.
    pub async fn file_type(&self) -> io::Result<FileType> {
        if let Some(file_type) = self.file_type {
            return Ok(file_type);
        }
        let std = self.std.clone();
        on_pool("fs::DirEntry::file_type", move || std.file_type()).await
    }

    /// Returns the inode number of the entry.
    pub fn ino(&self) -> u64 {
        self.std.ino()
    }
}
