//! Helpers that classify tokens and find the ends of expressions, and errors with a span.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// An error message that the compiler shows at `span`.
#[derive(Debug)]
pub(crate) struct Error {
    span: Span,
    text: String,
}

impl Error {
    pub(crate) fn new(span: Span, text: impl Into<String>) -> Error {
        Error { span, text: text.into() }
    }

    /// Returns `::core::compile_error! { "text" }` at the span that the error is about.
    pub(crate) fn into_tokens(self) -> TokenStream {
        let at = |mut token: TokenTree| {
            token.set_span(self.span);
            token
        };
        let colons = || {
            let first = Punct::new(':', Spacing::Joint);
            [TokenTree::from(first), Punct::new(':', Spacing::Alone).into()]
        };
        let text: TokenTree = Literal::string(&self.text).into();
        let body = Group::new(Delimiter::Brace, TokenStream::from_iter([at(text)]));
        let mut tokens = Vec::new();
        tokens.extend(colons());
        tokens.push(Ident::new("core", self.span).into());
        tokens.extend(colons());
        tokens.push(Ident::new("compile_error", self.span).into());
        tokens.push(Punct::new('!', Spacing::Alone).into());
        tokens.push(body.into());
        tokens.into_iter().map(at).collect()
    }

    /// Converts the error to tokens, followed by the item it is about. Keeping the item avoids
    /// further errors where the program uses its name.
    pub(crate) fn into_tokens_before(self, item: TokenStream) -> TokenStream {
        let mut tokens = self.into_tokens();
        tokens.extend(item);
        tokens
    }
}

pub(crate) fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident.to_string() == name)
}

pub(crate) fn is_punct(token: Option<&TokenTree>, char: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

fn is_joint(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.spacing() == Spacing::Joint)
}

pub(crate) fn as_group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<&Group> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

/// Returns the span of the first token.
pub(crate) fn span_of(tokens: &[TokenTree]) -> Span {
    tokens.first().map_or_else(Span::call_site, TokenTree::span)
}

/// Returns whether `=>` starts at `at`.
pub(crate) fn is_fat_arrow(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), '=') && is_joint(tokens.get(at)) && is_punct(tokens.get(at + 1), '>')
}

/// Returns whether the token at `at` is a single `=`, not a part of `==`, `=>`, `..=` or `<=`.
pub(crate) fn is_lone_equals(tokens: &[TokenTree], at: usize) -> bool {
    let part_of_longer = |neighbour: Option<&TokenTree>| {
        matches!(neighbour, Some(TokenTree::Punct(punct)) if "=<>!.".contains(punct.as_char()))
            && is_joint(neighbour)
    };
    is_punct(tokens.get(at), '=')
        && !(is_joint(tokens.get(at))
            && matches!(tokens.get(at + 1), Some(TokenTree::Punct(next)) if "=>".contains(next.as_char())))
        && !(at > 0 && part_of_longer(tokens.get(at - 1)))
}

/// Splits at commas, except in the angle brackets of generic arguments. A trailing comma adds no
/// empty part.
pub(crate) fn split_at_commas(tokens: Vec<TokenTree>) -> Vec<Vec<TokenTree>> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    let mut rest = tokens.as_slice();
    while !rest.is_empty() {
        let end = expression_end(rest);
        part.extend_from_slice(&rest[..end]);
        parts.push(std::mem::take(&mut part));
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    parts
}

/// Returns the number of tokens before the comma that ends an expression.
pub(crate) fn expression_end(tokens: &[TokenTree]) -> usize {
    let mut at = 0;
    while at < tokens.len() && !is_punct(tokens.get(at), ',') {
        // `::<` opens generic arguments; a `<` elsewhere may be a comparison.
        let is_turbofish = at > 0 && is_punct(tokens.get(at - 1), ':');
        at += if is_turbofish { angles_end(&tokens[at..]).max(1) } else { 1 };
    }
    at
}

/// Returns the number of tokens of the generics in `<` and `>` at the front; 0 if there are none.
pub(crate) fn angles_end(tokens: &[TokenTree]) -> usize {
    let mut open = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        let is_arrow = at > 0 && is_punct(tokens.get(at - 1), '-') && is_joint(tokens.get(at - 1));
        if is_punct(Some(token), '<') {
            open += 1;
        } else if is_punct(Some(token), '>') && !is_arrow {
            open = open.saturating_sub(1);
        }
        if open == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
    }
    tokens.len()
}
