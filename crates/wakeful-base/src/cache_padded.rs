//! Keeps a value on cache lines of its own.

use std::ops::{Deref, DerefMut};

/// A value that shares no cache line with its neighbours.
///
/// 128 bytes: x86-64 fetches lines in pairs, and some AArch64 cores have lines of that size.
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
