//! Functions on paths.
//!
//! `metadata`, `symlink_metadata` and `try_exists` run inline if the kernel has the answer in
//! memory. All other functions run on the blocking pool: they change something on the disk, or the
//! kernel has no variant of them that fails instead of blocking.

use super::cached;
use super::dispatch::{on_pool, try_inline};
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the absolute path of a file, with all symbolic links, `.` and `..` resolved.
///
/// # Errors
/// Returns the errors of [`std::fs::canonicalize`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let path = wakeful::fs::canonicalize("src/../Cargo.toml").await?;
/// assert!(path.is_absolute() && path.ends_with("Cargo.toml"));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    on_pool("fs::canonicalize", move || std::fs::canonicalize(path)).await
}

/// Copies the contents and permissions of a file. Returns the number of bytes copied.
///
/// A file at `to` is overwritten.
///
/// # Errors
/// Returns the errors of [`std::fs::copy`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// # let to = std::env::temp_dir().join(format!("wakeful-doc-copy-{}", std::process::id()));
/// let copied = wakeful::fs::copy("Cargo.toml", &to).await?;
/// assert_eq!(copied, wakeful::fs::metadata(&to).await?.len());
/// # std::fs::remove_file(to)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    on_pool("fs::copy", move || copy_again_if_interrupted(&to, || std::fs::copy(&from, &to))).await
}

/// Calls `copy`, which overwrites `to`, until no signal interrupts it.
///
/// `std::fs::copy` returns `EINTR` instead of continuing. Starting over is safe only if
/// `to` is a regular file, which is truncated first: a pipe would receive the first bytes twice.
fn copy_again_if_interrupted(
    to: &Path,
    mut copy: impl FnMut() -> io::Result<u64>,
) -> io::Result<u64> {
    loop {
        match copy() {
            Err(error)
                if error.kind() == io::ErrorKind::Interrupted
                    && std::fs::metadata(to).is_ok_and(|to| to.is_file()) => {}
            result => return result,
        }
    }
}

/// Creates a directory. Its parent must exist.
///
/// # Errors
/// Returns the errors of [`std::fs::create_dir`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::io::ErrorKind;
///
/// # let dir = std::env::temp_dir().join(format!("wakeful-doc-create-{}", std::process::id()));
/// wakeful::fs::create_dir(&dir).await?;
/// let again = wakeful::fs::create_dir(&dir).await.unwrap_err();
/// assert_eq!(again.kind(), ErrorKind::AlreadyExists);
/// # std::fs::remove_dir(dir)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool("fs::create_dir", move || std::fs::create_dir(path)).await
}

/// Creates a directory and all missing parents. It is no error if the directory exists.
///
/// # Errors
/// Returns the errors of [`std::fs::create_dir_all`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// # let dir = std::env::temp_dir().join(format!("wakeful-doc-create-all-{}", std::process::id()));
/// wakeful::fs::create_dir_all(dir.join("deep/down")).await?;
/// wakeful::fs::create_dir_all(dir.join("deep/down")).await?;
/// # std::fs::remove_dir_all(dir)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool("fs::create_dir_all", move || std::fs::create_dir_all(path)).await
}

/// Creates a hard link, `link`, to the file `original`.
///
/// # Errors
/// Returns the errors of [`std::fs::hard_link`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let dir = std::env::temp_dir().join(format!("wakeful-doc-link-{}", std::process::id()));
/// # fs::create_dir(&dir).await?;
/// fs::write(dir.join("one"), "the same bytes").await?;
/// fs::hard_link(dir.join("one"), dir.join("other")).await?;
/// fs::remove_file(dir.join("one")).await?;
/// assert_eq!(fs::read_to_string(dir.join("other")).await?, "the same bytes");
/// # std::fs::remove_dir_all(dir)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    on_pool("fs::hard_link", move || std::fs::hard_link(original, link)).await
}

/// Returns the metadata of a file. Follows symbolic links.
///
/// # Errors
/// Returns the errors of [`std::fs::metadata`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let about = wakeful::fs::metadata("Cargo.toml").await?;
/// assert!(about.is_file() && about.len() > 0);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    metadata_of("fs::metadata", path.as_ref(), 0, |path| std::fs::metadata(path)).await
}

async fn metadata_of(
    call: &'static str,
    path: &Path,
    flags: i32,
    ask: fn(&Path) -> io::Result<Metadata>,
) -> io::Result<Metadata> {
    if let Some(answer) = try_inline(call, |_| cached::metadata(path, flags)).await {
        return answer;
    }
    let path = path.to_owned();
    on_pool(call, move || {
        let metadata = ask(&path)?;
        cached::learn_device_at(&path, &metadata);
        Ok(metadata)
    })
    .await
}

/// Returns the target of a symbolic link.
///
/// # Errors
/// Returns the errors of [`std::fs::read_link`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let link = std::env::temp_dir().join(format!("wakeful-doc-read-link-{}", std::process::id()));
/// fs::symlink("anywhere", &link).await?;
/// assert_eq!(fs::read_link(&link).await?.to_str(), Some("anywhere"));
/// # std::fs::remove_file(link)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    on_pool("fs::read_link", move || std::fs::read_link(path)).await
}

