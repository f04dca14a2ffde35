//! Every `unsafe` block explains why it is sound, and every public `unsafe` item documents its
//! requirements.
//!
//! Clippy checks both rules too, but only for code that the current build compiles. This check
//! covers macros, all platforms and every `cfg`.

use super::Report;
use crate::rust::source::Source;

#[cfg(test)]
mod tests;

pub fn check(source: &Source<'_>, report: &mut Report) {
    for at in 0..source.tokens.len() {
        if source.text(at) != "unsafe" {
            continue;
        }
        let line = source.tokens[at].line;
        match source.text(at + 1) {
            what @ ("{" | "impl") if !is_explained(source, at) => {
                let message = format!("`unsafe {what}` without a `// SAFETY:` comment above it");
                report.problem(source.path, line, message);
            }
            what @ ("fn" | "extern" | "trait") => {
                let start = item_start(source, at);
                let is_public = source.text(start) == "pub" && source.text(start + 1) != "(";
                let is_fn_type = what != "trait" && !has_name(source, at);
                let is_offered = is_public || (what != "trait" && is_in_public_trait(source, at));
                if is_offered && !is_fn_type && !documents_safety(source, start, at) {
                    let message = "public `unsafe` item without a `# Safety` section in its docs";
                    report.problem(source.path, line, message);
                }
            }
            _ => {}
        }
    }
}

/// Returns whether there is a `SAFETY:` comment above the line of the `unsafe` or above its
/// statement.
fn is_explained(source: &Source<'_>, at: usize) -> bool {
    let statement = statement_start(source, at);
    let places = [at, line_start(source, at), statement, line_start(source, statement)];
    places.iter().any(|&place| {
        let with_attributes = source.attributes_start(place);
        has_safety_comment(source, place) || has_safety_comment(source, with_attributes)
    })
}

/// Returns whether a line of the comments directly above token `at`, or before it on its line,
/// starts with `SAFETY:`.
fn has_safety_comment(source: &Source<'_>, at: usize) -> bool {
    let mut line = source.tokens[at].line;
    for comment in source.comments.iter().rev().filter(|comment| comment.next_token == at) {
        let touches =
            comment.last_line == line || (comment.own_line && comment.last_line + 1 == line);
        if !touches {
            return false;
        }
        let mut lines = comment.text.lines().map(|l| l.trim_start_matches(['/', '*', ' ', '\t']));
        if !comment.is_doc() && lines.any(|l| l.starts_with("SAFETY:")) {
            return true;
        }
        line = comment.line;
    }
    false
}

fn line_start(source: &Source<'_>, mut at: usize) -> usize {
    while at > 0 && source.tokens[at - 1].last_line == source.tokens[at].line {
        at -= 1;
    }
    at
}

/// Returns the first token of the statement, item or match arm that contains token `at` without a
/// block in between.
fn statement_start(source: &Source<'_>, at: usize) -> usize {
    let mut start = at;
    let mut is_arm = false;
    while start > 0 {
        let before = start - 1;
        start = match source.text(before) {
            ";" => return start,
            "," if is_arm => return start,
            "{" if !is_struct_literal(source, before) => return start,
            "}" if !continues_expression(source.text(start)) => return start,
            ")" | "]" | "}" => source.partner(before),
            "=>" => {
                is_arm = true;
                before
            }
            _ => before,
        };
    }
    start
}

/// Returns whether `{` opens a struct literal: no block starts with `field:` or `field,`.
fn is_struct_literal(source: &Source<'_>, open: usize) -> bool {
    let mut at = open + 1;
    while source.matches(at, &["#", "["]) && source.partner(at + 1) > at + 1 {
        at = source.partner(at + 1) + 1;
    }
    source.is_ident(at) && matches!(source.text(at + 1), ":" | ",")
}

/// Returns whether the token after `}` continues the expression.
fn continues_expression(next: &str) -> bool {
    matches!(next, "." | "?" | "," | ")" | "]" | "=>" | "=" | "+" | "/" | "as" | "else")
}

/// Returns the start of the item: `unsafe`, or `const`, `async` and the visibility before it.
fn item_start(source: &Source<'_>, at: usize) -> usize {
    let mut start = at;
    while start > 0 && matches!(source.text(start - 1), "const" | "async" | "default") {
        start -= 1;
    }
    if start > 0 && source.text(start - 1) == ")" {
        let open = source.partner(start - 1);
        if open > 0 && source.text(open - 1) == "pub" {
            return open - 1;
        }
    }
    if start > 0 && source.text(start - 1) == "pub" { start - 1 } else { start }
}

/// Returns whether it is a named function: `unsafe fn(…)` and `unsafe extern "C" fn(…)` are types,
/// and `unsafe extern "C" {` is a block.
fn has_name(source: &Source<'_>, at: usize) -> bool {
    let function = (at + 1..at + 4).find(|&token| source.text(token) == "fn");
    function.is_some_and(|function| source.is_ident(function + 1))
}

fn is_in_public_trait(source: &Source<'_>, at: usize) -> bool {
    let around = |open: &usize| source.text(*open) == "{" && source.partner(*open) > at;
    let Some(open) = (0..at).rev().find(around) else {
        return false;
    };
    let mut start = open;
    while start > 0 && !matches!(source.text(start - 1), ";" | "{" | "}" | "]") {
        start -= 1;
    }
    let is_public = source.text(start) == "pub" && source.text(start + 1) != "(";
    is_public && (start..open).any(|token| source.text(token) == "trait")
}

fn documents_safety(source: &Source<'_>, start: usize, at: usize) -> bool {
    let attributes = source.attributes_start(start);
    let mut docs = source
        .comments
        .iter()
        .filter(|comment| comment.is_doc() && (attributes..=at).contains(&comment.next_token));
    let in_attribute =
        |token: usize| source.text(token) == "doc" && source.text(token + 2).contains("# Safety");
    docs.any(|comment| comment.text.contains("# Safety")) || (attributes..start).any(in_attribute)
}
