//! A wrapper that gives a value cache lines of its own.

use std::ops::{Deref, DerefMut};

/// A value that shares no cache line with its neighbours.
///
/// Aligned to 128 bytes: x86-64 prefetches cache lines in pairs, and some AArch64 cores have
/// 128-byte lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        CachePadded(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
