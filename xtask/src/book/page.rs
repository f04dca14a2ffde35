//! The parts of a Markdown file that the checks need.

use std::collections::BTreeSet;

/// A Markdown file.
#[derive(Debug, Default)]
pub struct Page {
    pub headings: Vec<Heading>,
    pub blocks: Vec<Block>,
    pub links: Vec<Link>,
}

#[derive(Debug)]
pub struct Heading {
    pub line: usize,
    pub level: usize,
    /// Without the marks of inline code.
    pub text: String,
}

/// A fenced code block.
#[derive(Debug)]
pub struct Block {
    /// The line of the opening fence.
    pub line: usize,
    /// What follows the opening fence, such as `rust`.
    pub info: String,
    pub lines: Vec<String>,
}

#[derive(Debug)]
pub struct Link {
    pub line: usize,
    pub text: String,
    pub target: String,
    /// How far the line is indented.
    pub indent: usize,
}

impl Page {
    pub fn parse(text: &str) -> Page {
        let mut page = Page::default();
        let mut open: Option<Block> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let is_fence = line.trim_start().starts_with("```");
            match &mut open {
                Some(block) if !is_fence => block.lines.push(line.to_owned()),
                Some(_) => page.blocks.extend(open.take()),
                None if is_fence => {
                    let info = line.trim_start().trim_start_matches('`').trim().to_owned();
                    open = Some(Block { line: number, info, lines: Vec::new() });
                }
                None => page.read_line(number, line),
            }
        }
        page.blocks.extend(open);
        page
    }

    /// Returns the anchors that links may name, as GitHub and mdBook make them of the headings.
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut anchors = BTreeSet::new();
        for heading in &self.headings {
            let anchor = anchor(&heading.text);
            let mut unique = anchor.clone();
            let mut copies = 0;
            while !anchors.insert(unique.clone()) {
                copies += 1;
                unique = format!("{anchor}-{copies}");
            }
        }
        anchors
    }

    fn read_line(&mut self, number: usize, line: &str) {
        let level = line.chars().take_while(|&c| c == '#').count();
        if (1..=6).contains(&level) && line[level..].starts_with(' ') {
            let text = line[level..].trim().replace('`', "");
            self.headings.push(Heading { line: number, level, text });
        }
        let indent = line.len() - line.trim_start().len();
        let line = without_code(line);
        for (at, _) in line.match_indices("](") {
            let text = line[..at].rsplit_once('[').map_or("", |(_, text)| text).to_owned();
            let Some((target, _)) = line[at + 2..].split_once(')') else { continue };
            self.links.push(Link { line: number, text, target: target.to_owned(), indent });
        }
    }
}

/// Returns the anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|&c| c.is_alphanumeric() || "-_ ".contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Removes inline code that may look like a link. Code in the text of a link loses its marks only.
fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let parts =
        parts.map(|(index, part)| if index % 2 == 1 && part.contains("](") { "" } else { part });
    parts.collect()
}
