//! A file that is open.

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
/// It is read and written by the methods of [`AsyncRead`](crate::io::AsyncRead),
/// [`AsyncWrite`](crate::io::AsyncWrite) and [`AsyncSeek`](crate::io::AsyncSeek). Bytes that the kernel
/// has in memory are read on the spot; for others, and for most writes, a thread of the blocking pool
/// is asked.
///
/// **A write has not happened when it returns.** It goes on in the background, even if the file is
/// dropped or the runtime shuts down; [`flush`](crate::io::AsyncWriteExt::flush) waits for it. Its
/// error is told by the next write or flush.
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
    /// Set once whoever gets at the descriptor finds it as `std` would have opened it. Until then it may be
    /// non-blocking, which a file does not mind.
    is_blocking: OnceLock<()>,
    /// Known to be a file on a local file system, which tells what it knows without waiting.
    is_local: bool,
    transfer_max: usize,
    in_flight: Mutex<InFlight>,
}

impl File {
    /// Opens a file to be read.
    ///
    /// # Errors
    /// As [`std::fs::File::open`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        File::options().read(true).open(path).await
    }

    /// Opens a file to be written to; makes it if there is none, and empties it if there is one.
    ///
    /// # Errors
    /// As [`std::fs::File::create`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        File::options().write(true).create(true).truncate(true).open(path).await
    }

    /// Makes a file to be read and written to, which must not be there.
    ///
    /// # Errors
    /// As [`std::fs::File::create_new`].
    ///
    /// # Panics
    /// Outside of a runtime.
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

    /// To say more about how a file is to be opened.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Takes an open file over.
    pub fn from_std(std: StdFile) -> File {
        File::new(std, OnceLock::from(()), false, None)
    }

    /// One of which is known whether it is a file on a local file system.
    pub(super) fn opened(std: StdFile, is_local: bool) -> File {
        File::new(std, OnceLock::from(()), is_local, None)
    }

    /// One that is, opened to be read and nothing else by [`cached::open`].
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

    /// The file for those who do with it what they like.
    fn blocking_file(&self) -> &Arc<StdFile> {
        self.is_blocking.get_or_init(|| cached::set_blocking(&self.std));
        &self.std
    }

    /// Waits until all that was written is on the disk, and all that is known of the file.
    ///
    /// # Errors
    /// As [`std::fs::File::sync_all`]. That of an earlier write is left to the next write or flush.
    ///
    /// # Panics
    /// Outside of a runtime.
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

    /// As [`sync_all`](Self::sync_all), but of what is known of the file only what is needed to read
    /// it.
    ///
    /// # Errors
    /// As [`std::fs::File::sync_data`]. That of an earlier write is left to the next write or flush.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn sync_data(&self) -> io::Result<()> {
        let mut in_flight = self.in_flight.lock().await;
        in_flight.settle().await;
        let std = self.std.clone();
        on_pool("fs::File::sync_data", move || std.sync_data()).await
    }

    /// Makes the file this long: cuts its end off, or adds zeros. The cursor stays where it is.
    ///
    /// # Errors
    /// As [`std::fs::File::set_len`].
    ///
    /// # Panics
    /// Outside of a runtime.
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
            // What was read ahead may be gone afterwards.
            let result = rewind_read_ahead(&std, staging.len());
            if result.is_ok() {
                staging.clear();
            }
            (Outcome::Resized(result.and_then(|()| std.set_len(size))), staging)
        }));
        poll_fn(|cx| {
            let outcome = ready!(in_flight.poll_settle(cx))?;
            match outcome.expect("nobody else can settle what was begun under the lock") {
                Outcome::Resized(result) => Poll::Ready(result),
                other => unreachable!("a file that was settled has begun {other:?} by itself"),
            }
        })
        .await
    }

    /// What is known of the file. Does not wait for writes.
    ///
    /// # Errors
    /// As [`std::fs::File::metadata`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let call = "fs::File::metadata";
        let answer = try_inline(call, |_| self.is_local.then(|| self.std.metadata())).await;
        if let Some(answer) = answer {
            return answer;
        }
        let std = self.std.clone();
        on_pool(call, move || std.metadata()).await
    }

    /// Another descriptor of the same open file: both have one cursor.
    ///
    /// # Errors
    /// As [`std::fs::File::try_clone`].
    ///
    /// # Panics
    /// Outside of a runtime.
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

    /// The file of the standard library, once what is under way has ended.
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
            "`fs::File::into_std` called while a call that was given up (a `metadata` or `sync_all` \
             whose future was dropped) still uses the file",
        )
    }

    /// The file of the standard library, if nothing is under way.
    ///
    /// # Errors
    /// Gives the file back if something is.
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

    /// Sets who may do what with the file.
    ///
    /// # Errors
    /// As [`std::fs::File::set_permissions`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn set_permissions(&self, perm: Permissions) -> io::Result<()> {
        let std = self.std.clone();
        on_pool("fs::File::set_permissions", move || std.set_permissions(perm)).await
    }

    /// Sets when the file was last read and written, once what is under way has ended.
    ///
    /// # Errors
    /// As [`std::fs::File::set_times`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        self.in_flight.lock().await.settle().await;
        let (std, times) = (self.std.clone(), times.into_std());
        on_pool("fs::File::set_times", move || std.set_times(times)).await
    }

    /// Sets when the file was last written to.
    ///
    /// # Errors
    /// As [`std::fs::File::set_modified`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Sets how many bytes one read or write takes at most; two mebibytes unless said otherwise.
    ///
    /// # Panics
    /// If it is zero.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        self.transfer_max = max_buf_size;
    }

    /// How many bytes one read or write takes at most.
    pub fn max_buf_size(&self) -> usize {
        self.transfer_max
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Under the name that people's expectations of the output have.
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
        // SAFETY: the caller owns the descriptor and gives it away.
        File::from_std(unsafe { StdFile::from_raw_fd(fd) })
    }
}
