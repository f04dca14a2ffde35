//! A descriptor that becomes readable when notified.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// An eventfd. Each notification is an edge for every epoll instance that watches it. So no driver
/// needs to read it, and no driver can take a notification away from another.
#[derive(Debug)]
pub(crate) struct EventNotifier(OwnedFd);

impl EventNotifier {
    pub(crate) fn new() -> io::Result<EventNotifier> {
        // SAFETY: the call takes integers and returns a descriptor or an error.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just created the descriptor, so nothing else owns it.
        Ok(EventNotifier(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Returns the descriptor to watch.
    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Causes an event in each epoll instance that watches the descriptor. Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if other code in the process has closed or replaced the descriptor, or the
    /// kernel refuses to write to it.
    pub(crate) fn notify(&self) -> io::Result<()> {
        match self.add_one() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // The counter is at its maximum: start again at zero.
                self.reset();
                self.add_one()
            }
            result => result,
        }
    }

    /// Does nothing: an eventfd needs no acknowledgement.
    pub(crate) fn acknowledge(&self) {}

    fn add_one(&self) -> io::Result<()> {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the buffer lives until the call returns and has the given length.
        let written = unsafe { libc::write(self.fd(), one.as_ptr().cast(), one.len()) };
        if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn reset(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the buffer lives until the call returns and has the given length.
        unsafe { libc::read(self.fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}
