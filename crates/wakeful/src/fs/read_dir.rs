//! What lies in a directory.

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

/// So many entries are read at once.
const CHUNK: usize = 128;

/// Lists a directory.
///
/// # Errors
/// As [`std::fs::read_dir`].
///
/// # Panics
/// Outside of a runtime.
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

/// The entries of a directory, one by one. From [`read_dir`].
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
#[must_use = "gives nothing unless `next_entry` is called"]
pub struct ReadDir(ReadDirState);

#[derive(Debug)]
enum ReadDirState {
    /// None once reading on was cancelled by the end of the runtime.
    Idle(Option<Listing>),
    Reading(JoinHandle<Listing>),
}

#[derive(Debug)]
struct Listing {
    std: std::fs::ReadDir,
    entries: VecDeque<io::Result<DirEntry>>,
    /// There may be more to be read.
    has_more: bool,
}

impl Listing {
    fn read_chunk(&mut self) {
        while self.has_more && self.entries.len() < CHUNK {
            let entry = self.std.next();
            // Who gets an error may not want to go on.
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
    /// The next entry, or none at the end. No entry is lost if this is dropped before it has ended.
    ///
    /// # Errors
    /// If the entry, or more of the directory, cannot be read.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// As [`next_entry`](Self::next_entry), for those who poll. The waker of the last call is the one
    /// that is woken.
    ///
    /// # Errors
    /// If the entry, or more of the directory, cannot be read.
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
                    let mut listing = slot.take().expect("just seen");
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

/// What lies in a directory. From [`ReadDir`].
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
    /// Most file systems tell it with the name.
    file_type: Option<FileType>,
    std: Arc<std::fs::DirEntry>,
}

impl DirEntry {
    /// The path that the directory was opened by, and the name.
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// The name alone.
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// What is known of it; of a symbolic link, of the link itself.
    ///
    /// # Errors
    /// As [`std::fs::DirEntry::metadata`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        on_pool("fs::DirEntry::metadata", move || std.metadata()).await
    }

    /// Whether it is a file, a directory or a link.
    ///
    /// # Errors
    /// As [`std::fs::DirEntry::file_type`].
    ///
    /// # Panics
    /// Outside of a runtime, if the file system did not tell it with the name.
    pub async fn file_type(&self) -> io::Result<FileType> {
        if let Some(file_type) = self.file_type {
            return Ok(file_type);
        }
        let std = self.std.clone();
        on_pool("fs::DirEntry::file_type", move || std.file_type()).await
    }

    /// The number of its inode.
    pub fn ino(&self) -> u64 {
        self.std.ino()
    }
}
