//! `SUMMARY.md`, mdBook's table of contents: one tree for each language, with all chapters in order.

use std::path::Path;

use super::page::Link;
use super::{CHINESE, DOCS, ENGLISH, Pages, Problem};

pub fn check(pages: &Pages, chapters: &[String]) -> Vec<Problem> {
    let path = Path::new(DOCS).join("SUMMARY.md");
    let Some(summary) = pages.get(&path) else {
        return vec![Problem::new(&path, 1, "the file is missing")];
    };
    let mut problems = Vec::new();
    for language in [ENGLISH, CHINESE] {
        let entries = summary.links.iter().filter(|link| is_in(&link.target, language));
        let entries: Vec<&Link> = entries.collect();
        let wanted = ["README"].into_iter().chain(chapters.iter().map(String::as_str));
        let wanted: Vec<String> = wanted.map(|stem| format!("{stem}{language}")).collect();
        let found: Vec<&str> = entries.iter().map(|entry| entry.target.as_str()).collect();
        for target in wanted.iter().filter(|target| !found.contains(&target.as_str())) {
            problems.push(Problem::new(&path, 1, format!("`{target}` is not listed")));
        }
        if wanted.len() == found.len() && wanted != found {
            problems.push(Problem::new(&path, entries[0].line, "the chapters are out of order"));
        }
        for (index, entry) in entries.iter().enumerate() {
            if !wanted.contains(&entry.target) {
                let why = format!("`{}` is no chapter", entry.target);
                problems.push(Problem::new(&path, entry.line, why));
            } else if (entry.indent == 0) != (index == 0) {
                let why = "the contents page comes first, and the chapters are indented below it";
                problems.push(Problem::new(&path, entry.line, why));
            }
            if let Some(title) = title(pages, entry) {
                if title != entry.text {
                    let why = format!("the page's title is `{title}`, not `{}`", entry.text);
                    problems.push(Problem::new(&path, entry.line, why));
                }
            }
        }
    }
    problems
}

fn is_in(target: &str, language: &str) -> bool {
    target.ends_with(language) && (language == CHINESE || !target.ends_with(CHINESE))
}

fn title<'a>(pages: &'a Pages, entry: &Link) -> Option<&'a str> {
    let page = pages.get(&Path::new(DOCS).join(&entry.target))?;
    page.headings.first().map(|heading| heading.text.as_str())
}
