//! A small lossy cache of yes/no answers: whether devices and paths are local.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A direct-mapped cache from keys to booleans. A key may displace another.
///
/// Each word holds the key's hash with the answer in its lowest bit. A word is complete by itself,
/// so `Relaxed` accesses suffice.
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

/// The hash of a device number or path. It is never zero, which marks an empty entry, and even, so
/// that the lowest bit can hold the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key(u64);

impl Key {
    pub(super) fn of(bytes: &[u8]) -> Key {
        // FNV-1a is short, and it need not resist attacks: a collision can only make an inline
        // operation block for a while.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Key((hash | 2) & !1)
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
