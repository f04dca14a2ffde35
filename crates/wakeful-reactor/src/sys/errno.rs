//! The error number of the last system call.

use libc::c_int;
use std::marker::PhantomData;

/// Puts `errno` back when dropped: a signal handler must leave it as it was.
pub(crate) struct KeepErrno {
    errno: c_int,
    _not_send: PhantomData<*const ()>,
}

impl KeepErrno {
    pub(crate) fn begin() -> KeepErrno {
        // SAFETY: the thread's own, which is there as long as the thread is.
        KeepErrno { errno: unsafe { *location() }, _not_send: PhantomData }
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: as above, and on the same thread.
        unsafe { *location() = self.errno };
    }
}

fn location() -> *mut c_int {
    #[cfg(any(target_os = "netbsd", target_os = "openbsd", target_os = "android"))]
    use libc::__errno as location;
    #[cfg(not(any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "android"
    )))]
    use libc::__errno_location as location;
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    use libc::__error as location;
    // SAFETY: takes nothing, and always succeeds.
    unsafe { location() }
}
