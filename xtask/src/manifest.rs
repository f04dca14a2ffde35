//! A parser for the parts of `Cargo.toml` that the checks need: package name, dependencies, target
//! paths.
//!
//! Every assignment is normalized to a full key path and a value, so that `[dependencies.x] package
//! = "y"`, `x = { package = "y" }` and `x.package = "y"` are the same.

use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The content of a `Cargo.toml`.
#[derive(Debug, Default)]
pub struct Manifest {
    /// `package.name`, or `None` for a virtual workspace.
    pub package: Option<String>,
    /// Not marked `publish = false`.
    pub is_published: bool,
    /// Normal and build dependencies, including those of specific targets, without
    /// dev-dependencies.
    pub dependencies: BTreeMap<String, Dependency>,
    /// `workspace.dependencies`, for members that inherit from them.
    pub workspace_dependencies: BTreeMap<String, Dependency>,
    /// `path` of `[lib]` and `[[bin]]`, relative to the package.
    pub target_paths: Vec<String>,
}

/// A dependency, stored under the name that the package uses for it.
#[derive(Debug, Default, PartialEq)]
pub struct Dependency {
    /// `package = "…"` if it is renamed.
    pub renamed_from: Option<String>,
    /// The line of its first mention, counted from 1.
    pub line: usize,
}

impl Manifest {
    pub fn parse(text: &str) -> Manifest {
        let mut manifest = Manifest { is_published: true, ..Manifest::default() };
        for Entry { path, value, line } in entries(text) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            match path[..] {
                ["package", "name"] => manifest.package = string(&value),
                ["package", "publish"] => manifest.is_published = value != "false",
                ["lib" | "bin", "path"] => manifest.target_paths.extend(string(&value)),
                ["workspace", "dependencies", name, ref rest @ ..] => {
                    note(&mut manifest.workspace_dependencies, name, rest, &value, line);
                }
                ["dependencies" | "build-dependencies", name, ref rest @ ..]
                | ["target", _, "dependencies" | "build-dependencies", name, ref rest @ ..] => {
                    note(&mut manifest.dependencies, name, rest, &value, line);
                }
                _ => {}
            }
        }
        manifest
    }
}

fn note(
    dependencies: &mut BTreeMap<String, Dependency>,
    name: &str,
    rest: &[&str],
    value: &str,
    line: usize,
) {
    let first_mention = Dependency { renamed_from: None, line };
    let dependency = dependencies.entry(name.to_owned()).or_insert(first_mention);
    let renamed_from = match rest {
        [] => inline_field(value, "package"),
        ["package"] => string(value),
        _ => None,
    };
    dependency.renamed_from = dependency.renamed_from.take().or(renamed_from);
}

struct Entry {
    path: Vec<String>,
    value: String,
    line: usize,
}

/// Returns all assignments with their full paths. A section header counts as an assignment of an
/// empty value.
fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut section = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut logical = without_comment(line).to_owned();
        let header = logical.trim().strip_prefix('[').is_some();
        // A value continues on the next lines until its brackets are closed.
        while !header && open_brackets(&logical) > 0 {
            let Some((_, more)) = lines.next() else { break };
            logical.push(' ');
            logical.push_str(without_comment(more));
        }
        let logical = logical.trim();
        if header {
            section = key_path(logical.trim_matches(['[', ']']));
            entries.push(Entry { path: section.clone(), value: String::new(), line: index + 1 });
        } else if let Some(equals) = outside_strings(logical).find(|&(_, c)| c == '=') {
            let (key, value) = (&logical[..equals.0], logical[equals.0 + 1..].trim());
            let path = section.iter().cloned().chain(key_path(key)).collect();
            entries.push(Entry { path, value: value.to_owned(), line: index + 1 });
        }
    }
    entries
}

/// Splits `a.'b.c'."d"` into its parts.
fn key_path(key: &str) -> Vec<String> {
    let dots = outside_strings(key).filter(|&(_, c)| c == '.').map(|(at, _)| at);
    let mut parts = Vec::new();
    let mut start = 0;
    for end in dots.chain([key.len()]) {
        parts.push(key[start..end].trim().trim_matches(['"', '\'']).to_owned());
        start = end + 1;
    }
    parts
}

fn without_comment(line: &str) -> &str {
    let hash = outside_strings(line).find(|&(_, c)| c == '#');
    hash.map_or(line, |(at, _)| &line[..at])
}

fn open_brackets(text: &str) -> i32 {
    let step = |c| match c {
        '[' | '{' => 1,
        ']' | '}' => -1,
        _ => 0,
    };
    outside_strings(text).map(|(_, c)| step(c)).sum()
}

/// Returns the characters outside quotes, without the quotes.
fn outside_strings(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut quote = None;
    let mut escaped = false;
    text.char_indices().filter(move |&(_, c)| match quote {
        Some(open) => {
            if c == open && !escaped {
                quote = None;
            }
            escaped = open == '"' && c == '\\' && !escaped;
            false
        }
        None => {
            if c == '"' || c == '\'' {
                quote = Some(c);
            }
            quote.is_none()
        }
    })
}

fn string(value: &str) -> Option<String> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (content, _) = value[1..].split_once(quote)?;
    Some(content.to_owned())
}

/// Returns the string that an inline table `{ … }` assigns to `field`.
fn inline_field(table: &str, field: &str) -> Option<String> {
    let table = table.strip_prefix('{')?;
    let starts = outside_strings(table).filter(|&(_, c)| c == ',').map(|(at, _)| at + 1);
    let fields = [0].into_iter().chain(starts).map(|start| table[start..].trim_start());
    let mut values =
        fields.filter_map(|text| text.strip_prefix(field)?.trim_start().strip_prefix('='));
    values.next().and_then(|value| string(value.trim_start()))
}
