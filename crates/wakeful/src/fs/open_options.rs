//! Options for opening a file.

use super::dispatch::{on_pool, try_inline};
use super::{File, cached};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const OPEN: &str = "fs::OpenOptions::open";

/// Options for opening a file, like [`std::fs::OpenOptions`].
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::fs::OpenOptions;
/// use wakeful::io::AsyncWriteExt;
///
/// # let path = std::env::temp_dir().join(format!("wakeful-doc-log-{}", std::process::id()));
/// let mut log = OpenOptions::new().append(true).create(true).open(&path).await?;
/// log.write_all(b"one more line\n").await?;
/// log.flush().await?;
/// # std::fs::remove_file(path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    std: std::fs::OpenOptions,
    /// The options that were set. `None` if unknown, after a conversion from the type of `std`.
    requested: Option<RequestedOptions>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RequestedOptions {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
    custom_flags: i32,
}

impl OpenOptions {
    /// Creates options with everything off.
    ///
    /// At least one way of access must be set before opening a file.
    pub fn new() -> OpenOptions {
        OpenOptions {
            std: std::fs::OpenOptions::new(),
            requested: Some(RequestedOptions::default()),
        }
    }

    /// Sets whether the file can be read.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.std.read(read);
        self.record(|requested| requested.read = read)
    }

    /// Sets whether the file can be written to.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.std.write(write);
        self.record(|requested| requested.write = write)
    }

    /// Sets whether each write goes to the end that the file has at that moment.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.std.append(append);
        self.record(|requested| requested.append = append)
    }

    /// Sets whether the file is truncated when it is opened. Needs `write`.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.std.truncate(truncate);
        self.record(|requested| requested.truncate = truncate)
    }

    /// Sets whether the file is created if it does not exist. Needs `write` or `append`.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.std.create(create);
        self.record(|requested| requested.create = create)
    }

    /// Sets whether the file must be created, so that opening fails if it exists.
    ///
    /// Needs `write` or `append`.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.std.create_new(create_new);
        self.record(|requested| requested.create_new = create_new)
    }

    /// Sets the mode of a file that is created.
    ///
    /// The process's umask is applied to it. The default is `0o666`.
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.std.mode(mode);
        self
    }

    /// Sets further flags for the `open` system call, such as `libc::O_NOFOLLOW`.
    ///
    /// The bits of the access mode (`O_ACCMODE`) are ignored.
    pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.std.custom_flags(flags);
        self.record(|requested| requested.custom_flags = flags)
    }

    /// Opens the file.
    ///
    /// If only `read` is set and the path is in the directory cache, the file is opened inline. All
    /// other files are opened on the blocking pool.
    ///
    /// # Errors
    /// Returns the errors of [`std::fs::OpenOptions::open`].
    ///
    /// # Panics
    /// Panics if the future is polled outside a runtime.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        self.open_path(path.as_ref()).await
    }

    async fn open_path(&self, path: &Path) -> io::Result<File> {
        if self.is_read_only() {
            if let Some(opened) = try_inline(OPEN, |_| cached::open(path)).await {
                return match opened? {
                    (file, Some(_len)) => Ok(File::opened_inline(file)),
                    (fifo, None) => {
                        let wait = move || cached::wait_for_writer(&fifo).map(|()| fifo);
                        Ok(File::from_std(on_pool(OPEN, wait).await?))
                    }
                };
            }
        }
        let (options, path) = (self.std.clone(), path.to_owned());
        let open = move || {
            let file = options.open(path)?;
            let is_local = cached::learn_device(&file);
            Ok((file, is_local))
        };
        let (file, is_local) = on_pool(OPEN, open).await?;
        Ok(File::opened(file, is_local))
    }

    /// Returns whether `read` is the only option that was set.
    fn is_read_only(&self) -> bool {
        self.requested == Some(RequestedOptions { read: true, ..RequestedOptions::default() })
    }

    fn record(&mut self, set: impl FnOnce(&mut RequestedOptions)) -> &mut OpenOptions {
        if let Some(requested) = &mut self.requested {
            set(requested);
        }
        self
    }
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions::new()
    }
}

impl From<std::fs::OpenOptions> for OpenOptions {
    fn from(std: std::fs::OpenOptions) -> OpenOptions {
        OpenOptions { std, requested: None }
    }
}
