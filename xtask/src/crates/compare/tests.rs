use std::collections::BTreeMap;

use super::first_runs;
use crate::conformance::outcome::{FileOutcome, Outcome, Outcomes};

fn ran(tests: &[(&str, Outcome)]) -> FileOutcome {
    FileOutcome::Ran(
        tests.iter().map(|(name, outcome)| ((*name).to_owned(), outcome.clone())).collect(),
    )
}

fn outcomes(targets: Vec<(&str, FileOutcome)>) -> Outcomes {
    Outcomes(
        targets.into_iter().map(|(name, ran)| (name.to_owned(), ran)).collect::<BTreeMap<_, _>>(),
    )
}

#[test]
fn tests_are_compared_one_by_one() {
    let failed = || Outcome::Failed(String::new());
    let tokio = outcomes(vec![
        (
            "lib",
            ran(&[
                ("a", Outcome::Passed),
                ("b", Outcome::Passed),
                ("c", failed()),
                ("d", failed()),
                ("e", Outcome::Ignored),
            ]),
        ),
        ("tests/broken", FileOutcome::DoesNotCompile(String::new())),
        ("tests/gone", ran(&[("f", Outcome::Passed)])),
    ]);
    let wakeful = outcomes(vec![
        (
            "lib",
            ran(&[
                ("a", Outcome::Passed),
                ("b", failed()),
                ("c", failed()),
                ("d", Outcome::Passed),
                ("e", Outcome::Ignored),
            ]),
        ),
        ("tests/gone", FileOutcome::DoesNotCompile(String::new())),
    ]);
    let (counts, differing) = first_runs(&tokio, &wakeful);
    assert_eq!((counts.both, counts.neither), (1, 1));
    assert_eq!(counts.uncompiled, ["tests/broken"]);
    let differing: Vec<String> =
        differing.into_iter().map(|(target, test)| format!("{target} {test}")).collect();
    assert_eq!(differing, ["lib b", "lib d", "tests/gone f"]);
}
