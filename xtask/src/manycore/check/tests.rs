use super::super::figures::tests::row;
use super::*;

#[test]
fn level_figures_pass() {
    let rows = [row("spawn", 8, &[1.0], &[1.0]), row("yield", 8, &[1.0], &[1.0 / LEVEL - 0.001])];
    assert_eq!(shortfalls(&rows), []);
}

#[test]
fn each_figure_that_falls_behind_is_named() {
    let found = shortfalls(&[row("spawn", 8, &[1.0], &[2.0])]);
    let texts: Vec<String> = found.iter().map(Shortfall::to_string).collect();
    assert_eq!(texts.len(), 3);
    assert_eq!(texts[0], "spawn with 8 workers: wall time 0.50x, at least 0.90x expected");
    assert!(texts[1].contains("CPU time") && texts[2].contains("p99"));
}

#[test]
fn a_run_that_fails_is_a_shortfall() {
    let mut row = row("spawn", 8, &[1.0], &[1.0]);
    row.wakeful = Err("all threads wait forever".to_owned());
    let found = shortfalls(&[row]);
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().contains("Wakeful failed: all threads wait forever"));
}
