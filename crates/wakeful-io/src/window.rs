//! The buffer that `BufReader` and the copy functions read into.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::contract;
use crate::traits::AsyncRead;

/// The default capacity of buffers, the same as in std.
pub(crate) const DEFAULT_CAPACITY: usize = 8 * 1024;

/// A buffer that is filled at its end and consumed at its front.
///
/// ```text
/// │ taken │ bytes │ room │
/// 0     start    end  capacity
/// ```
///
/// Once all bytes are consumed, both ends return to the start of the memory.
///
/// The memory is zeroed once, on creation, and readers get it as an initialized `ReadBuf`. Some
/// readers only call `ReadBuf::advance`, which would panic on uninitialized memory; Tokio's buffers
/// are initialized too.
pub(crate) struct Window {
    // Invariant: start <= end <= memory.len().
    memory: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Window {
    pub(crate) fn new(capacity: usize) -> Self {
        Window { memory: vec![0; capacity].into_boxed_slice(), start: 0, end: 0 }
    }

    /// Returns the bytes that have not been consumed.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns whether there is no room left at the end.
    pub(crate) fn is_full(&self) -> bool {
        self.end == self.memory.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Consumes the first `n` bytes, or all if there are fewer.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        if n < self.len() { self.start += n } else { self.clear() }
    }

    /// Consumes and returns the first `n` bytes if there are more than `n`.
    #[inline]
    pub(crate) fn take_front(&mut self, n: usize) -> Option<&[u8]> {
        if n >= self.len() {
            return None;
        }
        let taken = self.start..self.start + n;
        self.start = taken.end;
        Some(&self.memory[taken])
    }

    /// Consumes all bytes.
    pub(crate) fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
    }

    /// Reads once into the room at the end, and returns how many bytes were read.
    pub(crate) fn poll_fill<R: AsyncRead + ?Sized>(
        &mut self,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let n = ready!(contract::poll_read(reader, cx, &mut self.memory[self.end..]))?;
        self.end += n;
        Poll::Ready(Ok(n))
    }
}

/// Shows the number of buffered bytes and the capacity.
impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.len(), self.capacity())
    }
}
