use super::*;

/// Creates a row in which every figure of a seed has the same value.
pub fn row(case: &str, workers: u32, tokio: &[f64], wakeful: &[f64]) -> Row {
    let figures = |values: &[f64]| Ok(values.iter().map(|&value| [value; 9]).collect());
    let (case, third) = (case.to_owned(), "p99".to_owned());
    Row { case, third, workers, tokio: figures(tokio), wakeful: figures(wakeful) }
}

#[test]
fn the_rounds_of_a_run_give_their_median() {
    let lines = "1 20 0 0 0 0 0 0 0\n3 10 0 0 0 0 0 0 0\n2 30 0 0 0 0 0 0 5.5\n";
    let figures = median_of_rounds(lines).unwrap();
    assert_eq!((figures[0], figures[1], figures[8]), (2.0, 20.0, 0.0));
    median_of_rounds("").unwrap_err();
    median_of_rounds("1 2 3\n").unwrap_err();
}

#[test]
fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
    assert_eq!(median(vec![4.0, 1.0, 2.0, 100.0]), 3.0);
}

#[test]
fn a_ratio_is_of_medians_and_its_bounds_are_of_seeds() {
    let row = row("spawn", 8, &[10.0, 20.0, 30.0], &[10.0, 5.0, 10.0]);
    let ratio = row.ratio(Figure::Wall).unwrap();
    assert_eq!(ratio, Ratio { median: 2.0, least: 1.0, most: 4.0 });
}

#[test]
fn a_case_without_a_third_figure_has_no_ratio_of_it() {
    let mut row = row("spawn", 8, &[1.0], &[1.0]);
    assert!(row.ratio(Figure::Third).is_some());
    row.third.clear();
    assert_eq!(row.ratio(Figure::Third), None);
    row.wakeful = Err("it hangs".to_owned());
    assert_eq!(row.ratio(Figure::Wall), None);
}
