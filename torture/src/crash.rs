//! Reports what the program was doing when a signal terminates it.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};

/// Aborts (AddressSanitizer ends its report with one), and accesses to unmapped memory.
const SIGNALS: [libc::c_int; 3] = [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS];

static TEXT: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static LEN: AtomicUsize = AtomicUsize::new(0);
static BEFORE: OnceLock<[libc::sigaction; 3]> = OnceLock::new();

/// While it exists, a signal that terminates the process first prints a text to stderr. Only one
/// may exist at a time.
#[derive(Debug)]
#[must_use]
pub struct CrashReport {
    /// Owned here; the signal handler reads it through `TEXT`.
    _text: String,
}

impl CrashReport {
    /// Makes the handler print `what` if the process crashes.
    ///
    /// # Panics
    /// Panics if a signal handler cannot be installed.
    pub fn new(what: &str) -> CrashReport {
        BEFORE.get_or_init(|| SIGNALS.map(install));
        let text = format!("FINDING: the process crashed in a {what}\n");
        LEN.store(text.len(), SeqCst);
        TEXT.store(text.as_ptr().cast_mut(), SeqCst);
        CrashReport { _text: text }
    }
}

impl Drop for CrashReport {
    fn drop(&mut self) {
        TEXT.store(ptr::null_mut(), SeqCst);
    }
}

/// Installs the handler for `signal` and returns the previous action.
fn install(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: an all-zero `sigaction` is valid, and both structs are live locals during the call.
    // The handler calls only functions that are async-signal-safe (`write`, `sigaction`) and loads
    // atomics.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        let mut before = std::mem::zeroed();
        assert_eq!(
            libc::sigaction(signal, &action, &mut before),
            0,
            "cannot install a signal handler"
        );
        before
    }
}

extern "C" fn handler(signal: libc::c_int) {
    let (text, len) = (TEXT.load(SeqCst), LEN.load(SeqCst));
    if !text.is_null() {
        // SAFETY: `write` gets a pointer and a length that belong together: `CrashReport::new` sets `LEN`
        // before `TEXT`, and only one `CrashReport` exists. `Drop` clears `TEXT` before it frees the
        // text. A thread that crashes during this drop may at worst make the kernel print freed
        // bytes.
        unsafe { libc::write(libc::STDERR_FILENO, text.cast(), len) };
    }
    let before = SIGNALS.iter().position(|each| *each == signal).zip(BEFORE.get());
    if let Some((at, before)) = before {
        // Restores the previous handler: std's, AddressSanitizer's or the default one. When this
        // handler returns, the faulting instruction runs again, and that handler reports it.
        //
        // SAFETY: `before` is the action that `sigaction` returned for this signal.
        unsafe { libc::sigaction(signal, &before[at], ptr::null_mut()) };
    }
}
