//! The English and the Chinese pages have the same headings, code blocks and links.

use super::links::is_relative;
use super::page::{Block, Page};
use super::{CHINESE, ENGLISH, Pages, Problem, path_of};

pub fn check(pages: &Pages, chapters: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for stem in chapters.iter().map(String::as_str).chain(["README"]) {
        let paths = [ENGLISH, CHINESE].map(|language| path_of(stem, language));
        match [&paths[0], &paths[1]].map(|path| pages.get(path)) {
            [Some(english), Some(chinese)] => {
                let found = compare(english, chinese).into_iter();
                problems.extend(found.map(|(line, why)| Problem::new(&paths[1], line, why)));
            }
            found => {
                let missing = &paths[usize::from(found[0].is_some())];
                problems.push(Problem::new(missing, 1, "the page is missing in this language"));
            }
        }
    }
    problems
}

/// Returns what differs, with the line of the Chinese page.
fn compare(english: &Page, chinese: &Page) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    let levels =
        |page: &Page| page.headings.iter().map(|heading| heading.level).collect::<Vec<_>>();
    if levels(english) != levels(chinese) {
        let same = english.headings.iter().zip(&chinese.headings);
        let same = same.take_while(|(english, chinese)| english.level == chinese.level).count();
        let heading = |page: &Page| page.headings.get(same).map_or("none", |h| &h.text).to_owned();
        let line = chinese.headings.get(same).map_or(1, |heading| heading.line);
        let (in_english, in_chinese) = (heading(english), heading(chinese));
        problems
            .push((line, format!("the headings differ: `{in_chinese}` stands for `{in_english}`")));
    }
    if english.blocks.len() != chinese.blocks.len() {
        let counts = (english.blocks.len(), chinese.blocks.len());
        problems.push((1, format!("{} code blocks in English, {} in Chinese", counts.0, counts.1)));
    }
    for (english, chinese) in english.blocks.iter().zip(&chinese.blocks) {
        if english.info != chinese.info || code(english) != code(chinese) {
            problems.push((
                chinese.line,
                format!("the code differs from the English block in line {}", english.line),
            ));
        }
    }
    let (only_english, only_chinese) = differences(targets(english), targets(chinese));
    for target in only_english {
        problems.push((1, format!("the link to `{target}` is only in the English page")));
    }
    for target in only_chinese {
        problems.push((1, format!("the link to `{target}` is not in the English page")));
    }
    problems
}

/// Returns the lines of a block without comments, which are translated.
fn code(block: &Block) -> Vec<&str> {
    let mark = if block.info.starts_with("rust") { "//" } else { "#" };
    let lines = block.lines.iter().map(|line| line.split(mark).next().unwrap_or_default());
    lines.map(str::trim_end).collect()
}

/// Returns the targets of the relative links without language and anchor, sorted.
fn targets(page: &Page) -> Vec<String> {
    let targets = page.links.iter().filter(|link| is_relative(&link.target));
    let targets = targets.map(|link| link.target.split('#').next().unwrap_or_default());
    let mut targets: Vec<String> = targets.map(|target| target.replace(CHINESE, ENGLISH)).collect();
    targets.sort();
    targets
}

/// Returns the elements of two sorted lists that are only in the first, and only in the second.
fn differences(first: Vec<String>, second: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut only_second = second;
    let mut only_first = Vec::new();
    for element in first {
        match only_second.iter().position(|other| *other == element) {
            Some(at) => drop(only_second.remove(at)),
            None => only_first.push(element),
        }
    }
    (only_first, only_second)
}
