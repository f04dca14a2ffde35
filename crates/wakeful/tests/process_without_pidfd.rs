//! Child processes where the kernel has no descriptors for them, as before Linux 5.3: it is `SIGCHLD` that
//! tells of their ends.
//!
//! A filter lets `pidfd_open` fail as it does there, for this process and all that it starts.

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

/// The runtimes that each case is tried in, on an old kernel.
fn runtimes() -> [Runtime; 3] {
    forbid_pidfd_open();
    each_flavor()
}

fn forbid_pidfd_open() {
    seccomp::forbid(libc::SYS_pidfd_open, libc::ENOSYS);
    // SAFETY: no memory is involved.
    assert_eq!(unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) }, -1);
    assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS));
}
