//! What a task waits for, packed into one word.

use std::fmt;

/// The kind of thing that a leaf future waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitKind {
    /// Its next poll: the task yielded.
    Yield = 1,
    /// The end of another task. The detail is that task's id, or zero for any task of a set.
    Task = 2,
    /// A point in time.
    Time = 3,
    /// Readiness of a socket or another descriptor.
    Io = 4,
    /// A lock, channel or notification.
    Sync = 5,
}

/// A [`WaitKind`] and a detail: an id, a descriptor or an address, truncated to fit.
///
/// The lowest bit is always set, which distinguishes the word from the queue link that is stored in
/// the same field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WaitsFor(usize);

const KIND_SHIFT: u32 = 1;
const DETAIL_SHIFT: u32 = 8;

impl WaitsFor {
    /// Packs a kind and a detail.
    pub fn new(kind: WaitKind, detail: u64) -> Self {
        WaitsFor((detail as usize) << DETAIL_SHIFT | (kind as usize) << KIND_SHIFT | 1)
    }

    pub(crate) fn word(self) -> usize {
        self.0
    }

    pub(crate) fn from_word(word: usize) -> Option<Self> {
        (word & 1 == 1).then_some(WaitsFor(word))
    }

    /// Returns the kind of thing waited for.
    pub fn kind(self) -> WaitKind {
        match (self.0 & 0xff) >> KIND_SHIFT {
            1 => WaitKind::Yield,
            2 => WaitKind::Task,
            3 => WaitKind::Time,
            4 => WaitKind::Io,
            _ => WaitKind::Sync,
        }
    }

    /// Returns the detail.
    pub fn detail(self) -> u64 {
        (self.0 >> DETAIL_SHIFT) as u64
    }
}

impl fmt::Debug for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitsFor")
            .field("kind", &self.kind())
            .field("detail", &self.detail())
            .finish()
    }
}
