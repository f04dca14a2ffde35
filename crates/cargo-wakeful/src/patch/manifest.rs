//! The patch for `tokio` in the text of a `Cargo.toml`.
//!
//! Whole lines are inserted and removed, at places that a TOML parser reports. All other lines keep
//! every character.

use std::fmt;
use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, Item, TableLike};

use crate::invocation::GIT_KEYS;

#[cfg(test)]
mod tests;

const HEADER: &str = "[patch.crates-io]";

/// The names of crates.io in a `[patch]`.
const CRATES_IO: [&str; 2] = ["crates-io", "https://github.com/rust-lang/crates.io-index"];

/// The patch for `tokio` in a manifest.
#[derive(Debug, PartialEq)]
pub enum Patch {
    None,
    Tokio(Found),
}

/// A patch for `tokio`, and where it is.
#[derive(Debug, PartialEq)]
pub struct Found {
    pub source: Source,
    /// The bytes to remove; `None` if the layout is one that is not edited here.
    lines: Option<Range<usize>>,
}

/// What a patch puts in Tokio's place.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    Path(String),
    Git {
        url: String,
        /// `branch`, `tag` or `rev`, and its value.
        at: Option<(&'static str, String)>,
    },
    Other(String),
}

impl fmt::Display for Source {
    /// Writes the source as in a manifest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A JSON string is also a valid basic string in TOML.
        let quoted = |text: &str| Value::from(text);
        match self {
            Source::Path(path) => write!(f, "path = {}", quoted(path)),
            Source::Git { url, at: None } => write!(f, "git = {}", quoted(url)),
            Source::Git { url, at: Some((key, value)) } => {
                write!(f, "git = {}, {key} = {}", quoted(url), quoted(value))
            }
            Source::Other(text) => f.write_str(text),
        }
    }
}

fn parse(text: &str) -> Result<Document<&str>, String> {
    Document::parse(text).map_err(|error| error.to_string())
}

/// Finds the patch for `tokio`, also under another name with `package = "tokio"`.
pub fn find(text: &str) -> Result<Patch, String> {
    let document = parse(text)?;
    let Some(patch) = document.get("patch").and_then(Item::as_table_like) else {
        return Ok(Patch::None);
    };
    for registry in CRATES_IO {
        let Some(item) = patch.get(registry) else { continue };
        let Some(table) = item.as_table_like() else { continue };
        for (name, entry) in table.iter() {
            let package = entry.get("package").and_then(Item::as_str).unwrap_or(name);
            if package == "tokio" {
                let lines = lines_of(text, item, table, name, entry);
                return Ok(Patch::Tokio(Found { source: source_of(entry), lines }));
            }
        }
    }
    Ok(Patch::None)
}

fn source_of(entry: &Item) -> Source {
    let value = |key| entry.get(key).and_then(Item::as_str).map(str::to_owned);
    let path = value("path").map(Source::Path);
    let at = GIT_KEYS.into_iter().find_map(|key| Some((key, value(key)?)));
    let source = path.or_else(|| value("git").map(|url| Source::Git { url, at }));
    source.unwrap_or_else(|| Source::Other("neither a path nor a git repository".into()))
}

