//! Pseudo-random numbers that the same seed repeats.

/// A pseudo-random number generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Creates a generator. The same seed gives the same numbers.
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// Returns a number out of all `u64` values.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `limit - 1`.
    ///
    /// # Panics
    /// Panics if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        assert!(limit > 0, "`Rng::below`: the limit must be above 0");
        // The bias of the remainder is negligible: the limits are far below 2^64.
        (self.next_u64() % limit as u64) as usize
    }

    /// Returns `true` with a probability of `per_mille` in 1000.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille as usize
    }

    /// Returns a new generator for a part of the work. However many numbers the part draws, the
    /// sequence of this generator stays the same.
    pub fn fork(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }
}
