//! The guide's page on faults says what the table of cases does.

use crate::cases::{self, When};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// In the order in which `Expected::words` has the languages.
const PAGES: [&str; 2] = ["09-faults.md", "09-faults.zh-CN.md"];

/// What stands in the table where there is no case.
const NO_CASE: &str = "–";

/// The words of each row: for faults from the start, and for those that come later.
type Rows = BTreeMap<String, [BTreeSet<String>; 2]>;

fn rows_of_cases(language: usize) -> Rows {
    let mut rows = Rows::new();
    for group in cases::groups() {
        let row = rows.entry(group.row.to_owned()).or_default();
        for (when, _, expected) in group.expected {
            let word = expected.words()[language].to_owned();
            row[usize::from(when == When::Later)].insert(word);
        }
    }
    rows
}

/// Rows begin with what they are called in code, as in `| `timerfd` … | **works** | **works** | … |`.
fn rows_of_page(text: &str) -> Rows {
    let mut rows = Rows::new();
    for line in text.lines() {
        let Some(line) = line.strip_prefix("| `") else { continue };
        let (name, rest) = line.split_once('`').expect("a name ends");
        let cells: Vec<&str> = rest.split('|').map(str::trim).collect();
        let words = |cell: &str| {
            let words: BTreeSet<String> =
                cell.split("**").skip(1).step_by(2).map(str::to_owned).collect();
            assert!(!words.is_empty() || cell == NO_CASE, "{name}: no word in `{cell}`");
            words
        };
        let before = rows.insert(name.to_owned(), [words(cells[1]), words(cells[2])]);
        assert!(before.is_none(), "{name} has two rows");
    }
    rows
}

#[test]
fn the_guide_says_what_comes_of_each_fault() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for (language, page) in PAGES.iter().enumerate() {
        let text = fs::read_to_string(docs.join(page)).expect("the page is there");
        let (wanted, found) = (rows_of_cases(language), rows_of_page(&text));
        for (row, words) in &wanted {
            assert_eq!(found.get(row), Some(words), "docs/{page}: row `{row}`");
        }
        for row in found.keys() {
            assert!(wanted.contains_key(row), "docs/{page}: there is no case for row `{row}`");
        }
    }
}
