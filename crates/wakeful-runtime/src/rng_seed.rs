//! The seed of a runtime's random numbers.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A seed for the random numbers of a runtime, set by [`Builder::rng_seed`].
///
/// [`Builder::rng_seed`]: crate::runtime::Builder::rng_seed
///
/// ```
/// use wakeful::runtime::{Builder, RngSeed};
///
/// /// Returns which of four ready branches `select!` has taken, three times.
/// fn choices(seed: RngSeed) -> Vec<u32> {
///     async fn choose() -> u32 {
///         wakeful::select! {
///             _ = async {} => 0,
///             _ = async {} => 1,
///             _ = async {} => 2,
///             _ = async {} => 3,
///         }
///     }
///     let runtime = Builder::new_current_thread().rng_seed(seed).build().unwrap();
///     runtime.block_on(async { vec![choose().await, choose().await, choose().await] })
/// }
///
/// let seed = RngSeed::from_bytes(b"the failed run of Monday");
/// assert_eq!(choices(seed.clone()), choices(seed));
/// ```
#[derive(Clone)]
pub struct RngSeed(u64);

impl RngSeed {
    /// Creates the seed that belongs to `bytes`, which is the same for the same bytes.
    pub fn from_bytes(bytes: &[u8]) -> RngSeed {
        // FNV-1a: unlike the hashes of std, it never changes.
        let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        RngSeed(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold))
    }
}

impl fmt::Debug for RngSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RngSeed({:#018x})", self.0)
    }
}

/// A stream of seeds, one for each thread that enters a runtime.
#[derive(Debug)]
pub(crate) struct Seeds(AtomicU64);

impl Seeds {
    pub(crate) fn new(seed: &RngSeed) -> Seeds {
        Seeds(AtomicU64::new(seed.0))
    }

    /// Returns the next seed, by SplitMix64.
    pub(crate) fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Relaxed).wrapping_add(STEP);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_give_equal_seeds_and_others_do_not() {
        let of = |bytes: &[u8]| {
            let seeds = Seeds::new(&RngSeed::from_bytes(bytes));
            [seeds.next(), seeds.next(), seeds.next()]
        };
        assert_eq!(of(b"seed"), of(b"seed"));
        let all: std::collections::HashSet<u64> =
            [of(b""), of(b"seed"), of(b"seee"), of(&[0])].into_iter().flatten().collect();
        assert_eq!(all.len(), 12);
    }
}
