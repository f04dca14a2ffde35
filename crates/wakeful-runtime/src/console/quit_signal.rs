//! `SIGQUIT` as a request for a dump, as Go and the JVM have it.
//!
//! The handler writes a byte to a socket, from which the console's thread reads. A handler that was
//! there before is called as well, and one that the program installs later is expected to call this
//! one, as the runtime's own does.

use std::ffi::{c_int, c_ulong, c_void};
use std::io::{self, Read};
use std::mem;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::process;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering::*};

const SIGQUIT: c_int = 3;
const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;
const SA_SIGINFO: c_int = 4;
const SA_ONSTACK: c_int = 0x0800_0000;
const SA_RESTART: c_int = 0x1000_0000;

/// `struct sigaction` of the C libraries of 64-bit Linux. The crate has no dependency that
/// declares it.
#[repr(C)]
#[derive(Clone, Copy)]
struct SigAction {
    handler: usize,
    mask: [c_ulong; 16],
    flags: c_int,
    restorer: usize,
}

unsafe extern "C" {
    fn sigaction(signal: c_int, new: *const SigAction, old: *mut SigAction) -> c_int;
    fn write(fd: c_int, bytes: *const c_void, len: usize) -> isize;
    safe fn getpid() -> c_int;
    safe fn raise(signal: c_int) -> c_int;
    safe fn __errno_location() -> *mut c_int;
}

static WRITE_END: AtomicI32 = AtomicI32::new(-1);
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The action before ours. Never freed, since the handler may be reading it.
static PREVIOUS: AtomicPtr<SigAction> = AtomicPtr::new(ptr::null_mut());

/// The end of the socket from which requests are read.
#[derive(Debug)]
pub(crate) struct Requests(UnixStream);

/// Installs the handler. Called once.
pub(crate) fn install() -> io::Result<Requests> {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    assert!(INSTALLED.set(()).is_ok(), "there is one console in a process");
    let (read_end, write_end) = UnixStream::pair()?;
    // A full socket means that dumps are requested faster than they are made.
    write_end.set_nonblocking(true)?;
    read_end.set_nonblocking(true)?;
    WRITE_END.store(write_end.into_raw_fd(), Relaxed);
    PROCESS.store(process::id(), Relaxed);
    let mut before = action(SIG_DFL, 0);
    // SAFETY: both pointers are to actions of the layout that the C library has, and live until
    // the call returns. `on_quit` is async-signal-safe: it loads atomics and makes system
    // calls.
    let set = unsafe { sigaction(SIGQUIT, ptr::null(), &raw mut before) };
    if set == 0 {
        PREVIOUS.store(Box::into_raw(Box::new(before)), Release);
    }
    // A program with small stacks may have asked for an alternate signal stack: keep that.
    let flags = SA_RESTART | SA_SIGINFO | (before.flags & SA_ONSTACK);
    let ours = action(on_quit as *const () as usize, flags);
    // SAFETY: as above.
    if unsafe { sigaction(SIGQUIT, &raw const ours, ptr::null_mut()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Requests(read_end))
}

fn action(handler: usize, flags: c_int) -> SigAction {
    SigAction { handler, mask: [0; 16], flags, restorer: 0 }
}

impl Requests {
    /// Returns the descriptor that is readable when there is a request.
    pub(crate) fn fd(&self) -> c_int {
        self.0.as_raw_fd()
    }

    /// Takes all requests, which one dump answers. Returns whether there were any.
    pub(crate) fn take(&mut self) -> bool {
        let mut bytes = [0; 1024];
        matches!(self.0.read(&mut bytes), Ok(1..))
    }
}

extern "C" fn on_quit(signal: c_int, info: *mut c_void, context: *mut c_void) {
    let errno = __errno_location();
    // SAFETY: the C library's own location, valid on the calling thread.
    let before = unsafe { *errno };
    if getpid() as u32 == PROCESS.load(Relaxed) {
        // SAFETY: writes one byte of a static. The descriptor is never closed by the runtime.
        unsafe { write(WRITE_END.load(Relaxed), b"q".as_ptr().cast(), 1) };
    } else {
        // A child after `fork`, in which no console's thread runs: the signal does what it did
        // before there was a console.
        let default = action(SIG_DFL, 0);
        let previous = PREVIOUS.load(Acquire);
        // SAFETY: `install` made the pointer from a box that is never freed.
        let previous = unsafe { previous.as_ref() }.filter(|p| p.handler != SIG_DFL);
        if previous.is_none() {
            // SAFETY: as in `install`. The signal is blocked during this handler, so that
            // `raise` ends the process when it returns.
            unsafe { sigaction(SIGQUIT, &raw const default, ptr::null_mut()) };
            raise(SIGQUIT);
        }
    }
    let previous = PREVIOUS.load(Acquire);
    // SAFETY: as above.
    if let Some(previous) = unsafe { previous.as_ref() } {
        // SAFETY: it was the process's action for this signal, and the arguments come from the
        // kernel.
        unsafe { call(previous, signal, info, context) };
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// # Safety
/// `action` must have been installed for `signal`, and the other arguments must be those of a
/// handler.
unsafe fn call(action: &SigAction, signal: c_int, info: *mut c_void, context: *mut c_void) {
    type WithInfo = extern "C" fn(c_int, *mut c_void, *mut c_void);
    type Plain = extern "C" fn(c_int);
    if [SIG_DFL, SIG_IGN].contains(&action.handler) {
        return;
    }
    let code = ptr::with_exposed_provenance::<()>(action.handler);
    if action.flags & SA_SIGINFO != 0 {
        // SAFETY: by contract it is a handler, and the flag says that it takes three arguments.
        let handler = unsafe { mem::transmute::<*const (), WithInfo>(code) };
        handler(signal, info, context);
    } else {
        // SAFETY: by contract it is a handler, and the missing flag says that it takes one.
        let handler = unsafe { mem::transmute::<*const (), Plain>(code) };
        handler(signal);
    }
}
