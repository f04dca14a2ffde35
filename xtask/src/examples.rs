//! `cargo xtask examples`: checks that public items of `wakeful` have an example.
//!
//! Rustdoc describes the crates, as for `api-diff`. Every module, type, trait, macro and function
//! needs a code block that `cargo test` runs. Methods are not checked.

use crate::api_diff::crates::{Crates, Target};
use crate::api_diff::docs;
use crate::api_diff::public::Public;
use crate::conformance::suites::TOKIO;

#[cfg(test)]
mod tests;

const KINDS: &[&str] =
    &["module", "struct", "enum", "union", "trait", "function", "macro", "proc_macro"];

/// Lists the items without an example, and fails if there are any.
pub fn run() -> Result<(), String> {
    let crates = Crates::load(&docs::of_drop_in(TOKIO.features)?)?;
    let public = Public::of(&crates, "wakeful")?;
    let (count, without) = items_without_example(&public);
    for path in &without {
        println!("{path}: no example that runs");
    }
    println!("examples: {count} public items, {} without an example", without.len());
    if without.is_empty() {
        return Ok(());
    }
    Err(format!("public items without examples{}", crates.format_note()))
}

/// Returns the number of items that need an example, and the paths of those that have none.
fn items_without_example<'a>(public: &'a Public<'_>) -> (usize, Vec<&'a str>) {
    let (mut count, mut without) = (0, Vec::new());
    for (path, entries) in &public.entries {
        for entry in entries.iter().filter(|entry| !entry.hidden) {
            let Target::Described(item) = entry.target else { continue };
            if KINDS.contains(&item.inner().0) {
                count += 1;
                if !has_example(item.json["docs"].text()) {
                    without.push(path.as_str());
                }
            }
        }
    }
    (count, without)
}

/// Returns whether one of the code blocks is Rust that `cargo test` runs.
fn has_example(docs: &str) -> bool {
    let mut fences = docs.lines().filter_map(|line| line.trim_start().strip_prefix("```"));
    let openings = std::iter::from_fn(|| {
        let opening = fences.next();
        let _closing = fences.next();
        opening
    });
    openings.into_iter().any(|opening| matches!(opening.trim(), "" | "rust" | "should_panic"))
}
