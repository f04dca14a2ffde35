//! Finds phrases that make comments and documents hard to read, and says what to write instead.

use std::path::Path;

use super::list::{self, Entry};
use super::prose::{self, Word};
use crate::rust::source::Source;
use crate::tidy::Report;

#[cfg(test)]
mod tests;

/// Returns the phrases in `phrases.txt`.
pub fn list() -> Vec<Entry<'static>> {
    list::parse("phrases.txt", include_str!("phrases.txt"))
}

/// Checks the comments of a Rust file.
pub fn check_comments(source: &Source<'_>, phrases: &[Entry<'_>], report: &mut Report) {
    check(source.path, &prose::of_comments(source), phrases, report);
}

/// Checks a Markdown file.
pub fn check_markdown(path: &Path, text: &str, phrases: &[Entry<'_>], report: &mut Report) {
    check(path, &prose::of_markdown(text, 1), phrases, report);
}

fn check(path: &Path, words: &[Word], phrases: &[Entry<'_>], report: &mut Report) {
    for at in 0..words.len() {
        for entry in phrases.iter().filter(|entry| starts_with(&words[at..], entry.old)) {
            let message = format!("\"{}\" in prose: write {}", entry.old, entry.new);
            report.problem(path, words[at].line, message);
        }
    }
}

/// Returns whether `words` starts with the words of `phrase`, with only white space between them.
fn starts_with(words: &[Word], phrase: &str) -> bool {
    phrase.split(' ').enumerate().all(|(position, part)| {
        let word = words.get(position);
        word.is_some_and(|word| word.text == part && (position == 0 || word.follows))
    })
}
