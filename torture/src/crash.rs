//! Says what a program was doing when a signal ends it.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};

/// An abort, after a report of AddressSanitizer too, and accesses to memory that is not there.
const SIGNALS: [libc::c_int; 3] = [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS];

static TEXT: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static LEN: AtomicUsize = AtomicUsize::new(0);
static BEFORE: OnceLock<[libc::sigaction; 3]> = OnceLock::new();

/// Writes its text to stderr if a signal ends the process before it is dropped. One at a time.
#[derive(Debug)]
#[must_use]
pub struct Doing {
    /// The handler refers to it.
    _text: String,
}

impl Doing {
    /// Has `what` written, on a line of its own.
    ///
    /// # Panics
    /// If the handlers cannot be installed.
    pub fn new(what: &str) -> Doing {
        BEFORE.get_or_init(|| SIGNALS.map(install));
        let text = format!("FINDING: the process ends in a {what}\n");
        LEN.store(text.len(), SeqCst);
        TEXT.store(text.as_ptr().cast_mut(), SeqCst);
        Doing { _text: text }
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        TEXT.store(ptr::null_mut(), SeqCst);
    }
}

/// Installs the handler for a signal; returns what was there.
fn install(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: all zeroes are a valid `sigaction`, and both are valid for the call; the handler does
    // only what a signal handler may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        let mut before = std::mem::zeroed();
        assert_eq!(libc::sigaction(signal, &action, &mut before), 0, "a handler for a signal");
        before
    }
}

extern "C" fn handler(signal: libc::c_int) {
    let (text, len) = (TEXT.load(SeqCst), LEN.load(SeqCst));
    if !text.is_null() {
        // SAFETY: the text lives as long as it is named in `TEXT`.
        unsafe { libc::write(libc::STDERR_FILENO, text.cast(), len) };
    }
    let before = SIGNALS.iter().position(|each| *each == signal).zip(BEFORE.get());
    if let Some((at, before)) = before {
        // The fault happens again, and goes to the handler that was there before: std's,
        // AddressSanitizer's, or the default one.
        //
        // SAFETY: `before` is the action that the system returned for this signal.
        unsafe { libc::sigaction(signal, &before[at], ptr::null_mut()) };
    }
}
