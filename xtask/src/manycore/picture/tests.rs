use super::super::figures::tests::row;
use super::*;

#[test]
fn the_scale_is_logarithmic_and_bounded() {
    let level = y_of(1.0);
    assert!((y_of(0.5) - level - (level - y_of(2.0))).abs() < 1e-9);
    assert_eq!(y_of(1000.0), ABOVE);
    assert_eq!(y_of(0.001), PANEL_HEIGHT - BELOW);
}

#[test]
fn each_case_has_a_panel_with_three_curves() {
    let rows = [
        row("spawn", 2, &[2.0], &[1.0]),
        row("spawn", 8, &[1.0], &[1.0]),
        row("yield", 2, &[2.0], &[1.0]),
    ];
    let picture = draw(&rows);
    assert_eq!(picture.matches("<g ").count(), 2);
    // Three of each panel, and three of the legend.
    assert_eq!(picture.matches("<polyline").count(), 9);
    assert!(picture.contains(">spawn</text>") && picture.contains(">yield</text>"));
}
