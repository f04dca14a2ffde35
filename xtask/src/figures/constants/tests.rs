use std::path::PathBuf;

use super::*;

fn read(list: &str) -> (Constants, Vec<String>) {
    let files = [(LIST, list), ("a.rs", "const LONG: u64 = 2;")];
    Constants::read(&files.map(|(path, text)| (PathBuf::from(path), text.to_owned())).into())
}

fn contain(constants: &Constants, number: &str, page: &str) -> bool {
    let (number, unit) = number.split_once(' ').unwrap();
    constants.contain(number, unit, Path::new(page))
}

#[test]
fn a_constant_counts_if_its_code_is_there() {
    let (constants, stale) = read("# comment\n\n2 ms | a.rs | LONG: u64 = 2\n");
    assert!(stale.is_empty());
    assert!(contain(&constants, "2 ms", "page.md") && !contain(&constants, "3 ms", "page.md"));
}

#[test]
fn changed_code_makes_a_constant_stale() {
    let (constants, stale) = read("2 ms | a.rs | LONG: u64 = 3\n4 ms | b.rs | x\n5 ms\n");
    assert_eq!(stale.len(), 3);
    assert!(!contain(&constants, "2 ms", "page.md"));
}

#[test]
fn a_number_may_belong_to_one_page() {
    let (constants, stale) = read("9 s | in a | an example\n8 s | in b | an example\n");
    assert_eq!(stale.len(), 1);
    assert!(contain(&constants, "9 s", "a.zh-CN.md") && !contain(&constants, "9 s", "page.md"));
}
