//! Bytes to send that show when a piece is lost, repeated or out of place.

use bytes::Bytes;

/// `length` bytes in which no two places a few kilobytes apart look alike.
pub fn payload(length: usize) -> Bytes {
    (0..length as u64)
        .map(|place| (place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect()
}

/// Fails with the first place that differs, not with megabytes of output.
#[track_caller]
pub fn same_bytes(came: &[u8], sent: &[u8]) {
    let differs = came.iter().zip(sent).position(|(a, b)| a != b);
    assert!(
        differs.is_none() && came.len() == sent.len(),
        "{} bytes came, {} were sent; the first that differs is {differs:?}",
        came.len(),
        sent.len(),
    );
}
