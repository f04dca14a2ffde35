//! Recorded holdings: which tasks hold the permits and locks of a process that is watched.
//!
//! Recording costs more than the notes of [`waiting`](super), so it is off until a debugger thread
//! calls [`watch`], which it does when the process starts. What was acquired before is not known.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether holdings are recorded. Never written otherwise, so that each core keeps the cache line.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Begins to record holdings, for the rest of the process's life.
pub fn watch() {
    WATCHED.store(true, Relaxed);
}

/// Returns whether holdings are recorded.
#[inline]
pub fn is_watched() -> bool {
    WATCHED.load(Relaxed)
}
