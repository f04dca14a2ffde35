use std::collections::BTreeMap;

use super::super::lists::Tests;
use super::super::outcome::{FileOutcome, Outcome, Outcomes};
use super::of;

fn tests(list: &[(&str, Option<&str>)]) -> Tests {
    let mut tests = Tests::default();
    for (file, test) in list {
        tests.add(file, *test);
    }
    tests
}

fn outcomes(file: &str, outcome: FileOutcome) -> Outcomes {
    Outcomes(BTreeMap::from([(file.to_owned(), outcome)]))
}

fn ran(tests: &[(&str, Outcome)]) -> FileOutcome {
    FileOutcome::Ran(tests.iter().map(|(test, how)| (test.to_string(), how.clone())).collect())
}

#[test]
fn the_verdict_passes_if_all_tests_pass() {
    let expected = tests(&[("net", Some("a")), ("net", Some("b"))]);
    let there = ran(&[("a", Outcome::Passed), ("b", Outcome::Passed)]);
    let verdict = of(&expected, &outcomes("net", there), &[]);
    assert_eq!((verdict.passed, verdict.of), (2, 2));
    assert!(verdict.lines.is_empty());
    assert_eq!(verdict.result("x"), Ok(()));
}

#[test]
fn a_failing_test_is_reported_with_its_output() {
    let expected = tests(&[("net", Some("a")), ("net", Some("b"))]);
    let there = ran(&[("a", Outcome::Passed), ("b", Outcome::Failed("why".to_owned()))]);
    let verdict = of(&expected, &outcomes("net", there), &[]);
    assert_eq!((verdict.passed, verdict.of, verdict.lines.len()), (1, 2, 1));
    let error = verdict.result("x").unwrap_err();
    assert!(error.contains("net b failed") && error.contains("why"), "{error}");
}

#[test]
fn a_file_that_does_not_compile_fails_even_without_tests() {
    let expected = tests(&[("net", Some("a")), ("only_types", None)]);
    let broken = || FileOutcome::DoesNotCompile("no such type".to_owned());
    let mut there = outcomes("net", broken());
    there.0.insert("only_types".to_owned(), broken());
    let verdict = of(&expected, &there, &[]);
    assert_eq!((verdict.passed, verdict.of), (0, 1));
    assert!(verdict.lines.iter().all(|line| line.contains("no such type")));
    assert!(verdict.lines[0].contains("0 of 1"));
    let error = verdict.result("x").unwrap_err();
    assert!(error.contains("net does not compile"), "{error}");
    assert!(error.contains("only_types does not compile"), "{error}");
}

#[test]
fn a_missing_test_fails() {
    let expected = tests(&[("net", Some("a"))]);
    let verdict = of(&expected, &outcomes("net", ran(&[("b", Outcome::Passed)])), &[]);
    assert_eq!(verdict.passed, 0);
    assert!(verdict.lines[0].contains("a is missing"));
    assert!(verdict.result("x").is_err());
}
