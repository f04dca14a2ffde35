//! The comments of a page, and the numbers before them.

use super::Problem;
use super::request;
use super::sources::Sources;

#[cfg(test)]
mod tests;

/// Starts a comment behind a number.
const OPENING: &str = "<!--=";
/// Starts a comment behind a sentence about many figures.
const CLAIM: &str = "<!--?";
const CLOSING: &str = "-->";

/// What a check of a page found.
#[derive(Default)]
pub struct Found {
    pub figures: usize,
    pub problems: Vec<Problem>,
}

/// Compares the numbers of a page with their sources.
pub fn check(text: &str, sources: &Sources) -> Found {
    let mut found = Found::default();
    for (line, content) in outside_fences(text) {
        let mut rest = content;
        while let Some((_, claim, after)) = split(rest, CLAIM) {
            found.figures += 1;
            let wrong = request::verify(claim, sources).err();
            found.problems.extend(wrong.map(|message| Problem { line, message }));
            rest = after;
        }
        let mut rest = content;
        while let Some((before, comment, after)) = split(rest, OPENING) {
            found.figures += 1;
            let is = trailing_number(before);
            let message = match request::answer(comment, sources) {
                Err(why) => Some(why),
                Ok(should) if should == is => None,
                Ok(should) => Some(format!("`{}` is {should}, not `{is}`", comment.trim())),
            };
            found.problems.extend(message.map(|message| Problem { line, message }));
            rest = after;
        }
    }
    found
}

/// Returns the page with all numbers as their sources have them.
pub fn update(text: &str, sources: &Sources) -> Result<String, Problem> {
    let mut updated = String::new();
    let mut outside = outside_fences(text).map(|(line, _)| line).peekable();
    for (index, content) in text.split_inclusive('\n').enumerate() {
        let line = index + 1;
        if outside.next_if_eq(&line).is_none() {
            updated.push_str(content);
            continue;
        }
        let mut rest = content;
        while let Some((before, comment, after)) = split(rest, OPENING) {
            let number =
                request::answer(comment, sources).map_err(|message| Problem { line, message })?;
            updated.push_str(&before[..before.len() - trailing_number(before).len()]);
            updated.extend([&number, OPENING, comment, CLOSING]);
            rest = after;
        }
        updated.push_str(rest);
    }
    Ok(updated)
}

/// Returns the lines outside of fenced code, with their numbers.
pub fn outside_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        (!in_fence && !is_fence).then_some((index + 1, line))
    })
}

/// Splits a line at its first comment of a kind: what is before, the comment's words, and what is
/// behind. A comment in inline code is an example.
fn split<'a>(line: &'a str, opening: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let at = line
        .match_indices(opening)
        .map(|(at, _)| at)
        .find(|at| line[..*at].matches('`').count() % 2 == 0)?;
    let (comment, after) = line[at + opening.len()..].split_once(CLOSING)?;
    Some((&line[..at], comment, after))
}

/// Returns the number at the end of `text`, or nothing.
pub fn trailing_number(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '~');
    &text[text.trim_end_matches(is_part).len()..]
}