/// Removes an empty directory.
///
/// # Errors
/// Returns the errors of [`std::fs::remove_dir`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let dir = std::env::temp_dir().join(format!("wakeful-doc-remove-dir-{}", std::process::id()));
/// fs::create_dir_all(dir.join("inside")).await?;
/// assert!(fs::remove_dir(&dir).await.is_err()); // not empty
/// fs::remove_dir(dir.join("inside")).await?;
/// fs::remove_dir(&dir).await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool("fs::remove_dir", move || std::fs::remove_dir(path)).await
}

/// Removes a directory and its contents. Symbolic links are removed but not followed.
///
/// # Errors
/// Returns the errors of [`std::fs::remove_dir_all`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let dir = std::env::temp_dir().join(format!("wakeful-doc-remove-all-{}", std::process::id()));
/// fs::create_dir_all(dir.join("deep/down")).await?;
/// fs::remove_dir_all(&dir).await?;
/// assert!(!fs::try_exists(&dir).await?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool("fs::remove_dir_all", move || std::fs::remove_dir_all(path)).await
}

/// Removes a file. Its contents remain accessible through descriptors that are already open.
///
/// # Errors
/// Returns the errors of [`std::fs::remove_file`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let path = std::env::temp_dir().join(format!("wakeful-doc-remove-{}", std::process::id()));
/// fs::write(&path, "short-lived").await?;
/// fs::remove_file(&path).await?;
/// assert!(!fs::try_exists(&path).await?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool("fs::remove_file", move || std::fs::remove_file(path)).await
}

/// Renames a file or directory. An existing file at `to` is replaced.
///
/// # Errors
/// Returns the errors of [`std::fs::rename`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// To replace a file so that no reader ever sees part of it:
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let dir = std::env::temp_dir().join(format!("wakeful-doc-rename-{}", std::process::id()));
/// # fs::create_dir(&dir).await?;
/// fs::write(dir.join("config"), "old").await?;
/// fs::write(dir.join("config.new"), "new").await?;
/// fs::rename(dir.join("config.new"), dir.join("config")).await?;
/// assert_eq!(fs::read_to_string(dir.join("config")).await?, "new");
/// # std::fs::remove_dir_all(dir)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    on_pool("fs::rename", move || std::fs::rename(from, to)).await
}

/// Sets the permissions of a file.
///
/// # Errors
/// Returns the errors of [`std::fs::set_permissions`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let name = format!("wakeful-doc-permissions-{}", std::process::id());
/// # let path = std::env::temp_dir().join(name);
/// fs::write(&path, "look, do not touch").await?;
/// let mut permissions = fs::metadata(&path).await?.permissions();
/// permissions.set_readonly(true);
/// fs::set_permissions(&path, permissions).await?;
/// assert!(fs::metadata(&path).await?.permissions().readonly());
/// # std::fs::remove_file(path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn set_permissions(path: impl AsRef<Path>, perm: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool("fs::set_permissions", move || std::fs::set_permissions(path, perm)).await
}

/// Creates a symbolic link, `link`, to `original`, which need not exist.
///
/// # Errors
/// Returns the errors of [`std::os::unix::fs::symlink`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let dir = std::env::temp_dir().join(format!("wakeful-doc-symlink-{}", std::process::id()));
/// # fs::create_dir(&dir).await?;
/// fs::symlink("target", dir.join("link")).await?;
/// assert!(!fs::try_exists(dir.join("link")).await?); // leads nowhere yet
/// fs::write(dir.join("target"), "found").await?;
/// assert_eq!(fs::read_to_string(dir.join("link")).await?, "found");
/// # std::fs::remove_dir_all(dir)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    on_pool("fs::symlink", move || std::os::unix::fs::symlink(original, link)).await
}

/// Returns the metadata of a file. Does not follow a symbolic link.
///
/// # Errors
/// Returns the errors of [`std::fs::symlink_metadata`].
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let name = format!("wakeful-doc-link-metadata-{}", std::process::id());
/// # let link = std::env::temp_dir().join(name);
/// fs::symlink("nowhere", &link).await?;
/// assert!(fs::metadata(&link).await.is_err());
/// assert!(fs::symlink_metadata(&link).await?.is_symlink());
/// # std::fs::remove_file(link)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let call = "fs::symlink_metadata";
    metadata_of(call, path.as_ref(), libc::O_NOFOLLOW, |path| std::fs::symlink_metadata(path)).await
}

/// Returns whether the path exists. Follows symbolic links.
///
/// # Errors
/// Returns an error if existence cannot be determined, for lack of permissions for example.
///
/// # Panics
/// Panics if the future is polled outside a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// assert!(wakeful::fs::try_exists("Cargo.toml").await?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let (call, path) = ("fs::try_exists", path.as_ref());
    if let Some(answer) = try_inline(call, |_| cached::exists(path)).await {
        return answer;
    }
    let path = path.to_owned();
    on_pool(call, move || path.try_exists()).await
}

#[cfg(test)]
mod tests;
