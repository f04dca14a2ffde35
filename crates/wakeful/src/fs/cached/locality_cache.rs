//! What was found out about things, as far as there is room.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Yes or no for each of many keys. A key may be forgotten for another.
///
/// Each word stands for itself, so no order between them is needed.
pub(super) struct LocalityCache<const N: usize>([AtomicU64; N]);

impl<const N: usize> LocalityCache<N> {
    pub(super) const fn new() -> LocalityCache<N> {
        LocalityCache([const { AtomicU64::new(0) }; N])
    }

    pub(super) fn get(&self, key: Key) -> Option<bool> {
        let word = self.entry(key).load(Relaxed);
        (word & !1 == key.0).then_some(word & 1 == 1)
    }

    pub(super) fn set(&self, key: Key, is_local: bool) {
        self.entry(key).store(key.0 | u64::from(is_local), Relaxed);
    }

    fn entry(&self, key: Key) -> &AtomicU64 {
        &self.0[(key.0 >> 2) as usize % N]
    }
}

/// A hash of what is asked about. Never zero, and even.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key(u64);

impl Key {
    pub(super) fn of(bytes: &[u8]) -> Key {
        // FNV-1a: short, and the worst that can be done with a collision is to wait a little.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Key((hash | 2) & !1)
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
