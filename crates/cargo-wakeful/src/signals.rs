//! Signals that would end us before `Cargo.lock` is back.
//!
//! They only reach our child: by the terminal, which sends them to both of us, or else by the handler here. The child
//! ends, or does not, as it would without us, and we end as it did once everything is as it was.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

/// The last signal that came; 0 if none did.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// The process to pass signals on to; 0 if there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Has the signals that end a program wait for our child. One that is ignored already, as under `nohup`, stays so.
pub fn install_handlers() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: both structures are plain data for which zeroes are valid, and the handler that is set makes only
        // calls that are safe in one. Without SA_RESTART a wait for the turn at the lock file ends.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action = std::mem::zeroed();
            action.sa_sigaction =
                on_signal as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    RECEIVED.store(signal, Ordering::SeqCst);
    // SAFETY: with SA_SIGINFO the kernel passes a valid `info`; errno is this thread's own; `kill` may be called here.
    unsafe {
        // Positive is the kernel's word for the terminal, which has told the child as well.
        let is_from_a_process = (*info).si_code <= 0;
        let child = CHILD.load(Ordering::SeqCst);
        if is_from_a_process && child != 0 {
            let errno = *libc::__errno_location();
            libc::kill(child, signal);
            *libc::__errno_location() = errno;
        }
    }
}

/// The signal that came, if one did.
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

/// Waits for the child's end, and passes signals on to it until then.
pub fn wait_for(mut child: Child) -> io::Result<ExitStatus> {
    let pid = child.id();
    CHILD.store(pid as i32, Ordering::SeqCst);
    if let Some(signal) = received() {
        // It came before there was a child to tell.
        // SAFETY: no memory is involved, and the child has not been waited for, so the id is still its.
        unsafe { libc::kill(pid as i32, signal) };
    }
    // The id is free for others as soon as the child is waited for in earnest; nothing may be sent to it then.
    while !has_ended(pid)? {}
    CHILD.store(0, Ordering::SeqCst);
    child.wait()
}

/// Blocks until the process has ended, which leaves it to be waited for; false if a signal came first.
fn has_ended(pid: u32) -> io::Result<bool> {
    // SAFETY: `info` is plain data for which zeroes are valid, and it outlives the call.
    let outcome = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | libc::WNOWAIT)
    };
    if outcome == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
}

/// Has the kernel end the process when we are gone without having waited for it, as after `kill -9`.
pub fn kill_with_parent(command: &mut Command) {
    let us = std::process::id() as i32;
    let tie = move || {
        // SAFETY: two system calls that touch no memory of ours.
        let parent = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            libc::getppid()
        };
        if parent == us { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: the closure allocates nothing and takes no lock, so it may run between fork and exec.
    unsafe { command.pre_exec(tie) };
}

/// Ends us by the signal, without a core file of ours. Returns if it is one that ends nobody.
pub fn die_from(signal: i32) {
    // SAFETY: none of the calls touches memory of ours.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
