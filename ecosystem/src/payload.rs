//! Test data that shows if a piece is lost, repeated or out of place.

use bytes::Bytes;

/// Returns `length` bytes in which places a few kilobytes apart differ.
pub fn payload(length: usize) -> Bytes {
    (0..length as u64)
        .map(|place| (place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect()
}

/// Asserts that both are equal. Reports the first difference, instead of megabytes of output.
#[track_caller]
pub fn same_bytes(came: &[u8], sent: &[u8]) {
    let differs = came.iter().zip(sent).position(|(a, b)| a != b);
    assert!(
        differs.is_none() && came.len() == sent.len(),
        "received {} bytes, sent {}; the first difference is at {differs:?}",
        came.len(),
        sent.len(),
    );
}
