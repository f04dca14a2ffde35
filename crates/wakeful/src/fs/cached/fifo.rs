//! Waits for the writer of a FIFO that was opened without waiting for one.

use super::set_blocking;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// How often to check for a writer that has opened the FIFO and written nothing yet. The kernel
/// does not report such a writer as an event. Bounds the delay of the open; the wait is on a pool
/// thread.
const POLL_INTERVAL_MS: i32 = 10;

/// Waits until a writer has opened `fifo`, as a blocking open would have, and clears the
/// non-blocking flag. The writer may have closed the FIFO again; its data can be read.
///
/// `fifo` must be non-blocking and open only for reading, and must not have been read from.
pub(in super::super) fn wait_for_writer(fifo: &File) -> io::Result<()> {
    let scratch = ScratchPipe::new()?;
    while !scratch.has_writer_or_data(fifo) && !has_events(fifo, POLL_INTERVAL_MS) {}
    set_blocking(fifo);
    Ok(())
}

/// Waits until there is data to read or a writer has opened and closed the FIFO. (A FIFO that had
/// no writer when it was opened reports a hang-up only after that.)
fn has_events(fifo: &File, timeout_ms: i32) -> bool {
    let mut poll = libc::pollfd { fd: fifo.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one live, writable `pollfd`, and the count is one.
    unsafe { libc::poll(&raw mut poll, 1, timeout_ms) > 0 }
}

/// A pipe that `tee` copies the FIFO's data into, which does not consume the data.
struct ScratchPipe {
    write_end: OwnedFd,
    _read_end: OwnedFd,
}

impl ScratchPipe {
    fn new() -> io::Result<ScratchPipe> {
        let mut ends: [RawFd; 2] = [0; 2];
        // SAFETY: `pipe2` writes two descriptors, and `ends` has room for two.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `pipe2` just returned these descriptors, so nothing else owns them.
        let [read_end, write_end] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(ScratchPipe { write_end, _read_end: read_end })
    }

    /// Returns whether `fifo` has a writer or data. For an empty FIFO, `tee` returns zero if there
    /// is no writer, and `EAGAIN` if there is one.
    fn has_writer_or_data(&self, fifo: &File) -> bool {
        let (from, to) = (fifo.as_raw_fd(), self.write_end.as_raw_fd());
        // SAFETY: `tee` takes two descriptors, both open for the call, and accesses no memory of
        // this process.
        match unsafe { libc::tee(from, to, 1, libc::SPLICE_F_NONBLOCK) } {
            -1 => io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock,
            copied => copied > 0,
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
