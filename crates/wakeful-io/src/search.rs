//! Finding a byte in a slice.

/// Returns the index of the first `byte` in `bytes`.
///
/// C's `memchr` is vectorized, while the search in std's `BufRead::read_until` compares two words
/// at a time. Calling it needs no extra crate, since std links the C library.
#[cfg(unix)]
#[inline]
pub(crate) fn position(byte: u8, bytes: &[u8]) -> Option<usize> {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn memchr(bytes: *const c_void, byte: c_int, len: usize) -> *const c_void;
    }

    let start = bytes.as_ptr();
    // SAFETY: `memchr` requires that `len` bytes starting at the pointer are readable. Both come
    // from the slice `bytes`.
    let found = unsafe { memchr(start.cast(), byte.into(), bytes.len()) };
    (!found.is_null()).then(|| found.addr() - start.addr())
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn position(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == byte)
}
