//! What the handler rings: a notifier that every driver watches.

use crate::sys::EventNotifier;
use std::io;
use std::os::fd::RawFd;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Never closed: a handler may be about to notify it.
static NOTIFIER: OnceLock<EventNotifier> = OnceLock::new();

/// The process that made it.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// The descriptor to watch, made by the first who asks.
pub(crate) fn notifier_fd() -> io::Result<RawFd> {
    if let Some(notifier) = NOTIFIER.get() {
        return Ok(notifier.fd());
    }
    // Of two at once the first one's is kept; the other's is closed.
    let notifier = EventNotifier::new()?;
    OWNER.store(process::id(), Relaxed);
    Ok(NOTIFIER.get_or_init(|| notifier).fd())
}

/// Lets every driver have an event. From the handler: an atomic load and a system call.
///
/// Aborts the process if the descriptor does not work any more: a handler can neither panic nor make
/// another one, and a signal that no listener ever hears of would be lost without a trace. Not in the
/// child of a fork, which has no listeners, and may have closed what it does not need.
pub(super) fn notify() {
    const WHY: &str = "wakeful: a signal came, but the descriptor that tells the drivers of signals \
        does not work any more: other code in this process has closed or replaced it. The process \
        aborts.\n";
    let is_broken = NOTIFIER.get().is_some_and(|notifier| notifier.notify().is_err());
    // `getpid`, which a handler may call.
    if is_broken && process::id() == OWNER.load(Relaxed) {
        // SAFETY: the buffer lives through the call; both calls are safe in a signal handler.
        unsafe {
            libc::write(libc::STDERR_FILENO, WHY.as_ptr().cast(), WHY.len());
            libc::abort();
        }
    }
}

/// A driver has had the event, and hands out what was noted, after this call.
pub(super) fn acknowledge() {
    if let Some(notifier) = NOTIFIER.get() {
        notifier.acknowledge();
    }
}
