//! The number of workers of the multi-thread contenders.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of workers without `--workers`.
pub const DEFAULT: usize = 2;

/// Static, because contenders build their runtimes in static functions. Each sample has its own
/// process, so a case that sets the number changes no other.
static COUNT: AtomicUsize = AtomicUsize::new(DEFAULT);

pub fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// Sets the number for runtimes that are built later.
pub fn set(count: usize) {
    COUNT.store(count, Ordering::Relaxed);
}
