//! A buffer between a reader and those who take bytes out of it.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::contract;
use crate::traits::AsyncRead;

/// How long a buffer is if nobody says otherwise, as in std.
pub(crate) const DEFAULT_CAPACITY: usize = 8 * 1024;

/// Memory that is read into at the end and taken from at the front.
///
/// ```text
/// │ taken │ bytes │ room │
/// 0     start    end  capacity
/// ```
///
/// Once all bytes are taken, it begins at its front again.
///
/// It is zeroed once, when it is made: there are readers that only call `ReadBuf::advance`, because
/// behind a buffer of Tokio's that has always been enough.
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

    /// The bytes that nobody has taken.
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

    /// Whether there is no room at the end.
    pub(crate) fn is_full(&self) -> bool {
        self.end == self.memory.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Takes the first `n` bytes, or all if there are fewer.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        if n < self.len() { self.start += n } else { self.clear() }
    }

    /// Takes the first `n` bytes, if there are more than these.
    #[inline]
    pub(crate) fn take_front(&mut self, n: usize) -> Option<&[u8]> {
        if n >= self.len() {
            return None;
        }
        let taken = self.start..self.start + n;
        self.start = taken.end;
        Some(&self.memory[taken])
    }

    /// Takes all bytes.
    pub(crate) fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
    }

    /// Reads once into the room at the end, and returns how many bytes came.
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

/// How many bytes there are, of how many there could be.
impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.len(), self.capacity())
    }
}
