//! Child processes on a kernel without pidfds, before Linux 5.3. `SIGCHLD` reports their exits.
//!
//! A seccomp filter makes `pidfd_open` fail, in this process and its children.

mod support;

#[path = "process/ending.rs"]
mod ending;
#[path = "process/orphans.rs"]
mod orphans;
#[path = "process/streams.rs"]
mod streams;

use std::io;
use support::{each_flavor, seccomp};
use wakeful::runtime::Runtime;

/// Creates the runtimes in which each case is tested, after forbidding `pidfd_open`.
fn runtimes() -> [Runtime; 3] {
    forbid_pidfd_open();
    each_flavor()
}

fn forbid_pidfd_open() {
    seccomp::forbid(libc::SYS_pidfd_open, libc::ENOSYS);
    // SAFETY: the call takes integers only and accesses no memory of this process.
    assert_eq!(unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) }, -1);
    assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS));
}
