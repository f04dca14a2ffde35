use super::pipe_fd::{End, check_is_pipe};
use super::{Receiver, Sender};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Options for opening a FIFO.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
/// use wakeful::net::unix::pipe;
///
/// # let path = std::env::temp_dir().join(format!("wakeful-doc-fifo-{}", std::process::id()));
/// # assert!(wakeful::process::Command::new("mkfifo").arg(&path).status().await?.success());
/// // Open the receiver first: a sender cannot be opened without one.
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
    /// Creates the default options: each end is opened for its own direction, and must be a pipe.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Sets whether to open the FIFO for both reading and writing, whichever end is opened.
    ///
    /// With this option a receiver does not see the end of the stream when the last sender is
    /// dropped, and a sender can be opened before there is a receiver. Linux supports this; other
    /// systems may not.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
    /// use wakeful::net::unix::pipe;
    ///
    /// # let path = format!("wakeful-doc-fifo-both-{}", std::process::id());
    /// # let path = std::env::temp_dir().join(path);
    /// # assert!(wakeful::process::Command::new("mkfifo").arg(&path).status().await?.success());
    /// let mut receiver = pipe::OpenOptions::new().read_write(true).open_receiver(&path)?;
    /// for message in ["one", "two"] {
    ///     let mut sender = pipe::OpenOptions::new().open_sender(&path)?;
    ///     sender.write_all(message.as_bytes()).await?; // and the sender is dropped
    /// }
    /// let mut both = [0; 6];
    /// receiver.read_exact(&mut both).await?; // no end of the stream in between
    /// assert_eq!(&both, b"onetwo");
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn read_write(&mut self, value: bool) -> &mut OpenOptions {
        self.read_write = value;
        self
    }

    /// Sets whether to skip the check that the file is a pipe.
    pub fn unchecked(&mut self, value: bool) -> &mut OpenOptions {
        self.unchecked = value;
        self
    }

    /// Opens the reading end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, or is not a pipe.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        Receiver::watch(self.open(path.as_ref(), End::Reading)?, "OpenOptions::open_receiver")
    }

    /// Opens the writing end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, or is not a pipe; `ENXIO` if no process has
    /// it open for reading.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or its I/O driver is disabled.
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
