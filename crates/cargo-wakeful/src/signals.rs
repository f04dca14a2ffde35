//! Signals that would end this process before `Cargo.lock` is restored.
//!
//! Such a signal only takes effect in the child process: the terminal sends it to both processes,
//! and the handler here forwards those that other processes send. The child ends or continues as it
//! would without cargo-wakeful. Once the child has ended and `Cargo.lock` is restored, this process
//! ends in the same way.
//!
//! The handler only runs on the main thread, which also waits for the child. So when [`wait_for`]
//! clears `CHILD` and then reaps the child, no handler still holds the child's id. Other threads
//! must be started by [`spawn_without_signals`].

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::{self, JoinHandle};

#[cfg(test)]
mod tests;

/// The signals that this process handles.
const HANDLED: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The last signal received, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// The id of the process that signals are forwarded to, or 0.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Installs the handlers for signals that end a program. Signals that are ignored already, as under
/// `nohup`, stay ignored.
pub fn install_handlers() {
    for signal in HANDLED {
        // SAFETY: `sigaction` is plain data for which zeroes are valid, and the pointers are valid
        // during the calls. The handler only uses atomics and async-signal-safe functions.
        // SA_RESTART is not set, so that a signal interrupts the wait for the gate of the lock
        // file.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, ptr::null(), &mut action);
            if action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action = std::mem::zeroed();
            action.sa_sigaction =
                on_signal as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
}

/// Starts a thread on which the handler never runs: a thread inherits the mask of blocked signals.
/// A signal that arrives while this thread blocks it is delivered once the mask is restored.
pub fn spawn_without_signals<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let mut previous = MaybeUninit::uninit();
    // SAFETY: `sigset_t` is plain data, which `sigemptyset` initializes, and all pointers are valid
    // during the calls.
    unsafe {
        let mut blocked = MaybeUninit::uninit();
        libc::sigemptyset(blocked.as_mut_ptr());
        for signal in HANDLED {
            libc::sigaddset(blocked.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), previous.as_mut_ptr());
    }
    let thread = thread::Builder::new().spawn(run);
    // SAFETY: the first call of `pthread_sigmask` has written `previous`. It fails only for an
    // invalid first argument.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, previous.as_ptr(), ptr::null_mut()) };
    thread.expect("could not start a thread")
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    RECEIVED.store(signal, Ordering::SeqCst);
    // SAFETY: with SA_SIGINFO the kernel passes a valid `info`. `errno` belongs to this thread and
    // is restored. `kill` is async-signal-safe.
    unsafe {
        // A positive code means that the kernel sent the signal, for the terminal. The child, which
        // is in the same process group, has received it too.
        let is_from_a_process = (*info).si_code <= 0;
        let child = CHILD.load(Ordering::SeqCst);
        if is_from_a_process && child != 0 {
            let errno = *libc::__errno_location();
            libc::kill(child, signal);
            *libc::__errno_location() = errno;
        }
    }
}

/// Returns the last signal received, if any.
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

/// Waits until the child has ended, and forwards signals to it until then.
pub fn wait_for(mut child: Child) -> io::Result<ExitStatus> {
    let pid = child.id();
    CHILD.store(pid as i32, Ordering::SeqCst);
    if let Some(signal) = received() {
        // The signal may have arrived before the handler knew the child.
        // SAFETY: `kill` accesses no memory of this process. The child has not been reaped, so the
        // id is still its own.
        unsafe { libc::kill(pid as i32, signal) };
    }
    // The kernel may reuse the id once `child.wait()` has reaped the child, so the handler must not
    // send signals to it any more. No handler still runs with the old id: it runs on this thread.
    while !has_ended(pid)? {}
    CHILD.store(0, Ordering::SeqCst);
    child.wait()
}

/// Blocks until the process has ended, without reaping it. Returns `false` if a signal arrived
/// first.
fn has_ended(pid: u32) -> io::Result<bool> {
    // SAFETY: `siginfo_t` is plain data for which zeroes are valid, and `info` outlives the call.
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

/// Makes the kernel end the process if this one ends without waiting for it, as after `kill -9`.
pub fn kill_with_parent(command: &mut Command) {
    let us = std::process::id() as i32;
    let tie = move || {
        // SAFETY: both system calls access no memory of this process.
        let parent = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            libc::getppid()
        };
        if parent == us { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: code between fork and exec may only do what is async-signal-safe: the closure makes
    // system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(tie) };
}

/// Ends this process by the signal, without a core dump. Returns if the signal does not end a
/// process.
pub fn die_from(signal: i32) {
    // SAFETY: none of the calls accesses memory of this process.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
