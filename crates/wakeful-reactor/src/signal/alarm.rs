//! What the handler rings: a descriptor that every driver watches.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

/// Never closed and never read. Each write is an edge for every epoll instance that has it, so that one
/// descriptor serves all drivers, and none can take the news from another.
static ALARM: OnceLock<OwnedFd> = OnceLock::new();

/// The descriptor to watch, made by the first who asks.
pub(crate) fn alarm_fd() -> io::Result<RawFd> {
    if let Some(alarm) = ALARM.get() {
        return Ok(alarm.as_raw_fd());
    }
    // SAFETY: takes and returns numbers only.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: new, and nobody else's.
    let alarm = unsafe { OwnedFd::from_raw_fd(fd) };
    // Of two at once the first one's is kept; the other's is closed.
    Ok(ALARM.get_or_init(|| alarm).as_raw_fd())
}

/// Lets every driver have an event. From the handler: an atomic load and a system call.
pub(super) fn ring() {
    let Some(alarm) = ALARM.get() else { return };
    let one = 1u64.to_ne_bytes();
    // SAFETY: the buffer lives through the call. It could fail only by the counter's limit, after more
    // signals than there is time for.
    unsafe { libc::write(alarm.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}
