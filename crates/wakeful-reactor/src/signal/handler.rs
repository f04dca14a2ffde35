//! The signal handler, and how it gets its place.
//!
//! It may have interrupted anything, its own thread's allocation or lock included. So it takes no lock,
//! allocates nothing and cannot panic: it loads and sets atomics, calls `write`, and leaves `errno` as it
//! was. Who handled the signal before is called next.

use super::{PENDING, SIGNALS_MAX, notifier};
use crate::sys::KeepErrno;
use libc::{c_int, c_void, siginfo_t};
use std::io;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Not to be caught, or not to be returned from.
const NOT_FOR_LISTENERS: [c_int; 5] =
    [libc::SIGKILL, libc::SIGSTOP, libc::SIGILL, libc::SIGFPE, libc::SIGSEGV];

/// Who handled each signal before us. Null: nobody. Never freed: a handler may be looking at it.
static BEFORE: [AtomicPtr<libc::sigaction>; SIGNALS_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SIGNALS_MAX];

/// The place of `signal` among all; none if it cannot be listened for.
pub(super) fn index_of(signal: c_int) -> Option<usize> {
    let index = usize::try_from(signal).ok()?.checked_sub(1)?;
    (index < SIGNALS_MAX && !NOT_FOR_LISTENERS.contains(&signal)).then_some(index)
}

/// Puts our handler in place, once for each signal. It stays: the signal's default, most often the end of
/// the process, must not come back by the drop of some listener.
pub(super) fn install(signal: c_int, index: usize) -> io::Result<()> {
    static INSTALLED: Mutex<u64> = Mutex::new(0);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed & 1 << index != 0 {
        return Ok(());
    }
    // Known before the first signal can come.
    let before = change(signal, None)?;
    remember(index, &before);
    // SAFETY: all bytes zero is a `sigaction`: the default one, with no signal masked.
    let mut ours: libc::sigaction = unsafe { mem::zeroed() };
    ours.sa_sigaction = on_signal as *const () as usize;
    // Who runs on small stacks has asked for signals to run on another one.
    ours.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO | before.sa_flags & libc::SA_ONSTACK;
    let replaced = change(signal, Some(&ours))?;
    if replaced.sa_sigaction != before.sa_sigaction {
        // Somebody else was here between the two calls.
        remember(index, &replaced);
    }
    *installed |= 1 << index;
    Ok(())
}

/// Changes what is done about `signal`, or only asks; returns what was done before.
fn change(signal: c_int, action: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let new = action.map_or(ptr::null(), ptr::from_ref);
    let mut old = MaybeUninit::zeroed();
    // SAFETY: `new` is null or lives through the call, `old` has room; the handler is ours, and safe to
    // run at any time by the rules above.
    if unsafe { libc::sigaction(signal, new, old.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled it in.
    Ok(unsafe { old.assume_init() })
}

fn remember(index: usize, action: &libc::sigaction) {
    let is_code = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
    let before = if is_code { Box::into_raw(Box::new(*action)) } else { ptr::null_mut() };
    BEFORE[index].store(before, Release);
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(index) = index_of(signal) else { return };
    let _errno = KeepErrno::begin();
    if let Some(pending) = PENDING.get() {
        pending.set_pending(index);
    }
    notifier::notify();
    let before = BEFORE[index].load(Acquire);
    if !before.is_null() {
        // SAFETY: made by `remember`, never freed; it was the process's handler for this signal, and the
        // arguments are the kernel's.
        unsafe { call(&*before, signal, info, context) };
    }
}

/// # Safety
/// `action` must have been in place for `signal`, and the rest be what a handler is called with.
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
        // SAFETY: by contract it is a handler, and the flag says of which kind.
        let handler = unsafe { mem::transmute::<*const (), WithInfo>(code) };
        handler(signal, info, context);
    } else {
        // SAFETY: as above.
        let handler = unsafe { mem::transmute::<*const (), Plain>(code) };
        handler(signal);
    }
}
