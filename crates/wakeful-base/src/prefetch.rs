//! Memory that will be wanted in a moment, asked for ahead.

/// Bytes of a cache line, on the machines that matter here.
const LINE: usize = 64;

/// Has the processor fetch the first `lines` cache lines at `start`, and does not wait for them.
///
/// What is there need not be memory at all: nothing is read, and nothing fails.
#[inline]
pub fn prefetch(start: *const (), lines: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = start.cast::<i8>().wrapping_add(line * LINE);
        // SAFETY: a hint, which does nothing where there is no memory; all processors of this kind know it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, lines, LINE);
}
