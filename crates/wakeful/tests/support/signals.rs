//! What the tests of signals and processes need.

use std::path::PathBuf;

/// Sends `signal` to this process.
pub fn send_signal(signal: i32) {
    // SAFETY: takes numbers only; the tests send what they listen for.
    assert_eq!(unsafe { libc::kill(libc::getpid(), signal) }, 0);
}

/// Whether the system still has an entry for the process, be it a zombie.
pub fn is_known(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

/// Whether the process has ended, and nobody has waited for it.
pub fn is_zombie(pid: u32) -> bool {
    // The state comes after the name, which is in brackets and may have some of its own.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}
