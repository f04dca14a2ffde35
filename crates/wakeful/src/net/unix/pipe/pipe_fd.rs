//! Creates and inspects the descriptors of pipes.

use crate::io::fd::flags;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;

/// The direction of an end of a pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Reading,
    Writing,
}

/// Creates a pipe. Both ends, first the reading one, are non-blocking and close-on-exec.
pub(super) fn new_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    if sys::pipe(&mut fds) < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `pipe` succeeded, so both are new descriptors, which nothing else owns.
    let ends = unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) };
    sys::set_missing_flags(&ends.0)?;
    sys::set_missing_flags(&ends.1)?;
    Ok(ends)
}

#[cfg(not(any(target_vendor = "apple", target_os = "aix", target_os = "haiku")))]
mod sys {
    use super::*;

    pub(super) fn pipe(fds: &mut [RawFd; 2]) -> libc::c_int {
        // SAFETY: `fds` has room for the two descriptors that the kernel writes.
        unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) }
    }

    pub(super) fn set_missing_flags(_end: &OwnedFd) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(any(target_vendor = "apple", target_os = "aix", target_os = "haiku"))]
mod sys {
    use super::*;
    use crate::io::fd::set_nonblocking;
    use std::os::fd::AsRawFd;

    pub(super) fn pipe(fds: &mut [RawFd; 2]) -> libc::c_int {
        // SAFETY: `fds` has room for the two descriptors that the kernel writes.
        unsafe { libc::pipe(fds.as_mut_ptr()) }
    }

    pub(super) fn set_missing_flags(end: &OwnedFd) -> io::Result<()> {
        // SAFETY: `fcntl` with this command takes no pointers.
        if unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        set_nonblocking(end, true)
    }
}

/// Returns an error unless `file` is a pipe.
pub(super) fn check_is_pipe(file: &File) -> io::Result<()> {
    if file.metadata()?.file_type().is_fifo() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe"))
}

/// Returns an error unless `file` was opened for the direction of `end`.
pub(super) fn check_access(file: &File, end: End) -> io::Result<()> {
    let (wanted, why) = match end {
        End::Reading => (libc::O_RDONLY, "not in O_RDONLY or O_RDWR access mode"),
        End::Writing => (libc::O_WRONLY, "not in O_WRONLY or O_RDWR access mode"),
    };
    let mode = flags(file)? & libc::O_ACCMODE;
    if mode == wanted || mode == libc::O_RDWR {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}
