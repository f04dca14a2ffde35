//! Pseudo-random numbers. The same seed gives the same numbers on every machine.

/// A generator (SplitMix64).
pub struct Random(u64);

impl Random {
    /// Creates the generator for `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    /// Returns an operand. Most are small, because most scripts have only a few items to pick from.
    pub fn operand(&mut self) -> u8 {
        let end = match self.below(32) {
            0 => 256,
            1..=7 => 16,
            _ => 4,
        };
        self.below(end) as u8
    }
}
