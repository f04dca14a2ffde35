use super::super::sources::tests::sources;
use super::*;

fn answer_to(comment: &str) -> String {
    answer(comment, &sources()).unwrap()
}

#[test]
fn a_number_has_two_or_three_digits() {
    assert_eq!(answer_to(" sched/spawn wall wakeful-mt "), "42");
    assert_eq!(answer_to("sched/spawn wall wakeful-mt ratio"), "9.7");
    assert_eq!(answer_to("sched/spawn server-CPU wakeful-mt ratio"), "0.72");
    assert_eq!(answer_to("tests tokio"), "1,403");
}

#[test]
fn unit_and_decimals_can_be_chosen() {
    assert_eq!(answer_to("manycore/idle 2 wall tokio /1000 .1"), "200.6");
    assert_eq!(answer_to("manycore/idle 2 wall tokio /1000000 .2"), "0.20");
    assert_eq!(answer_to("sched/spawn wall wakeful-mt .1"), "42.3");
}

#[test]
fn an_uncertain_figure_is_marked() {
    assert_eq!(answer_to("sched/spawn server-CPU wakeful-mt"), "~1,061");
}

#[test]
fn numbers_have_separators_every_three_digits() {
    assert_eq!(number(999.0, None), "999");
    assert_eq!(number(1_234_567.0, None), "1,234,567");
    assert_eq!(number(12345.67, Some(1)), "12,345.7");
    assert_eq!(number(9.96, None), "10");
}

#[test]
fn a_claim_holds_for_all_cases_of_its_groups() {
    let sources = sources();
    assert_eq!(verify(" sched : wall wakeful-mt above 9 ", &sources), Ok(()));
    assert!(verify("sched : wall wakeful-mt above 10", &sources).unwrap_err().contains("9.73"));
    assert!(verify("sched sync : wall wakeful-mt above 1", &sources).unwrap_err().contains("sync"));
    assert!(verify("sched wall above", &sources).is_err());
    assert_eq!(verify("sched/spawn : server-CPU wakeful-mt below 1", &sources), Ok(()));
    assert!(verify("sched/spawn : wall wakeful-mt below 1", &sources).is_err());
    assert!(verify("sched/spa : wall wakeful-mt above 1", &sources).is_err());
}
