use std::fs;

use super::{PAGES, tables, with_tables};
use crate::crates::results::Results;
use crate::repo;

#[test]
fn the_pages_show_the_committed_results() {
    let results = Results::load(&repo::root()).unwrap();
    assert!(!results.0.is_empty());
    for words in &PAGES {
        let page = fs::read_to_string(repo::root().join(words.path)).unwrap();
        let expected = with_tables(&page, &tables(words, &results)).unwrap();
        assert!(page == expected, "{}: run `cargo xtask crates --record`", words.path);
    }
}

#[test]
fn a_page_without_a_place_for_the_tables_is_refused() {
    assert_eq!(with_tables("# Crates\n", "tables"), None);
}
