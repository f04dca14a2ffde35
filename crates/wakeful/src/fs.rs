//! Files and directories.
//!
//! | to | use |
//! |---|---|
//! | read or write a whole file | [`read`], [`read_to_string`], [`write`](write()) |
//! | read or write a file piece by piece | [`File`], [`OpenOptions`] |
//! | list a directory | [`read_dir`] |
//! | do anything else | the function with the same name as in [`std::fs`] |
//!
//! Operating systems offer no readiness notification for files as they do for sockets, so
//! operations that may block run on the blocking pool (see
//! [`spawn_blocking`](crate::task::spawn_blocking)). Sending an operation to the pool costs more
//! than most operations themselves. Operations that the kernel can complete without blocking
//! therefore run inline, on the calling thread:
//!
//! - reading from an open file, if the bytes are in the page cache;
//! - writing to an open file, if the file system can tell that the write need not wait (XFS and
//!   Btrfs can, ext4 and tmpfs cannot);
//! - opening a file for reading, [`read`] and [`read_to_string`] of files up to 256 KiB,
//!   [`metadata`], [`symlink_metadata`] and [`try_exists`], if the path is in the directory cache;
//! - moving a file's cursor.
//!
//! All other operations run on the pool: those that change directories, [`read_dir`], those that
//! wait for the disk, and any of the above on file systems that are not local. Inline operations
//! consume the [cooperative budget](crate::task::coop), so a task that reads a lot still yields to
//! other tasks.
//!
//! An operation that was sent to the pool runs to its end even if its future is dropped. If the
//! runtime has shut down, operations fail with an error of kind
//! [`Other`](std::io::ErrorKind::Other).
//!
//! This module is for files. For named pipes use `net::unix::pipe`, which does not block a thread
//! while it waits.
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::fs;
//!
//! # let dir = std::env::temp_dir().join(format!("wakeful-doc-fs-{}", std::process::id()));
//! fs::create_dir_all(&dir).await?;
//! fs::write(dir.join("greeting"), "hello").await?;
//! assert_eq!(fs::read_to_string(dir.join("greeting")).await?, "hello");
//! fs::remove_dir_all(&dir).await?;
//! # std::io::Result::Ok(()) }).unwrap();
//! ```

// The public functions are in `read_write.rs`, `paths.rs` and `read_dir.rs`, the type `File` in
// `file.rs`. `dispatch.rs` runs an operation inline or on the pool. What can run inline is decided
// by `cached.rs` for paths and by `nowait.rs` for open files.

#[cfg(target_os = "linux")]
mod cached;
#[cfg(not(target_os = "linux"))]
#[path = "fs/cached_none.rs"]
mod cached;
mod dir_builder;
mod dispatch;
mod file;
mod file_times;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod nowait;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[path = "fs/nowait_none.rs"]
mod nowait;
mod open_options;
mod owned_bytes;
mod paths;
mod read_dir;
mod read_write;

pub use dir_builder::DirBuilder;
pub use file::File;
pub use file_times::FileTimes;
pub use open_options::OpenOptions;
pub use paths::{
    canonicalize, copy, create_dir, create_dir_all, hard_link, metadata, read_link, remove_dir,
    remove_dir_all, remove_file, rename, set_permissions, symlink, symlink_metadata, try_exists,
};
pub use read_dir::{DirEntry, ReadDir, read_dir};
pub use read_write::{read, read_to_string, write};
