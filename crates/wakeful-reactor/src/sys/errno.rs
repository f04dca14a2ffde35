//! The error number of the last system call.

use libc::c_int;
use std::marker::PhantomData;

/// Restores `errno` when dropped, as a signal handler must.
pub(crate) struct KeepErrno {
    errno: c_int,
    _not_send: PhantomData<*const ()>,
}

impl KeepErrno {
    pub(crate) fn begin() -> KeepErrno {
        // SAFETY: the location is this thread's, and valid as long as the thread exists.
        KeepErrno { errno: unsafe { *location() }, _not_send: PhantomData }
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: as above; the value is not `Send`, so this is the same thread.
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
    // SAFETY: the function takes no arguments and always succeeds.
    unsafe { location() }
}
