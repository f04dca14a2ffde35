//! Reads lists of `old -> new`, one entry a line.

#[cfg(test)]
mod tests;

/// A word or phrase to replace.
#[derive(Debug, PartialEq)]
pub struct Entry<'a> {
    pub old: &'a str,
    /// What to write instead: a name, or advice.
    pub new: &'a str,
}

/// Parses a list. Ignores blank lines and lines that start with `#`.
///
/// # Panics
///
/// Panics if a line is not an entry, or repeats the left side of an earlier one. The lists are part
/// of this program, so such a line is a mistake in it.
pub fn parse<'a>(name: &str, text: &'a str) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = format!("{name}:{}: `{line}`", index + 1);
        let Some((old, new)) = line.split_once(" -> ") else {
            panic!("{at} is no entry: write `old -> new`");
        };
        let entry = Entry { old: old.trim(), new: new.trim() };
        let is_listed = entries.iter().any(|earlier| earlier.old == entry.old);
        assert!(!is_listed, "{at} repeats an earlier entry: delete one of them");
        entries.push(entry);
    }
    entries
}
