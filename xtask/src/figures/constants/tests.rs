use std::path::PathBuf;

use super::*;

fn read(list: &str) -> (Constants, Vec<String>) {
    let files = [(LIST, list), ("a.rs", "const LONG: u64 = 2;")];
    Constants::read(&files.map(|(path, text)| (PathBuf::from(path), text.to_owned())).into())
}

#[test]
fn a_constant_counts_if_its_code_is_there() {
    let (constants, stale) = read("# comment\n\n2 ms | a.rs | LONG: u64 = 2\n");
    assert!(stale.is_empty());
    assert!(constants.contain("2", "ms") && !constants.contain("3", "ms"));
}

#[test]
fn changed_code_makes_a_constant_stale() {
    let (constants, stale) = read("2 ms | a.rs | LONG: u64 = 3\n4 ms | b.rs | x\n5 ms\n");
    assert_eq!(stale.len(), 3);
    assert!(!constants.contain("2", "ms"));
}
