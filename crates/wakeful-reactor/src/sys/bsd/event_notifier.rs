//! A descriptor that becomes readable when notified.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// A pair of connected sockets: a notification is a byte written to one and read from the other.
#[derive(Debug)]
pub(crate) struct EventNotifier {
    sender: UnixStream,
    receiver: UnixStream,
}

impl EventNotifier {
    pub(crate) fn new() -> io::Result<EventNotifier> {
        let (sender, receiver) = UnixStream::pair()?;
        sender.set_nonblocking(true)?;
        receiver.set_nonblocking(true)?;
        Ok(EventNotifier { sender, receiver })
    }

    /// Returns the descriptor to watch.
    pub(crate) fn fd(&self) -> RawFd {
        self.receiver.as_raw_fd()
    }

    /// Causes an event in each kqueue that watches the descriptor. Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if other code in the process has closed or replaced the descriptor.
    pub(crate) fn notify(&self) -> io::Result<()> {
        // SAFETY: the buffer is static and one byte long.
        if unsafe { libc::write(self.sender.as_raw_fd(), b"!".as_ptr().cast(), 1) } >= 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            // The buffer is full of notifications that have not been acknowledged yet, so the
            // descriptor is readable.
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            error => Err(error),
        }
    }

    /// Consumes the notifications, on behalf of one of the drivers that watch. Other drivers may
    /// then find none, so the caller must serve all of them after this call.
    pub(crate) fn acknowledge(&self) {
        let mut bytes = [0u8; 256];
        // SAFETY: the buffer lives until the call returns and has the given length.
        while unsafe { libc::read(self.fd(), bytes.as_mut_ptr().cast(), bytes.len()) }
            == bytes.len() as isize
        {}
    }
}