/// Returns the lines of the entry, with the header of its table if nothing else is below it.
fn lines_of(
    text: &str,
    registry: &Item,
    table: &dyn TableLike,
    name: &str,
    entry: &Item,
) -> Option<Range<usize>> {
    let (start, end) = if let Some(own_table) = entry.as_table().filter(|own| !own.is_dotted()) {
        // A table of its own, `[patch.crates-io.tokio]`.
        let header = own_table.span()?;
        let last = own_table.iter().filter_map(|(_, item)| item.span()).map(|span| span.end).max();
        (header.start, last.unwrap_or(header.end))
    } else {
        let registry = registry.as_table().filter(|registry| !registry.is_dotted())?;
        let (key, _) = table.get_key_value(name)?;
        let key_start = key.span()?.start;
        let end = match entry.as_table() {
            // Dotted keys, as in `tokio.path = "…"`. Several of them may be anywhere in the table.
            Some(dotted) if dotted.len() > 1 => return None,
            Some(dotted) => dotted.iter().find_map(|(_, item)| item.span())?.end,
            None => entry.span()?.end,
        };
        // Nothing else below the header, and no comment between header and entry.
        let values = table.iter().filter(|(_, item)| item.is_value() || is_dotted(item));
        let header = registry.span().filter(|_| values.count() == 1);
        let header = header.filter(|header| text[header.end..key_start].trim().is_empty());
        (header.map_or(key_start, |header| header.start), end)
    };
    let mut lines = line_start(text, start)..line_end(text, end);
    let has_header = text[lines.start..].trim_start().starts_with('[');
    if has_header {
        // The empty line above the header goes with it.
        let before = &text[..lines.start];
        let blank = before.strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest));
        if let Some(blank) = blank.filter(|rest| rest.ends_with('\n')) {
            lines.start = blank.len();
        }
    }
    Some(lines)
}

/// Returns the text with a patch that puts this crate in Tokio's place. The text must not contain a
/// patch for `tokio`.
pub fn insert(text: &str, source: &Source) -> Result<String, String> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let entry = format!("tokio = {{ {source} }}");
    let document = parse(text)?;
    let patch = document.get("patch");
    let registry = patch.and_then(|patch| patch.get(CRATES_IO[0]));
    let table = registry.and_then(Item::as_table).filter(|table| !table.is_dotted());
    let header = table.filter(|table| !table.is_implicit()).and_then(toml_edit::Table::span);
    let changed = if let (Some(table), Some(header)) = (table, header) {
        let values = table.iter().filter(|(_, item)| item.is_value() || is_dotted(item));
        let last = values.filter_map(|(_, item)| end_of(item)).max().unwrap_or(header.end);
        let at = line_end(text, last);
        let (before, after) = text.split_at(at);
        let separator = if before.ends_with('\n') { "" } else { newline };
        format!("{before}{separator}{entry}{newline}{after}")
    } else {
        let separator = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        let blank = if text.trim().is_empty() { "" } else { newline };
        format!("{text}{separator}{blank}{HEADER}{newline}{entry}{newline}")
    };
    match find(&changed) {
        Ok(Patch::Tokio(found)) if found.source == *source => Ok(changed),
        _ => Err(format!(
            "the [patch] in Cargo.toml has a layout that cannot be edited here. Add to its part for crates-io:\n\n    {entry}"
        )),
    }
}

/// Returns the text without the patch that [`find`] has found in it.
pub fn remove(text: &str, found: &Found) -> Result<String, String> {
    let without = |lines: &Range<usize>| [&text[..lines.start], &text[lines.end..]].concat();
    let changed = found.lines.as_ref().map(without);
    match changed.as_deref().map(find) {
        Some(Ok(Patch::None)) => Ok(changed.unwrap_or_default()),
        _ => Err(
            "the [patch] in Cargo.toml has a layout that cannot be edited here. Remove its entry for tokio by hand."
                .into(),
        ),
    }
}

/// Returns the lines that `after` has and `before` has not, if one range of lines was inserted.
pub fn added_lines<'a>(before: &str, after: &'a str) -> Vec<&'a str> {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let pairs = old[same..].iter().rev().zip(new[same..].iter().rev());
    let same_at_end = pairs.take_while(|(old, new)| old == new).count();
    let added = new[same..new.len() - same_at_end].iter();
    added.filter(|line| !line.trim().is_empty()).copied().collect()
}

fn is_dotted(item: &Item) -> bool {
    item.as_table().is_some_and(toml_edit::Table::is_dotted)
}

fn end_of(item: &Item) -> Option<usize> {
    match item.as_table() {
        Some(dotted) => dotted.iter().filter_map(|(_, item)| end_of(item)).max(),
        None => item.span().map(|span| span.end),
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the end of the line at this position, including its line break.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}
