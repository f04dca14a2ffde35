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
use support::each_flavor;
use wakeful::runtime::Runtime;

/// The runtimes that each case is tried in, on an old kernel.
fn runtimes() -> [Runtime; 3] {
    forbid_pidfd_open();
    each_flavor()
}

fn forbid_pidfd_open() {
    let operation = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut program = [
        // The number of the call, which comes first in `seccomp_data`.
        operation(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..operation(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_pidfd_open as u32)
        },
        operation(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        operation(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program lives through the call, and is for all threads there are.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        );
        assert_eq!(set, 0, "{}", io::Error::last_os_error());
        assert_eq!(libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0), -1);
    }
    assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS));
}
