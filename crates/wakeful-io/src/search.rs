//! Where in some bytes one of them is.

/// The place of the first `byte` in `bytes`.
///
/// C's `memchr` looks at as many bytes at a time as the processor can; what `BufRead::read_until`
/// of std searches with looks at two words. To call it takes no crate: std links the C library.
#[cfg(unix)]
#[inline]
pub(crate) fn position(byte: u8, bytes: &[u8]) -> Option<usize> {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn memchr(bytes: *const c_void, byte: c_int, len: usize) -> *const c_void;
    }

    let start = bytes.as_ptr();
    // SAFETY: so many bytes can be read there.
    let found = unsafe { memchr(start.cast(), byte.into(), bytes.len()) };
    (!found.is_null()).then(|| found.addr() - start.addr())
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn position(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == byte)
}
