//! A small and fast random number generator (xorshift64*). Not cryptographically secure.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

/// A stream of pseudo-random numbers.
#[derive(Debug)]
pub struct FastRng {
    state: Cell<u64>,
}

impl FastRng {
    /// Creates a stream that always yields the same numbers for the same `seed`.
    pub const fn from_seed(seed: u64) -> Self {
        FastRng { state: Cell::new(state_of(seed)) }
    }

    /// Creates a stream seeded from the operating system's randomness.
    pub fn from_entropy() -> Self {
        Self::from_seed(RandomState::new().hash_one(0u8))
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&self) -> u64 {
        let mut x = self.state.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.state.set(x);
        x.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number in `0..n`, or zero if `n` is zero.
    pub fn below(&self, n: u32) -> u32 {
        (((self.next_u64() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Switches to the stream of `seed`, and returns the old state.
    ///
    /// The old state, used as a seed, resumes the old stream.
    pub fn reseed(&self, seed: u64) -> u64 {
        self.state.replace(state_of(seed))
    }
}

const fn state_of(seed: u64) -> u64 {
    // Zero is the one state that xorshift never leaves.
    if seed == 0 { 0x9E37_79B9_7F4A_7C15 } else { seed }
}

crate::per_thread! {
    static THREAD_RNG: Cell<Option<FastRng>> = const { Cell::new(None) };
}

/// Calls `f` with this thread's generator, which is seeded from the operating system at first use.
pub fn with_thread_rng<R>(f: impl FnOnce(&FastRng) -> R) -> R {
    THREAD_RNG.with(|slot| {
        let rng = slot.take().unwrap_or_else(FastRng::from_entropy);
        let out = f(&rng);
        slot.set(Some(rng));
        out
    })
}

/// Gives this thread's generator another stream until dropped.
#[derive(Debug)]
#[must_use]
pub struct SeededThread {
    before: Option<FastRng>,
}

/// Lets this thread's generator yield the numbers of `seed`, until the guard is dropped.
pub fn seed_thread(seed: u64) -> SeededThread {
    let seeded = Some(FastRng::from_seed(seed));
    SeededThread { before: THREAD_RNG.with(|slot| slot.replace(seeded)) }
}

impl Drop for SeededThread {
    fn drop(&mut self) {
        THREAD_RNG.with(|slot| slot.set(self.before.take()));
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_numbers() {
        let (a, b) = (FastRng::from_seed(7), FastRng::from_seed(7));
        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
    }

    #[test]
    fn a_reseeded_stream_is_that_of_its_seed_and_the_old_one_can_be_resumed() {
        for seed in [0, 1, 7] {
            let (fresh, used) = (FastRng::from_seed(seed), FastRng::from_seed(3));
            let resumed = FastRng::from_seed(used.reseed(seed));
            assert_eq!(used.next_u64(), fresh.next_u64());
            assert_eq!(resumed.next_u64(), FastRng::from_seed(3).next_u64());
        }
    }

    #[test]
    fn below_reaches_every_value_and_no_other() {
        let rng = FastRng::from_seed(0);
        let mut seen = [0u32; 5];
        for _ in 0..10_000 {
            seen[rng.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (1_500..2_500).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn a_seeded_thread_resumes_its_own_stream() {
        let numbers = || with_thread_rng(|rng| (rng.next_u64(), rng.next_u64()));
        let outer = seed_thread(1);
        let first = numbers();
        let inner = seed_thread(2);
        assert_ne!(numbers(), first);
        drop(inner);
        let second = numbers();
        drop(outer);
        let again = seed_thread(1);
        assert_eq!((numbers(), numbers()), (first, second));
        drop(again);
    }
}
