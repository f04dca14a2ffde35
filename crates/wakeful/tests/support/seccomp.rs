//! Lets system calls fail as they do on an old kernel or in a sandbox.

use std::ffi::{c_int, c_long};
use std::io;

/// Makes `call` fail with `errno` from now on, on all threads of this process and in its new
/// children.
pub fn forbid(call: c_long, errno: c_int) {
    let operation = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut program = [
        // Loads the number of the call, the first field of `seccomp_data`.
        operation(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..operation(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32)
        },
        operation(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32),
        operation(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: `program` and the instructions it points to live until after the calls.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        );
        assert_eq!(set, 0, "{}", io::Error::last_os_error());
    }
}
