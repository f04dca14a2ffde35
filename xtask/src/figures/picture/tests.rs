use super::*;
use crate::repo;

#[test]
fn the_scale_is_logarithmic_and_bounded() {
    assert_eq!(x_of(1.0), LEFT);
    assert_eq!(x_of(1e9), RIGHT);
    assert!((x_of(1e3) - x_of(1e2) - (x_of(1e7) - x_of(1e6))).abs() < 1e-9);
}

#[test]
fn times_have_a_unit_that_suits_them() {
    assert_eq!(
        [26.6, 999.6, 2132.0, 197_553.0, 1_465_443.0].map(time),
        ["27 µs", "1.0 ms", "2.1 ms", "198 ms", "1.5 s"]
    );
}

#[test]
fn each_case_has_a_range_for_both_runtimes() {
    let sources = Sources::read(&repo::load(&repo::root()).unwrap()).unwrap();
    for language in [English, Chinese] {
        let picture = draw(&sources, language).unwrap();
        // Two of each case, and two of the legend.
        assert_eq!(picture.matches("class=\"range").count(), 2 * CASES.len() + 2);
    }
}
