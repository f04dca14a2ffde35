//! What is done to paths.
//!
//! What is known of a file is answered on the spot if the kernel has it in memory. All else goes to the
//! blocking pool: it changes something on the disk, or the kernel cannot be asked to do it only if it
//! need not wait.

use super::cached;
use super::dispatch::{on_pool, try_inline};
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// The absolute path of a file, with all links followed and all `.` and `..` worked out.
///
/// # Errors
/// As [`std::fs::canonicalize`].
///
/// # Panics
/// Outside of a runtime.
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

/// Copies a file, its permissions included, over the one at `to` if there is one. Returns its length.
///
/// # Errors
/// As [`std::fs::copy`].
///
/// # Panics
/// Outside of a runtime.
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
    on_pool("fs::copy", move || std::fs::copy(from, to)).await
}

/// Makes a directory in one that is there.
///
/// # Errors
/// As [`std::fs::create_dir`].
///
/// # Panics
/// Outside of a runtime.
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

/// Makes a directory, and those that it lies in. What is there already is no error.
///
/// # Errors
/// As [`std::fs::create_dir_all`].
///
/// # Panics
/// Outside of a runtime.
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

/// Gives a file another name, `link`.
///
/// # Errors
/// As [`std::fs::hard_link`].
///
/// # Panics
/// Outside of a runtime.
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

/// What is known of a file; of a symbolic link, of what it leads to.
///
/// # Errors
/// As [`std::fs::metadata`].
///
/// # Panics
/// Outside of a runtime.
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

/// Where a symbolic link leads to.
///
/// # Errors
/// As [`std::fs::read_link`].
///
/// # Panics
/// Outside of a runtime.
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

/// Removes a directory that is empty.
///
/// # Errors
/// As [`std::fs::remove_dir`].
///
/// # Panics
/// Outside of a runtime.
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

/// Removes a directory with all that is in it. Symbolic links are removed, and not followed.
///
/// # Errors
/// As [`std::fs::remove_dir_all`].
///
/// # Panics
/// Outside of a runtime.
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

/// Removes a file. Its bytes stay until the last who has it open is done.
///
/// # Errors
/// As [`std::fs::remove_file`].
///
/// # Panics
/// Outside of a runtime.
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

/// Gives a file or directory the name `to`, in place of what had it before.
///
/// # Errors
/// As [`std::fs::rename`].
///
/// # Panics
/// Outside of a runtime.
///
/// To replace a file so that nobody ever sees half of it:
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

/// Sets who may do what with a file.
///
/// # Errors
/// As [`std::fs::set_permissions`].
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let path = std::env::temp_dir().join(format!("wakeful-doc-permissions-{}", std::process::id()));
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

/// Makes a symbolic link to `original`, which need not be there.
///
/// # Errors
/// As [`std::os::unix::fs::symlink`].
///
/// # Panics
/// Outside of a runtime.
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

/// What is known of a file; of a symbolic link, of the link itself.
///
/// # Errors
/// As [`std::fs::symlink_metadata`].
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs;
///
/// # let link = std::env::temp_dir().join(format!("wakeful-doc-link-metadata-{}", std::process::id()));
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

/// Whether there is something at this path.
///
/// # Errors
/// If that cannot be told, for want of permissions say.
///
/// # Panics
/// Outside of a runtime.
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
