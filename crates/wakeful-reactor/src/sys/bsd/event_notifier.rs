//! A descriptor that becomes readable at a call.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// Two sockets: what is written to one can be read from the other.
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

    /// The descriptor to watch.
    pub(crate) fn fd(&self) -> RawFd {
        self.receiver.as_raw_fd()
    }

    /// Lets each kqueue that watches have an event. A signal handler may call this.
    ///
    /// # Errors
    /// If other code in the process has closed or replaced the descriptor.
    pub(crate) fn notify(&self) -> io::Result<()> {
        // SAFETY: the buffer lives through the call.
        if unsafe { libc::write(self.sender.as_raw_fd(), b"!".as_ptr().cast(), 1) } >= 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            // What fills the buffer has not been acknowledged yet.
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            error => Err(error),
        }
    }

    /// One of those who watch has had the event. Others may find nothing any more, so what is to be done about it has to
    /// be done for all of them, after this call.
    pub(crate) fn acknowledge(&self) {
        let mut bytes = [0u8; 256];
        // SAFETY: the buffer lives through the call.
        while unsafe { libc::read(self.fd(), bytes.as_mut_ptr().cast(), bytes.len()) }
            == bytes.len() as isize
        {}
    }
}
