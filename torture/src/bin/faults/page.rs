//! Tests that the guide's page on faults agrees with the table of cases.

use crate::cases::{self, When};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// In the order of the languages in `Expected::words`.
const PAGES: [&str; 2] = ["09-faults.md", "09-faults.zh-CN.md"];

/// The content of a table cell for which there is no case.
const NO_CASE: &str = "–";

/// For each row, the words for faults from the start, and for later ones.
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

/// Each row begins with the name of the call or fault in code, as in `| `timerfd` … | **works** |
/// **works** | … |`.
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
fn guide_agrees_with_the_table_of_cases() {
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
