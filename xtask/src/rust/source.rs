//! The tokens of a file, with queries that several checks need.

use std::ops::Range;
use std::path::Path;

use super::cfg;
use super::lex::{Comment, Kind, Lexed, Token, lex};

#[cfg(test)]
mod tests;

/// A lexed file.
pub struct Source<'a> {
    pub path: &'a Path,
    pub tokens: Vec<Token<'a>>,
    pub comments: Vec<Comment<'a>>,
    /// For each bracket, the index of the matching one; for all other tokens, their own index.
    partner: Vec<usize>,
}

/// An attribute: `#[…]` or `#![…]`.
pub struct Attribute {
    /// The tokens from `#` to `]`.
    pub range: Range<usize>,
    pub inner: bool,
}

impl<'a> Source<'a> {
    pub fn new(path: &'a Path, text: &'a str) -> Source<'a> {
        let Lexed { tokens, comments } = lex(text);
        let partner = partners(&tokens);
        Source { path, tokens, comments, partner }
    }

    /// Returns the text of token `at`, or an empty string outside the file.
    pub fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// Returns whether the tokens from `at` on have these texts.
    pub fn matches(&self, at: usize, texts: &[&str]) -> bool {
        texts.iter().enumerate().all(|(offset, text)| self.text(at + offset) == *text)
    }

    pub fn is_ident(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Ident)
    }

    /// Returns the index of the bracket that matches the one at `at`, or `at` if there is none.
    pub fn partner(&self, at: usize) -> usize {
        self.partner.get(at).copied().unwrap_or(at)
    }

    /// Returns all attributes in order.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute> + '_ {
        (0..self.tokens.len()).filter_map(|at| {
            let inner = self.matches(at, &["#", "!", "["]);
            let open = at + if inner { 2 } else { 1 };
            let opens = self.matches(at, &["#", "["]) || inner;
            opens.then(|| Attribute { range: at..self.partner(open) + 1, inner })
        })
    }

    /// Returns the tokens between an attribute's brackets.
    pub fn content(&self, attribute: &Attribute) -> &[Token<'a>] {
        let start = attribute.range.start + if attribute.inner { 3 } else { 2 };
        self.tokens.get(start..attribute.range.end - 1).unwrap_or_default()
    }

    /// Returns the start of the outer attributes directly before token `at`, or `at` if there are
    /// none.
    pub fn attributes_start(&self, at: usize) -> usize {
        let mut start = at;
        while start > 0 && self.text(start - 1) == "]" {
            let open = self.partner(start - 1);
            if open == 0 || open == start - 1 || self.text(open - 1) != "#" {
                break;
            }
            start = open - 1;
        }
        start
    }

    /// Returns the token ranges that are compiled only if `flag` is set.
    pub fn only_with(&self, flag: &str) -> Vec<Range<usize>> {
        let gates = self.attributes().filter(|a| cfg::requires(self.content(a), flag));
        let ranges = gates.map(|gate| match gate.inner {
            true => self.enclosing_block(gate.range.start),
            false => gate.range.start..self.item_end(gate.range.end),
        });
        ranges.collect()
    }

    /// Returns whether the file starts with a `#![cfg(…)]` that requires `flag`.
    pub fn is_wholly_behind(&self, flag: &str) -> bool {
        let everything = 0..self.tokens.len();
        self.attributes().any(|attribute| {
            attribute.inner
                && cfg::requires(self.content(&attribute), flag)
                && self.enclosing_block(attribute.range.start) == everything
        })
    }

    /// Returns the end of the item, statement or field that starts at `at`.
    fn item_end(&self, mut at: usize) -> usize {
        let mut angles = 0;
        while at < self.tokens.len() {
            match self.text(at) {
                "{" => return self.partner(at) + 1,
                "(" | "[" => at = self.partner(at),
                "<" => angles += 1,
                ">" => angles -= 1,
                ";" => return at + 1,
                // Commas between generic parameters do not end the item.
                "," if angles <= 0 => return at + 1,
                ")" | "]" | "}" => return at,
                _ => {}
            }
            at += 1;
        }
        at
    }

    fn enclosing_block(&self, at: usize) -> Range<usize> {
        let opens = (0..at).rev().filter(|&open| self.text(open) == "{");
        let mut around = opens.map(|open| open..self.partner(open)).filter(|b| b.contains(&at));
        around.next().unwrap_or(0..self.tokens.len())
    }

    /// Returns the number of lines with at least one token in `range`, that is, without comments
    /// and blank lines.
    pub fn code_lines(&self, range: Range<usize>) -> usize {
        let mut count = 0;
        let mut counted_to = 0;
        for token in &self.tokens[range] {
            count += (token.last_line + 1).saturating_sub(token.line.max(counted_to + 1));
            counted_to = counted_to.max(token.last_line);
        }
        count
    }
}

fn partners(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut partner: Vec<usize> = (0..tokens.len()).collect();
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, t)| t.kind == Kind::Punct) {
        match token.text {
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => {
                if let Some(start) = open.pop() {
                    partner[start] = at;
                    partner[at] = start;
                }
            }
            _ => {}
        }
    }
    partner
}
