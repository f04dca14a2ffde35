use super::{count, duration, plural};

#[test]
fn durations_have_two_or_three_digits() {
    let expected = [
        (0, "0µs"),
        (999, "999µs"),
        (1_000, "1.0ms"),
        (9_949, "9.9ms"),
        (9_950, "10ms"),
        (999_499, "999ms"),
        (999_500, "1.0s"),
        (9_950_000, "10s"),
        (119_400_000, "119s"),
        (200_000_000, "3min20s"),
        (7_200_000_000, "2h00min"),
        (200_000_000_000, "2d07h"),
    ];
    for (us, text) in expected {
        assert_eq!(duration(us), text, "{us}");
    }
}

#[test]
fn great_counts_are_short() {
    assert_eq!([812, 999_999, 1_040_000].map(count), ["812", "999999", "1.04M"]);
    assert_eq!(count(2_500_000_000), "2.50G");
    assert_eq!(plural(1, "task"), "1 task");
    assert_eq!(plural(0, "task"), "0 tasks");
}
