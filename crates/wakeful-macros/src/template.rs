//! Filling placeholders in code templates.

use proc_macro::{Group, Span, TokenStream, TokenTree};

/// Parses `code` and replaces each identifier that `holes` names by the given tokens.
///
/// Variables that `code` declares are hygienic: they cannot clash with the user's variables.
///
/// # Panics
/// Panics if `code` cannot be split into tokens, which is a bug in this crate.
pub(crate) fn fill(code: &str, holes: &[(&str, TokenStream)]) -> TokenStream {
    fill_at(Span::call_site(), code, holes)
}

/// Fills like [`fill`], but the compiler reports errors in `code` at `span`.
pub(crate) fn fill_at(span: Span, code: &str, holes: &[(&str, TokenStream)]) -> TokenStream {
    let parsed: TokenStream = code.parse().expect("the template is made of tokens");
    fill_tokens(parsed, Span::mixed_site().located_at(span), holes)
}

fn fill_tokens(code: TokenStream, span: Span, holes: &[(&str, TokenStream)]) -> TokenStream {
    let mut filled = TokenStream::new();
    for mut token in code {
        if let TokenTree::Ident(ident) = &token {
            let name = ident.to_string();
            if let Some((_, tokens)) = holes.iter().find(|(hole, _)| *hole == name) {
                filled.extend(tokens.clone());
                continue;
            }
        }
        if let TokenTree::Group(group) = token {
            token = Group::new(group.delimiter(), fill_tokens(group.stream(), span, holes)).into();
        }
        token.set_span(span);
        filled.extend([token]);
    }
    filled
}

/// Moves the location of `tokens`, which errors point at, to `span`. Their hygiene stays the same.
pub(crate) fn located_at_span(span: Span, tokens: &TokenStream) -> TokenStream {
    let shown = tokens.clone().into_iter().map(|mut token| {
        token.set_span(token.span().located_at(span));
        token
    });
    shown.collect()
}
