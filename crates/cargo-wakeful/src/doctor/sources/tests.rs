use std::{env, fs, process};

use super::{Package, check, names};
use crate::doctor::Level;

type Found = (Level, &'static str, String);

fn findings(test: &str, main: &str, is_member: bool) -> Vec<Found> {
    search(test, main, is_member, false)
}

fn search(test: &str, main: &str, is_member: bool, is_unstable: bool) -> Vec<Found> {
    let dir = env::temp_dir().join(format!("cargo-wakeful-sources-{test}-{}", process::id()));
    fs::create_dir_all(dir.join("src/deep")).unwrap();
    fs::write(dir.join("src/deep/main.rs"), main).unwrap();
    let package = Package { name: "server".to_owned(), dir: dir.clone(), is_member };
    let found = check(&[package], is_unstable);
    fs::remove_dir_all(&dir).unwrap();
    found.into_iter().map(|finding| (finding.level, finding.check, finding.message)).collect()
}

#[test]
fn unstable_items_that_are_missing_are_named_with_their_place() {
    let main = "// task::trace:: in a comment\nuse tokio::runtime::dump::Trace;\n\
                let root = tokio::task::trace::Root::new(x);\n";
    let found = findings("unstable", main, true);
    let checks: Vec<&str> = found.iter().map(|(_, check, _)| *check).collect();
    assert_eq!(checks, ["task-dump"]);
    assert!(found[0].2.contains("src/deep/main.rs:2 and 1 more"), "{}", found[0].2);
    assert_eq!(found[0].0, Level::Problem);
    assert_eq!(findings("dependency", main, false), [], "behind a cfg that is not set");
    let found = search("set", main, false, true);
    assert_eq!(found.len(), 1);
    assert!(found.iter().all(|(level, ..)| *level == Level::Note), "a feature may exclude it");
}

#[test]
fn private_items_count_in_dependencies_too() {
    let main = "use tokio::macros::support::Pin;\n";
    for is_member in [true, false] {
        let found = findings("private", main, is_member);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0, found[0].1), (Level::Problem, "private"));
    }
}

#[test]
fn what_works_is_not_reported() {
    let main = "tokio::spawn(async {}); tokio::task::Builder::new().name(\"a\"); let my_rng = MyRngSeed;\n";
    assert_eq!(findings("works", main, true), []);
    let thread = "if name.starts_with(\"tokio-runtime-worker\") {}\n";
    assert_eq!(findings("thread", thread, true)[0].0, Level::Note);
}

#[test]
fn a_word_is_found_at_the_start_of_a_name_or_after_an_underscore() {
    assert!(names("b.metrics_poll_time_histogram_x()", "poll_time_histogram"));
    assert!(names("RngSeed::from", "RngSeed"));
    assert!(!names("MyRngSeed::from", "RngSeed"));
}
