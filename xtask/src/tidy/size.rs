//! Notes long files and functions. Some algorithms are long, so reviewers decide.

use std::path::Path;

use super::Report;
use crate::rust::source::Source;

#[cfg(test)]
mod tests;

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;

pub fn check(source: &Source<'_>, report: &mut Report) {
    if is_test_file(source.path) {
        return;
    }
    let test_ranges = source.only_with("test");
    let test_lines: usize = test_ranges.iter().map(|range| source.code_lines(range.clone())).sum();
    let lines = source.code_lines(0..source.tokens.len()).saturating_sub(test_lines);
    if lines > FILE_LINES_MAX {
        let message = format!("file of {lines} code lines (aim: at most {FILE_LINES_MAX})");
        report.note(source.path, 1, message);
    }
    for at in 0..source.tokens.len() {
        let in_test = test_ranges.iter().any(|range| range.contains(&at));
        // A `fn` without a name is a type.
        if source.text(at) != "fn" || !source.is_ident(at + 1) || in_test {
            continue;
        }
        let Some(body) = body_of(source, at) else {
            continue;
        };
        let lines = source.code_lines(at..source.partner(body) + 1);
        if lines > FUNCTION_LINES_MAX {
            let name = source.text(at + 1);
            let message = format!(
                "function `{name}` of {lines} code lines (aim: at most {FUNCTION_LINES_MAX})"
            );
            report.note(source.path, source.tokens[at].line, message);
        }
    }
}

/// Returns the index of the opening brace, or `None` for a declaration that ends in `;`.
fn body_of(source: &Source<'_>, function: usize) -> Option<usize> {
    let mut at = function;
    loop {
        match source.text(at) {
            "{" => return Some(at),
            ";" | "" => return None,
            "(" | "[" => at = source.partner(at) + 1,
            _ => at += 1,
        }
    }
}

fn is_test_file(path: &Path) -> bool {
    let is_test_name = |name: &str| matches!(name, "tests" | "tests.rs" | "benches");
    path.iter().any(|part| part.to_str().is_some_and(is_test_name))
}
