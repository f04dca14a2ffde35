//! Durations at the edges: of rounding, of the levels of a timer wheel, of overflows.

use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const NS: Duration = Duration::from_nanos(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The short ones come first, because operands are mostly small.
const LENGTHS: [Duration; 36] = [
    Duration::ZERO,
    MS,
    Duration::from_millis(2),
    Duration::from_micros(1500),
    NS,
    Duration::from_nanos(999_999),
    Duration::from_nanos(1_000_001),
    Duration::from_millis(3),
    Duration::from_millis(4),
    Duration::from_millis(5),
    Duration::from_nanos(5_000_001),
    Duration::from_millis(6),
    Duration::from_millis(7),
    Duration::from_millis(10),
    Duration::from_millis(16),
    Duration::from_millis(62),
    Duration::from_millis(63),
    Duration::from_millis(64),
    Duration::from_millis(65),
    Duration::from_millis(100),
    Duration::from_millis(127),
    Duration::from_millis(128),
    Duration::from_millis(1000),
    Duration::from_millis(4095),
    Duration::from_millis(4096),
    Duration::from_millis(4097),
    Duration::from_millis(10_000),
    Duration::from_millis(262_143),
    Duration::from_millis(262_144),
    Duration::from_millis(1 << 24),
    DAY,
    Duration::from_millis(1 << 30),
    Duration::from_millis((1 << 36) - 1),
    Duration::from_millis(1 << 36),
    Duration::from_secs(100 * 365 * 24 * 60 * 60),
    Duration::MAX,
];

/// How many of them are no longer than a day. If the clock advanced by more at a time, it would
/// soon overflow.
const SHORT: usize = 30;

/// Returns the duration that an operand picks.
pub fn length(which: u8) -> Duration {
    LENGTHS[usize::from(which) % LENGTHS.len()]
}

/// Returns a duration by which a clock may advance.
pub fn short_length(which: u8) -> Duration {
    LENGTHS[usize::from(which) % SHORT]
}
