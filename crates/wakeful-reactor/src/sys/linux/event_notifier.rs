//! A descriptor that becomes readable at a call.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// An eventfd. Each notify is an edge for every epoll instance that has it, so that nobody needs to read it, and none of
/// those who watch it can take the news from another.
#[derive(Debug)]
pub(crate) struct EventNotifier(OwnedFd);

impl EventNotifier {
    pub(crate) fn new() -> io::Result<EventNotifier> {
        // SAFETY: takes and returns numbers only.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: new, and nobody else's.
        Ok(EventNotifier(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The descriptor to watch.
    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Lets each epoll instance that watches have an event. A signal handler may call this.
    ///
    /// # Errors
    /// If other code in the process has closed or replaced the descriptor, or the kernel refuses to
    /// write to it.
    pub(crate) fn notify(&self) -> io::Result<()> {
        match self.add_one() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // The counter is at its limit: it begins anew.
                self.reset();
                self.add_one()
            }
            result => result,
        }
    }

    /// One of those who watch has had the event.
    pub(crate) fn acknowledge(&self) {}

    fn add_one(&self) -> io::Result<()> {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the buffer lives through the call.
        let written = unsafe { libc::write(self.fd(), one.as_ptr().cast(), one.len()) };
        if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn reset(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the buffer lives through the call.
        unsafe { libc::read(self.fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}
