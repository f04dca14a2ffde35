//! How a file is to be opened.

use super::dispatch::{on_pool, try_inline};
use super::{File, cached};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const OPEN: &str = "fs::OpenOptions::open";

/// Says how a file is to be opened, as [`std::fs::OpenOptions`] does.
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
    /// What was set, if it is known.
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
    /// Nothing is asked for yet.
    pub fn new() -> OpenOptions {
        OpenOptions {
            std: std::fs::OpenOptions::new(),
            requested: Some(RequestedOptions::default()),
        }
    }

    /// To read from it.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.std.read(read);
        self.record(|requested| requested.read = read)
    }

    /// To write to it.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.std.write(write);
        self.record(|requested| requested.write = write)
    }

    /// To write at its end, wherever that is by then.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.std.append(append);
        self.record(|requested| requested.append = append)
    }

    /// To make it empty first. Needs `write`.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.std.truncate(truncate);
        self.record(|requested| requested.truncate = truncate)
    }

    /// To make it if there is none. Needs `write` or `append`.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.std.create(create);
        self.record(|requested| requested.create = create)
    }

    /// To make it, and fail if there is one. Needs `write` or `append`.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.std.create_new(create_new);
        self.record(|requested| requested.create_new = create_new)
    }

    /// The permissions of a file that is made, less those that the process' mask takes away; `0o666`
    /// unless said otherwise.
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.std.mode(mode);
        self
    }

    /// Further flags for the system call, such as `libc::O_NOFOLLOW`. Those that say how the file is
    /// accessed are left out.
    pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.std.custom_flags(flags);
        self.record(|requested| requested.custom_flags = flags)
    }

    /// Opens the file.
    ///
    /// A file that is only to be read, and that the kernel finds without waiting, is opened on the
    /// spot; all others are opened on the blocking pool.
    ///
    /// # Errors
    /// As [`std::fs::OpenOptions::open`].
    ///
    /// # Panics
    /// Outside of a runtime.
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

    /// Whether nothing but to read the file was asked for.
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
