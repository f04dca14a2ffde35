//! Prefetches memory that will be accessed in a moment.

/// The size of a cache line on the x86-64 CPUs that this module prefetches on.
const LINE: usize = 64;

/// Makes the CPU fetch `lines` cache lines at `start`, without waiting for them.
///
/// The address need not be valid: nothing is read, and nothing faults.
#[inline]
pub fn prefetch(start: *const (), lines: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = start.cast::<i8>().wrapping_add(line * LINE);
        // SAFETY: a prefetch is a hint that does not fault, whatever the address. Every x86-64 CPU
        // has the instruction (SSE).
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, lines, LINE);
}
