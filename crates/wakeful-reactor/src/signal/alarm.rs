//! What the handler rings: a bell that every driver watches.

use crate::sys::Bell;
use std::io;
use std::os::fd::RawFd;
use std::sync::OnceLock;

/// Never closed: a handler may be about to ring it.
static ALARM: OnceLock<Bell> = OnceLock::new();

/// The descriptor to watch, made by the first who asks.
pub(crate) fn alarm_fd() -> io::Result<RawFd> {
    if let Some(alarm) = ALARM.get() {
        return Ok(alarm.fd());
    }
    // Of two at once the first one's is kept; the other's is closed.
    let alarm = Bell::new()?;
    Ok(ALARM.get_or_init(|| alarm).fd())
}

/// Lets every driver have an event. From the handler: an atomic load and a system call.
pub(super) fn ring() {
    if let Some(alarm) = ALARM.get() {
        alarm.ring();
    }
}

/// A driver has had the event, and hands out what was noted, after this call.
pub(super) fn heard() {
    if let Some(alarm) = ALARM.get() {
        alarm.heard();
    }
}
