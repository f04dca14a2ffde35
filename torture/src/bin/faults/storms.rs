//! A storm of signals.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::mem::zeroed;
use std::thread;
use std::time::Duration;

/// Interrupts every thread of this process once per millisecond, whatever system call it is in,
/// until the process ends.
pub fn interrupt_all_threads() -> io::Result<()> {
    // SAFETY: an all-zero `sigaction` is valid and lives through the call. The handler does
    // nothing.
    let result = unsafe {
        let mut action: libc::sigaction = zeroed();
        // Without `SA_RESTART`, interrupted calls return `EINTR`.
        action.sa_sigaction = ignore as extern "C" fn(c_int) as usize;
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut())
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    thread::Builder::new().spawn(interrupt)?;
    Ok(())
}

extern "C" fn ignore(_: c_int) {}

fn interrupt() {
    // SAFETY: takes nothing and returns a number.
    let process = unsafe { libc::getpid() };
    loop {
        for entry in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            if let Some(thread) = entry.file_name().to_str().and_then(|id| id.parse::<i32>().ok()) {
                // SAFETY: takes numbers. If the thread has ended, the call fails, which is
                // harmless.
                unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR2) };
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}
