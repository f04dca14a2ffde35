//! The lexer: splits text into tokens and comments.

#[cfg(test)]
mod tests;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Identifiers and keywords, without `r#`.
    Ident,
    /// Lifetimes such as `'a`, which must be distinguished from characters.
    Lifetime,
    /// Strings including their quotes, characters, and numbers.
    Literal,
    /// Punctuation: one character, or one of `::`, `=>`, `->`.
    Punct,
}

/// A token. Lines are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub line: usize,
    /// Differs from `line` for strings that span several lines.
    pub last_line: usize,
}

/// A comment: `//…` or `/*…*/`, including doc comments.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment<'a> {
    pub text: &'a str,
    pub line: usize,
    pub last_line: usize,
    /// The index of the first token after the comment.
    pub next_token: usize,
    /// Whether no token precedes it on its line.
    pub own_line: bool,
}

impl Comment<'_> {
    pub fn is_doc(&self) -> bool {
        let starts = |prefix| self.text.starts_with(prefix);
        starts("//!") || starts("/*!") || (starts("///") && !starts("////")) || starts("/**")
    }
}

/// The tokens and the comments of a file, each in order.
#[derive(Debug, Default)]
pub struct Lexed<'a> {
    pub tokens: Vec<Token<'a>>,
    pub comments: Vec<Comment<'a>>,
}

/// Splits `text`. This never fails: text that is not Rust becomes tokens that no check looks for.
pub fn lex(text: &str) -> Lexed<'_> {
    let mut lexer = Lexer { text, at: 0, line: 1, lexed: Lexed::default() };
    while lexer.step() {}
    lexer.lexed
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    lexed: Lexed<'a>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return false;
        };
        if first.is_whitespace() {
            self.advance(first.len_utf8());
        } else if rest.starts_with("//") {
            self.comment(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.comment(block_comment_len(rest));
        } else if let Some(len) = string_len(rest) {
            self.token(Kind::Literal, len);
        } else if first == '\'' || rest.starts_with("b'") {
            self.quote();
        } else if first.is_ascii_digit() {
            self.token(Kind::Literal, number_len(rest));
        } else if is_ident(first) {
            if rest.starts_with("r#") && rest[2..].starts_with(is_ident) {
                self.advance(2);
            }
            self.token(Kind::Ident, ident_len(self.rest()));
        } else {
            let pair = ["::", "=>", "->"].iter().any(|pair| rest.starts_with(pair));
            self.token(Kind::Punct, if pair { 2 } else { first.len_utf8() });
        }
        true
    }

    /// Consumes `len` bytes, and returns them with the line they start on.
    fn advance(&mut self, len: usize) -> (&'a str, usize) {
        let (taken, line) = (&self.rest()[..len], self.line);
        self.at += len;
        self.line += taken.matches('\n').count();
        (taken, line)
    }

    fn token(&mut self, kind: Kind, len: usize) {
        let (text, line) = self.advance(len);
        self.lexed.tokens.push(Token { kind, text, line, last_line: self.line });
    }

    fn comment(&mut self, len: usize) {
        let (text, line) = self.advance(len);
        let tokens = &self.lexed.tokens;
        self.lexed.comments.push(Comment {
            text: text.trim_end(),
            line,
            last_line: self.line,
            next_token: tokens.len(),
            own_line: tokens.last().is_none_or(|token| token.last_line < line),
        });
    }

    /// Lexes a character, a byte or a lifetime.
    fn quote(&mut self) {
        let rest = self.rest();
        let prefix = if rest.starts_with('b') { 2 } else { 1 };
        let mut inside = rest[prefix..].chars();
        match (inside.next(), inside.next()) {
            (Some('\\'), Some(escaped)) => {
                let escape = prefix + 1 + escaped.len_utf8();
                let close = rest[escape..].find('\'').map_or(rest.len(), |at| escape + at + 1);
                self.token(Kind::Literal, close);
            }
            (Some(only), Some('\'')) => self.token(Kind::Literal, prefix + only.len_utf8() + 1),
            _ => self.token(Kind::Lifetime, prefix + ident_len(&rest[prefix..])),
        }
    }
}

fn is_ident(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn ident_len(text: &str) -> usize {
    text.find(|c| !is_ident(c)).unwrap_or(text.len())
}

fn number_len(text: &str) -> usize {
    let whole = ident_len(text);
    let fraction = text[whole..].strip_prefix('.');
    match fraction.filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
        Some(digits) => whole + 1 + ident_len(digits),
        None => whole,
    }
}

/// Returns the length of the string literal, with any prefix, that `text` starts with.
fn string_len(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].iter().find(|p| text.starts_with(**p))?;
    let body = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.find(|c| c != '#')?;
        let content = body[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = content.find(&close).map_or(content.len(), |at| at + close.len());
        return Some(text.len() - content.len() + end);
    }
    let content = body.strip_prefix('"')?;
    let mut escaped = false;
    let close = content.char_indices().find(|&(_, c)| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    });
    Some(text.len() - content.len() + close.map_or(content.len(), |(at, _)| at + 1))
}

/// Returns the length of a block comment, which may contain nested ones.
fn block_comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}
