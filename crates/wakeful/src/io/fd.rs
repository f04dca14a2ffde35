//! System calls on descriptors that are not sockets.

use bytes::BufMut;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Reads once and appends to `buf`, whose memory need not be initialized. Returns the number of
/// bytes.
pub(crate) fn read(fd: &impl AsFd, buf: &mut impl BufMut) -> io::Result<usize> {
    // SAFETY: `room` is passed only to `read`, which writes initialized bytes.
    let room = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
    // SAFETY: `room` is valid for writes of `room.len()` bytes, and the kernel writes at most that
    // many.
    let n = unsafe { libc::read(fd.as_fd().as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: `read` returned `n`, so the kernel initialized the first `n` bytes of `room`.
    unsafe { buf.advance_mut(n) };
    Ok(n)
}

/// Sets whether operations on `fd` return `WouldBlock` instead of blocking.
pub(crate) fn set_nonblocking(fd: &impl AsFd, nonblocking: bool) -> io::Result<()> {
    let now = flags(fd)?;
    let new = if nonblocking { now | libc::O_NONBLOCK } else { now & !libc::O_NONBLOCK };
    // SAFETY: `fcntl` with this command takes no pointers.
    if new != now && unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETFL, new) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Returns the status flags of `fd` (`F_GETFL`).
pub(crate) fn flags(fd: &impl AsFd) -> io::Result<libc::c_int> {
    // SAFETY: `fcntl` with this command takes no pointers.
    match unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags => Ok(flags),
    }
}
