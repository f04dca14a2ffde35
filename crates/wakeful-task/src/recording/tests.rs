use super::*;

#[test]
fn buckets_have_powers_of_two_as_upper_bounds() {
    // Ticks of a nanosecond, unless another test has switched to the counter.
    let at = |us: u64| bucket(us * 1_000_000 / ticks::to_ns(1_000).max(1) * 1000 / 1000);
    assert_eq!(bucket(0), 0);
    assert_eq!(at(0), 0);
    assert_eq!(bucket(u64::MAX), BUCKETS - 1);
}
