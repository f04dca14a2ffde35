//! The signal handler and its installation.
//!
//! The handler may interrupt any code, including the allocator or the holder of a lock on its own
//! thread. So it takes no lock, allocates nothing and cannot panic. It loads and sets atomics,
//! calls `write`, and preserves `errno`. At its end it calls the handler that was installed before.

use super::{PENDING, SIGNALS_MAX, notifier};
use crate::sys::KeepErrno;
use libc::{c_int, c_void, siginfo_t};
use std::io;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Signals that cannot be caught, or whose handler must not return.
const FORBIDDEN_SIGNALS: [c_int; 5] =
    [libc::SIGKILL, libc::SIGSTOP, libc::SIGILL, libc::SIGFPE, libc::SIGSEGV];

/// The previous handler of each signal; null if there was none. Never freed, since a handler may be
/// reading it.
static PREVIOUS: [AtomicPtr<libc::sigaction>; SIGNALS_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SIGNALS_MAX];

/// Returns the index of `signal`, or `None` if it cannot be listened for.
pub(super) fn index_of(signal: c_int) -> Option<usize> {
    let index = usize::try_from(signal).ok()?.checked_sub(1)?;
    (index < SIGNALS_MAX && !FORBIDDEN_SIGNALS.contains(&signal)).then_some(index)
}

/// Installs our handler, once for each signal. It stays installed. The default action, which is
/// most often the end of the process, must not come back just because a listener is dropped.
pub(super) fn install(signal: c_int, index: usize) -> io::Result<()> {
    static INSTALLED: Mutex<u64> = Mutex::new(0);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed & 1 << index != 0 {
        return Ok(());
    }
    // Saved before our handler can run for the first time.
    let previous = change(signal, None)?;
    save_previous(index, &previous);
    // SAFETY: all zero bytes are a valid `sigaction`: the default action, with no signal masked.
    let mut ours: libc::sigaction = unsafe { mem::zeroed() };
    ours.sa_sigaction = on_signal as *const () as usize;
    // A program with small stacks may have asked for an alternate signal stack: keep that.
    ours.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO | previous.sa_flags & libc::SA_ONSTACK;
    let replaced = change(signal, Some(&ours))?;
    if replaced.sa_sigaction != previous.sa_sigaction {
        // Other code has installed a handler between the two calls.
        save_previous(index, &replaced);
    }
    *installed |= 1 << index;
    Ok(())
}

/// Changes the action for `signal`, or only queries it. Returns the previous action.
fn change(signal: c_int, action: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let new = action.map_or(ptr::null(), ptr::from_ref);
    let mut old = MaybeUninit::zeroed();
    // SAFETY: `new` is null or lives until the call returns, and `old` has room for the result. The
    // handler is `on_signal`, which is async-signal-safe by the rules above.
    if unsafe { libc::sigaction(signal, new, old.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded and filled it in; it was initialised to zero bytes before.
    Ok(unsafe { old.assume_init() })
}

fn save_previous(index: usize, action: &libc::sigaction) {
    let is_code = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
    let previous = if is_code { Box::into_raw(Box::new(*action)) } else { ptr::null_mut() };
    PREVIOUS[index].store(previous, Release);
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(index) = index_of(signal) else { return };
    let _errno = KeepErrno::begin();
    if let Some(pending) = PENDING.get() {
        pending.set_pending(index);
    }
    notifier::notify();
    let previous = PREVIOUS[index].load(Acquire);
    if !previous.is_null() {
        // SAFETY: `save_previous` made the pointer from a box that is never freed. The action was
        // the process's handler for this signal, and the arguments come from the kernel.
        unsafe { call(&*previous, signal, info, context) };
    }
}

/// # Safety
/// `action` must have been installed for `signal`, and the other arguments must be those of a
/// handler.
unsafe fn call(
    action: &libc::sigaction,
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    type WithInfo = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
    type Plain = extern "C" fn(c_int);
    let code = action.sa_sigaction as *const ();
    if action.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: by contract it is a handler, and the flag says that it takes three arguments.
        let handler = unsafe { mem::transmute::<*const (), WithInfo>(code) };
        handler(signal, info, context);
    } else {
        // SAFETY: by contract it is a handler, and the missing flag says that it takes one
        // argument.
        let handler = unsafe { mem::transmute::<*const (), Plain>(code) };
        handler(signal);
    }
}
