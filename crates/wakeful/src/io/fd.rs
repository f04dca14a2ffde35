//! Calls on descriptors that are no sockets.

use bytes::BufMut;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Reads to the end of `buf`, whose memory need not be initialized; returns how much was added.
pub(crate) fn read(fd: &impl AsFd, buf: &mut impl BufMut) -> io::Result<usize> {
    // SAFETY: goes to the kernel only, which only writes.
    let room = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
    // SAFETY: the kernel writes at most `room.len()` bytes there, initialized ones.
    let n = unsafe { libc::read(fd.as_fd().as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel wrote that many.
    unsafe { buf.advance_mut(n) };
    Ok(n)
}

/// Says whether operations on `fd` return `WouldBlock` instead of blocking.
pub(crate) fn set_nonblocking(fd: &impl AsFd, nonblocking: bool) -> io::Result<()> {
    let now = flags(fd)?;
    let new = if nonblocking { now | libc::O_NONBLOCK } else { now & !libc::O_NONBLOCK };
    // SAFETY: takes and returns numbers only.
    if new != now && unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETFL, new) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// How `fd` was opened.
pub(crate) fn flags(fd: &impl AsFd) -> io::Result<libc::c_int> {
    // SAFETY: takes and returns numbers only.
    match unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags => Ok(flags),
    }
}
