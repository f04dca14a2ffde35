//! The notifier of the signal handler: an event source that every driver watches.

use crate::sys::EventNotifier;
use std::io;
use std::os::fd::RawFd;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Never closed, since a handler may be about to use it.
static NOTIFIER: OnceLock<EventNotifier> = OnceLock::new();

/// The process that created the notifier.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Returns the descriptor to watch. The first call creates the notifier.
pub(crate) fn notifier_fd() -> io::Result<RawFd> {
    if let Some(notifier) = NOTIFIER.get() {
        return Ok(notifier.fd());
    }
    // If two threads get here at the same time, one notifier is kept and the other is closed.
    let notifier = EventNotifier::new()?;
    OWNER.store(process::id(), Relaxed);
    Ok(NOTIFIER.get_or_init(|| notifier).fd())
}

/// Causes an event in every driver. Called by the handler: an atomic load and a system call.
///
/// Aborts the process if the descriptor has stopped working. A handler can neither panic nor create
/// another descriptor, and otherwise the signal would be lost without a trace. The child of a fork
/// does not abort: it has no listeners, and may have closed descriptors that it does not need.
pub(super) fn notify() {
    const WHY: &str = "wakeful: received a signal, but cannot notify the I/O drivers, because \
        other code in this process has closed or replaced the notification descriptor. The process \
        aborts.\n";
    let is_broken = NOTIFIER.get().is_some_and(|notifier| notifier.notify().is_err());
    // `process::id` is `getpid`, which is async-signal-safe.
    if is_broken && process::id() == OWNER.load(Relaxed) {
        // SAFETY: the buffer is static, and both functions are async-signal-safe.
        unsafe {
            libc::write(libc::STDERR_FILENO, WHY.as_ptr().cast(), WHY.len());
            libc::abort();
        }
    }
}

/// Acknowledges the event. Called by a driver that received it, before it delivers the pending
/// signals.
pub(super) fn acknowledge() {
    if let Some(notifier) = NOTIFIER.get() {
        notifier.acknowledge();
    }
}
