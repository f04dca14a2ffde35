//! A descriptor that becomes readable at a call.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// Two sockets: what is written to one can be read from the other.
#[derive(Debug)]
pub(crate) struct Bell {
    rung: UnixStream,
    heard: UnixStream,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        let (rung, heard) = UnixStream::pair()?;
        rung.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        Ok(Bell { rung, heard })
    }

    /// The descriptor to watch.
    pub(crate) fn fd(&self) -> RawFd {
        self.heard.as_raw_fd()
    }

    /// Lets everybody who watches have an event. A signal handler may call this.
    pub(crate) fn ring(&self) {
        // SAFETY: the buffer lives through the call. If there is no room, what fills it has not been heard yet.
        unsafe { libc::write(self.rung.as_raw_fd(), b"!".as_ptr().cast(), 1) };
    }

    /// One of those who watch has had the event. Others may find nothing any more, so what is to be done about it has to
    /// be done for all of them, after this call.
    pub(crate) fn heard(&self) {
        let mut bytes = [0u8; 256];
        // SAFETY: the buffer lives through the call.
        while unsafe { libc::read(self.fd(), bytes.as_mut_ptr().cast(), bytes.len()) }
            == bytes.len() as isize
        {}
    }
}
