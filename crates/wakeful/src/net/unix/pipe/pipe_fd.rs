//! Descriptors of pipes: making them, and asking what they are.

use crate::io::fd::flags;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;

/// What an end of a pipe is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Reading,
    Writing,
}

/// The reading and the writing end of a new pipe, both non-blocking and not inherited by child processes.
pub(super) fn new_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    if sys::pipe(&mut fds) < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are new, and nobody else's.
    let ends = unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) };
    sys::finish(&ends.0)?;
    sys::finish(&ends.1)?;
    Ok(ends)
}

#[cfg(not(any(target_vendor = "apple", target_os = "aix", target_os = "haiku")))]
mod sys {
    use super::*;

    pub(super) fn pipe(fds: &mut [RawFd; 2]) -> libc::c_int {
        // SAFETY: there is room for the two descriptors.
        unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) }
    }

    pub(super) fn finish(_end: &OwnedFd) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(any(target_vendor = "apple", target_os = "aix", target_os = "haiku"))]
mod sys {
    use super::*;
    use crate::io::fd::set_nonblocking;
    use std::os::fd::AsRawFd;

    pub(super) fn pipe(fds: &mut [RawFd; 2]) -> libc::c_int {
        // SAFETY: there is room for the two descriptors.
        unsafe { libc::pipe(fds.as_mut_ptr()) }
    }

    pub(super) fn finish(end: &OwnedFd) -> io::Result<()> {
        // SAFETY: takes and returns numbers only.
        if unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        set_nonblocking(end, true)
    }
}

/// Fails unless `file` is a pipe.
pub(super) fn check_is_pipe(file: &File) -> io::Result<()> {
    if file.metadata()?.file_type().is_fifo() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe"))
}

/// Fails unless `file` was opened for what `end` is for.
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
