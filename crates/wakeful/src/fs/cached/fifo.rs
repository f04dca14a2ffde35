//! A FIFO that was opened without waiting for its other end.

use super::set_blocking;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// How often to see whether somebody came who has not written yet. Of these the kernel does not tell.
const POLL_INTERVAL_MS: i32 = 10;

/// Waits until somebody has opened `fifo` to write, as to open it would have, and makes it a blocking one.
/// He may be gone again; what he wrote is there.
///
/// `fifo` must be non-blocking and open to be read only, and nobody may have read from it.
pub(in super::super) fn wait_for_writer(fifo: &File) -> io::Result<()> {
    let scratch = ScratchPipe::new()?;
    while !scratch.has_writer_or_data(fifo) && !has_events(fifo, POLL_INTERVAL_MS) {}
    set_blocking(fifo);
    Ok(())
}

/// Waits until there is something to read, or a writer has come and gone: a FIFO that had none when it was
/// opened counts as hung up only then.
fn has_events(fifo: &File, timeout_ms: i32) -> bool {
    let mut poll = libc::pollfd { fd: fifo.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: it is one entry, and ours.
    unsafe { libc::poll(&raw mut poll, 1, timeout_ms) > 0 }
}

/// A pipe of our own, for `tee`: a FIFO's bytes are copied into it, and stay where they are.
struct ScratchPipe {
    write_end: OwnedFd,
    _read_end: OwnedFd,
}

impl ScratchPipe {
    fn new() -> io::Result<ScratchPipe> {
        let mut ends: [RawFd; 2] = [0; 2];
        // SAFETY: there is room for two.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us these.
        let [read_end, write_end] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(ScratchPipe { write_end, _read_end: read_end })
    }

    /// Whether `fifo` has a writer, or bytes. Of an empty one without a writer `tee` sees the end; of an empty
    /// one with a writer, that it would have to wait.
    fn has_writer_or_data(&self, fifo: &File) -> bool {
        let (from, to) = (fifo.as_raw_fd(), self.write_end.as_raw_fd());
        // SAFETY: no memory is involved.
        match unsafe { libc::tee(from, to, 1, libc::SPLICE_F_NONBLOCK) } {
            -1 => io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock,
            copied => copied > 0,
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
