//! An open file.
//!
//! `in_flight.rs` keeps track of the one operation that runs in the background. `reading.rs`,
//! `writing.rs` and `seeking.rs` implement the I/O traits on top of it.

mod in_flight;
mod reading;
mod seeking;
mod writing;

use super::dispatch::{on_pool, try_inline};
use super::nowait::NowaitSupport;
use super::{FileTimes, OpenOptions, cached};
use crate::io::TRANSFER_MAX;
use in_flight::{InFlight, Job, Outcome, rewind_read_ahead};
use std::fmt;
use std::fs::{File as StdFile, Metadata, Permissions};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, ready};
use std::time::SystemTime;
use wakeful_runtime::task::spawn_blocking_or_run;
use wakeful_sync::Mutex;

/// An open file.
///
/// A `File` implements [`AsyncRead`](crate::io::AsyncRead), [`AsyncWrite`](crate::io::AsyncWrite)
/// and [`AsyncSeek`](crate::io::AsyncSeek). Bytes in the page cache are read inline; other reads,
/// and most writes, run on the blocking pool.
///
/// **A write may not have happened yet when it returns.** It continues in the background, even if
/// the file is dropped or the runtime shuts down. [`flush`](crate::io::AsyncWriteExt::flush) waits
/// for it. If the write fails, the next write or flush returns its error.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs::File;
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
///
/// # let path = std::env::temp_dir().join(format!("wakeful-doc-file-{}", std::process::id()));
/// let mut file = File::create(&path).await?;
/// file.write_all(b"hello").await?;
/// file.flush().await?;
///
/// let mut text = String::new();
/// File::open(&path).await?.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # std::fs::remove_file(path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct File {
    std: Arc<StdFile>,
    /// Set once the descriptor is in blocking mode, as `std` opens files. Until then it may be
    /// non-blocking, which makes no difference to a regular file.
    is_blocking: OnceLock<()>,
    /// Whether the file is known to be on a local file system, where `fstat` does not block.
    is_local: bool,
    transfer_max: usize,
    in_flight: Mutex<InFlight>,
}

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::open`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        File::options().read(true).open(path).await
    }

    /// Opens a file for writing. Creates it if it does not exist, and truncates it if it does.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::create`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        File::options().write(true).create(true).truncate(true).open(path).await
    }

    /// Creates a file and opens it for reading and writing. Fails if the file exists.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::create_new`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::{fs::File, io::ErrorKind};
    ///
    /// # let path = std::env::temp_dir().join(format!("wakeful-doc-new-{}", std::process::id()));
    /// let _lock = File::create_new(&path).await?;
    /// let second = File::create_new(&path).await.unwrap_err();
    /// assert_eq!(second.kind(), ErrorKind::AlreadyExists);
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn create_new<P: AsRef<Path>>(path: P) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(path).await
    }

    /// Returns options with which a file can be opened in other ways.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Converts an open [`std::fs::File`].
    pub fn from_std(std: StdFile) -> File {
        File::new(std, OnceLock::from(()), false, None)
    }

    /// Wraps a file that was opened on the pool.
    pub(super) fn opened(std: StdFile, is_local: bool) -> File {
        File::new(std, OnceLock::from(()), is_local, None)
    }

    /// Wraps a file that [`cached::open`] opened: read-only, local and still non-blocking.
    pub(super) fn opened_inline(std: StdFile) -> File {
        File::new(std, OnceLock::new(), true, Some(NowaitSupport { read: true, write: false }))
    }

    fn new(
        std: StdFile,
        is_blocking: OnceLock<()>,
        is_local: bool,
        nowait_support: Option<NowaitSupport>,
    ) -> File {
        File {
            std: Arc::new(std),
            is_blocking,
            is_local,
            transfer_max: TRANSFER_MAX,
            in_flight: Mutex::new(InFlight::new(nowait_support)),
        }
    }

    /// Returns the file in blocking mode, for callers outside this module.
    fn blocking_file(&self) -> &Arc<StdFile> {
        self.is_blocking.get_or_init(|| cached::set_blocking(&self.std));
        &self.std
    }

    /// Waits until the contents and the metadata of the file are on the disk.
    ///
    /// First waits for writes that are still under way.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::sync_all`]. The error of an earlier write is returned
    /// by the next write or flush instead.
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::fs::File;
    /// use wakeful::io::AsyncWriteExt;
    ///
    /// # let path = std::env::temp_dir().join(format!("wakeful-doc-sync-{}", std::process::id()));
    /// let mut file = File::create(&path).await?;
    /// file.write_all(b"must not be lost").await?;
    /// file.flush().await?; // tells of errors
    /// file.sync_all().await?; // survives a power cut
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn sync_all(&self) -> io::Result<()> {
        let mut in_flight = self.in_flight.lock().await;
        in_flight.settle().await;
        let std = self.std.clone();
        on_pool("fs::File::sync_all", move || std.sync_all()).await
    }

    /// Waits until the contents of the file are on the disk.
    ///
    /// Unlike [`sync_all`](Self::sync_all), this may leave out metadata that is not needed to read
    /// the file.
    ///
    /// First waits for writes that are still under way.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::sync_data`]. The error of an earlier write is
    /// returned by the next write or flush instead.
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn sync_data(&self) -> io::Result<()> {
        let mut in_flight = self.in_flight.lock().await;
        in_flight.settle().await;
        let std = self.std.clone();
        on_pool("fs::File::sync_data", move || std.sync_data()).await
    }

    /// Truncates the file to `size` bytes, or extends it with zeros. The cursor does not move.
    ///
    /// First waits for writes that are still under way.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::set_len`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::fs::{self, File};
    ///
    /// # let path = std::env::temp_dir().join(format!("wakeful-doc-len-{}", std::process::id()));
    /// fs::write(&path, "hello, world").await?;
    /// File::options().write(true).open(&path).await?.set_len(5).await?;
    /// assert_eq!(fs::read(&path).await?, b"hello");
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        let mut in_flight = self.in_flight.lock().await;
        in_flight.settle().await;
        let (std, mut staging) = (self.std.clone(), in_flight.take_staging());
        in_flight.job = Job::Running(spawn_blocking_or_run("fs::File::set_len", move || {
            // The resize may invalidate what was read ahead, so discard it and move the cursor
            // back.
            let result = rewind_read_ahead(&std, staging.len());
            if result.is_ok() {
                staging.clear();
            }
            (Outcome::Resized(result.and_then(|()| std.set_len(size))), staging)
        }));
        poll_fn(|cx| {
            let outcome = ready!(in_flight.poll_settle(cx))?;
            match outcome.expect("only the holder of the lock settles the job it started") {
                Outcome::Resized(result) => Poll::Ready(result),
                other => unreachable!("a resize ended with the outcome {other:?}"),
            }
        })
        .await
    }

    /// Returns the metadata of the file. Does not wait for writes under way.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::metadata`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let call = "fs::File::metadata";
        let answer = try_inline(call, |_| self.is_local.then(|| self.std.metadata())).await;
        if let Some(answer) = answer {
            return answer;
        }
        let std = self.std.clone();
        on_pool(call, move || std.metadata()).await
    }

    /// Duplicates the descriptor. Both refer to the same open file and share its cursor.
    ///
    /// First waits for operations that are still under way.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::try_clone`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::fs::File;
    /// use wakeful::io::{AsyncReadExt, AsyncSeekExt, SeekFrom};
    ///
    /// let mut one = File::open("Cargo.toml").await?;
    /// let mut other = one.try_clone().await?;
    /// one.seek(SeekFrom::Start(1)).await?;
    /// let mut word = [0; 7];
    /// other.read_exact(&mut word).await?;
    /// assert_eq!(&word, b"package");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn try_clone(&self) -> io::Result<File> {
        self.in_flight.lock().await.settle().await;
        let std = self.blocking_file().clone();
        let mut clone =
            File::from_std(on_pool("fs::File::try_clone", move || std.try_clone()).await?);
        clone.transfer_max = self.transfer_max;
        Ok(clone)
    }

    /// Waits for operations under way, then converts the file into a [`std::fs::File`].
    ///
    /// # Panics
    /// Panics if the future of an earlier call, of [`metadata`](Self::metadata) or
    /// [`sync_all`](Self::sync_all) for example, was dropped while the call still runs on the pool.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::io::Read;
    /// use wakeful::fs::File;
    ///
    /// let file = File::open("Cargo.toml").await?;
    /// let mut file: std::fs::File = file.into_std().await;
    /// let first = wakeful::task::spawn_blocking(move || {
    ///     let mut first = [0];
    ///     file.read_exact(&mut first).map(|()| first[0])
    /// });
    /// assert_eq!(first.await??, b'[');
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn into_std(mut self) -> StdFile {
        self.in_flight.get_mut().settle().await;
        self.blocking_file();
        Arc::try_unwrap(self.std).expect(
            "`fs::File::into_std` called while an earlier call whose future was dropped (`metadata` or \
             `sync_all`, for example) still uses the file",
        )
    }

    /// Converts the file into a [`std::fs::File`] if no operation is under way.
    ///
    /// # Errors
    /// Returns the file itself if an operation is under way.
    #[expect(clippy::result_large_err, reason = "the signature is Tokio's")]
    pub fn try_into_std(mut self) -> Result<StdFile, File> {
        self.blocking_file();
        match Arc::try_unwrap(self.std) {
            Ok(std) => Ok(std),
            Err(shared) => {
                self.std = shared;
                Err(self)
            }
        }
    }

    /// Sets the permissions of the file.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::set_permissions`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn set_permissions(&self, perm: Permissions) -> io::Result<()> {
        let std = self.std.clone();
        on_pool("fs::File::set_permissions", move || std.set_permissions(perm)).await
    }

    /// Sets the access and modification times of the file, after operations under way have ended.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::set_times`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        self.in_flight.lock().await.settle().await;
        let (std, times) = (self.std.clone(), times.into_std());
        on_pool("fs::File::set_times", move || std.set_times(times)).await
    }

    /// Sets the modification time of the file.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::File::set_modified`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Sets how many bytes one read or write transfers at most. The default is two mebibytes.
    ///
    /// # Panics
    /// Panics if `max_buf_size` is zero.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        self.transfer_max = max_buf_size;
    }

    /// Returns how many bytes one read or write transfers at most.
    pub fn max_buf_size(&self) -> usize {
        self.transfer_max
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tokio's name, which programs and tests expect in the output.
        f.debug_struct("tokio::fs::File").field("std", &self.std).finish()
    }
}

impl From<StdFile> for File {
    fn from(std: StdFile) -> File {
        File::from_std(std)
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> File {
        File::from_std(StdFile::from(fd))
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.blocking_file().as_raw_fd()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.blocking_file().as_fd()
    }
}

impl FromRawFd for File {
    unsafe fn from_raw_fd(fd: RawFd) -> File {
        // SAFETY: the caller guarantees that it owns the descriptor and passes the ownership on.
        File::from_std(unsafe { StdFile::from_raw_fd(fd) })
    }
}
