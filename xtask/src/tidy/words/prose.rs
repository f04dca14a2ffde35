//! The words of comments and of Markdown, without the code between them.
//!
//! Inline code and fenced blocks are code, except for blocks marked `text`: these hold diagrams and
//! output, whose words are prose like the rest.

use crate::rust::lex::Comment;
use crate::rust::source::Source;

#[cfg(test)]
mod tests;

/// One word, in lower case.
#[derive(Debug, PartialEq)]
pub struct Word {
    pub text: String,
    pub line: usize,
    /// Only white space, a line break included, stands between the previous word and this one.
    pub follows: bool,
}

/// Returns the words of Markdown whose first line has the number `first_line`.
pub fn of_markdown(text: &str, first_line: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let mut paragraph = Paragraph::default();
    let mut fence: Option<Fence> = None;
    for (index, line) in text.lines().enumerate() {
        let number = first_line + index;
        let trimmed = line.trim();
        let is_mark = match &fence {
            Some(fence) => fence.is_closed_by(trimmed),
            None => Fence::opened_by(trimmed).is_some(),
        };
        let is_code = fence.as_ref().is_some_and(|fence| fence.is_code);
        if is_mark || is_code || trimmed.is_empty() {
            paragraph.finish(&mut words);
        } else {
            paragraph.push(line, number);
        }
        if is_mark {
            fence = if fence.is_some() { None } else { Fence::opened_by(trimmed) };
        }
    }
    paragraph.finish(&mut words);
    words
}

/// Returns the words of a file's comments. Consecutive line comments are one text, and so are all
/// doc comments of an item.
pub fn of_comments(source: &Source<'_>) -> Vec<Word> {
    let mut words = Vec::new();
    for block in source.comments.chunk_by(|before, next| continues(source, before, next)) {
        let first_line = block[0].line;
        let mut lines = Vec::new();
        for comment in block {
            // Attributes between two comments become empty lines, which keeps the numbers right.
            lines.resize(comment.line - first_line, "");
            lines.extend(comment.text.lines().map(without_marker));
        }
        words.extend(of_markdown(&lines.join("\n"), first_line));
    }
    words
}

/// Returns a line of a comment without `//`, `/*`, `*/` and the like.
pub fn without_marker(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_suffix("*/").unwrap_or(line);
    let markers = ["///", "//!", "//", "/**", "/*!", "/*"];
    let star = || line.strip_prefix('*').filter(|rest| rest.is_empty() || rest.starts_with(' '));
    markers.iter().find_map(|marker| line.strip_prefix(marker)).or_else(star).unwrap_or(line)
}

fn continues(source: &Source<'_>, before: &Comment<'_>, next: &Comment<'_>) -> bool {
    let is_line = |comment: &Comment<'_>| comment.own_line && comment.text.starts_with("//");
    let is_next_line = before.last_line + 1 == next.line;
    // A macro may put a line of an example into a `#[doc]` attribute between two comments.
    let are_of_one_item =
        || next.is_doc() && source.attributes_start(next.next_token) <= before.next_token;
    is_line(before)
        && is_line(next)
        && before.is_doc() == next.is_doc()
        && (is_next_line || are_of_one_item())
}

/// The start of a fenced block.
struct Fence {
    mark: char,
    length: usize,
    is_code: bool,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Fence> {
        let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        // Three backticks may also start inline code, which ends on the same line.
        let is_fence = length >= 3 && !info.contains('`');
        is_fence.then(|| Fence { mark, length, is_code: info.trim() != "text" })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

/// Consecutive lines. They are joined because inline code and phrases may span line breaks.
#[derive(Default)]
struct Paragraph {
    text: String,
    first_line: usize,
}

impl Paragraph {
    fn push(&mut self, line: &str, number: usize) {
        if self.text.is_empty() {
            self.first_line = number;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds the words to `words` and clears the paragraph.
    fn finish(&mut self, words: &mut Vec<Word>) {
        let mut rest = self.text.as_str();
        let mut line = self.first_line;
        let mut follows = false;
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let text = rest[..length].to_lowercase();
                words.push(Word { text, line, follows });
                follows = true;
                length
            } else {
                // Emphasis does not separate words.
                follows &= first.is_whitespace() || first == '*';
                if first == '`' { inline_code_len(rest) } else { first.len_utf8() }
            };
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
        self.text.clear();
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Returns the length of the inline code that `text` starts with, or the length of its backticks if
/// nothing closes them.
fn inline_code_len(text: &str) -> usize {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let ticks = run(text);
    let mut at = ticks;
    while let Some(next) = text[at..].find('`') {
        at += next;
        let length = run(&text[at..]);
        at += length;
        if length == ticks {
            return at;
        }
    }
    ticks
}
