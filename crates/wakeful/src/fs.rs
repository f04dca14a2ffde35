//! Files and directories.
//!
//! | to | there is |
//! |---|---|
//! | read or write a file as a whole | [`read`], [`read_to_string`], [`write`](write()) |
//! | read or write it bit by bit | [`File`], [`OpenOptions`] |
//! | list a directory | [`read_dir`] |
//! | anything else | a function named as in [`std::fs`] |
//!
//! Operating systems have no way to wait for files as they have for sockets, so what may block is done
//! by threads of the blocking pool (see [`spawn_blocking`](crate::task::spawn_blocking)). A trip there
//! costs more than most operations. What the kernel can do without blocking is therefore done on the
//! spot:
//!
//! - reading bytes that are in the page cache, of files that are open;
//! - writing bytes to it, where the file system can tell that it need not wait (XFS and Btrfs can, ext4
//!   cannot);
//! - opening a file to be read that the directory cache knows, [`read`] and [`read_to_string`] of one
//!   that is not too large, [`metadata`], [`symlink_metadata`] and [`try_exists`];
//! - moving a file's cursor.
//!
//! All else goes to the pool: what changes directories, [`read_dir`], whatever waits for the disk, and
//! any of the above on file systems that are not local. What is done on the spot takes from the
//! [cooperative budget](crate::task::coop), so that a task that reads a lot gives way to others.
//!
//! Whatever has begun on the pool goes on there when its future is dropped. These are things for files;
//! for pipes there is `net::unix::pipe`, which does not keep a thread waiting.
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
