//! Code with holes in it.

use proc_macro::{Group, Span, TokenStream, TokenTree};

/// Parses `code` and puts, for each identifier that `holes` names, the tokens given for it.
///
/// The names of variables in `code` are its own: the user's cannot clash with them.
///
/// # Panics
/// If `code` is not made of tokens, which is a bug in this crate.
pub(crate) fn fill(code: &str, holes: &[(&str, TokenStream)]) -> TokenStream {
    fill_at(Span::call_site(), code, holes)
}

/// As [`fill`]; what the compiler finds wrong with `code` it shows at `span`.
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

/// Tokens that mean what they do, but are shown at `span`.
pub(crate) fn located_at_span(span: Span, tokens: &TokenStream) -> TokenStream {
    let shown = tokens.clone().into_iter().map(|mut token| {
        token.set_span(token.span().located_at(span));
        token
    });
    shown.collect()
}
