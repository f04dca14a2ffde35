//! Random numbers that a seed repeats.

/// A generator of pseudo-random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator that always yields the same numbers for the same seed.
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// Returns any number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `limit - 1`.
    ///
    /// # Panics
    /// If `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        assert!(limit > 0, "no number is below 0");
        // Of 64 bits, so the bias is far below what a test could notice.
        (self.next_u64() % limit as u64) as usize
    }

    /// Returns `true` in `per_mille` of 1000 cases.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille as usize
    }

    /// Returns a generator for a part of the work, which draws from it without changing this one's
    /// sequence.
    pub fn fork(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }
}
