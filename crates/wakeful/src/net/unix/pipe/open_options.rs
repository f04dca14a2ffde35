use super::pipe_fd::{End, check_is_pipe};
use super::{Receiver, Sender};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How a FIFO is opened.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
/// use wakeful::net::unix::pipe;
///
/// # let path = std::env::temp_dir().join(format!("wakeful-doc-fifo-{}", std::process::id()));
/// # assert!(wakeful::process::Command::new("mkfifo").arg(&path).status().await?.success());
/// // The receiver first: a sender cannot be opened without one.
/// let mut receiver = pipe::OpenOptions::new().open_receiver(&path)?;
/// let mut sender = pipe::OpenOptions::new().open_sender(&path)?;
/// sender.write_all(b"by name").await?;
/// drop(sender);
///
/// let mut text = String::new();
/// receiver.read_to_string(&mut text).await?;
/// assert_eq!(text, "by name");
/// # std::fs::remove_file(path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// Each end for what it is for, and only if it is a pipe.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Whether to open it for reading and writing, whichever end it is.
    ///
    /// A receiver then sees no end of the stream when the last sender goes, and a sender can be opened
    /// before there is a receiver. Linux does that, others need not.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
    /// use wakeful::net::unix::pipe;
    ///
    /// # let path = std::env::temp_dir().join(format!("wakeful-doc-fifo-both-{}", std::process::id()));
    /// # assert!(wakeful::process::Command::new("mkfifo").arg(&path).status().await?.success());
    /// let mut receiver = pipe::OpenOptions::new().read_write(true).open_receiver(&path)?;
    /// for message in ["one", "two"] {
    ///     let mut sender = pipe::OpenOptions::new().open_sender(&path)?;
    ///     sender.write_all(message.as_bytes()).await?; // and it is gone
    /// }
    /// let mut both = [0; 6];
    /// receiver.read_exact(&mut both).await?; // saw no end in between
    /// assert_eq!(&both, b"onetwo");
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn read_write(&mut self, value: bool) -> &mut OpenOptions {
        self.read_write = value;
        self
    }

    /// Whether not to check that it is a pipe.
    pub fn unchecked(&mut self, value: bool) -> &mut OpenOptions {
        self.unchecked = value;
        self
    }

    /// Opens the end to read from.
    ///
    /// # Errors
    /// If it cannot be opened, or is no pipe.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        Receiver::watch(self.open(path.as_ref(), End::Reading)?, "OpenOptions::open_receiver")
    }

    /// Opens the end to write to.
    ///
    /// # Errors
    /// If it cannot be opened, or is no pipe; with `ENXIO` if nobody has it open for reading.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        Sender::watch(self.open(path.as_ref(), End::Writing)?, "OpenOptions::open_sender")
    }

    fn open(&self, path: &Path, end: End) -> io::Result<File> {
        let file = fs::OpenOptions::new()
            .read(self.read_write || end == End::Reading)
            .write(self.read_write || end == End::Writing)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        if !self.unchecked {
            check_is_pipe(&file)?;
        }
        Ok(file)
    }
}
