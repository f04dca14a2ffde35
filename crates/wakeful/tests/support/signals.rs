//! Helpers for the tests of signals and processes.

use std::path::PathBuf;

/// Sends `signal` to this process.
pub fn send_signal(signal: i32) {
    // SAFETY: the call takes integers only. The tests send only signals with a handler.
    assert_eq!(unsafe { libc::kill(libc::getpid(), signal) }, 0);
}

/// Returns whether the process exists, also as a zombie.
pub fn is_known(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

/// Returns whether the process has exited and was not waited for.
pub fn is_zombie(pid: u32) -> bool {
    // The state follows the name, which is in parentheses and may contain parentheses itself.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}
