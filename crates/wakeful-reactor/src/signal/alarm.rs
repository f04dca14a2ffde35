//! What the handler rings: a bell that every driver watches.

use crate::sys::Bell;
use std::io;
use std::os::fd::RawFd;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Never closed: a handler may be about to ring it.
static ALARM: OnceLock<Bell> = OnceLock::new();

/// The process that made it.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// The descriptor to watch, made by the first who asks.
pub(crate) fn alarm_fd() -> io::Result<RawFd> {
    if let Some(alarm) = ALARM.get() {
        return Ok(alarm.fd());
    }
    // Of two at once the first one's is kept; the other's is closed.
    let alarm = Bell::new()?;
    OWNER.store(process::id(), Relaxed);
    Ok(ALARM.get_or_init(|| alarm).fd())
}

/// Lets every driver have an event. From the handler: an atomic load and a system call.
///
/// Aborts the process if the descriptor does not work any more: a handler can neither panic nor make
/// another one, and a signal that no listener ever hears of would be lost without a trace. Not in the
/// child of a fork, which has no listeners, and may have closed what it does not need.
pub(super) fn ring() {
    const WHY: &str = "wakeful: a signal came, but the descriptor that tells the drivers of signals \
        does not work any more: other code in this process has closed or replaced it. The process \
        aborts.\n";
    let is_broken = ALARM.get().is_some_and(|alarm| alarm.ring().is_err());
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
pub(super) fn heard() {
    if let Some(alarm) = ALARM.get() {
        alarm.heard();
    }
}
