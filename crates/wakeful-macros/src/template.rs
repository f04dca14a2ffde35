//! Code with holes in it.

use proc_macro::{Group, Ident, Span, TokenStream, TokenTree};

/// Parses `code` and puts, for each identifier that `holes` names, the tokens given for it.
///
/// The names of variables in `code` are its own: the user's cannot clash with them.
///
/// # Panics
/// If `code` is not made of tokens, which is a bug in this crate.
pub(crate) fn fill(code: &str, holes: &[(&str, TokenStream)]) -> TokenStream {
    let parsed: TokenStream = code.parse().expect("the template is made of tokens");
    fill_tokens(parsed, holes)
}

fn fill_tokens(code: TokenStream, holes: &[(&str, TokenStream)]) -> TokenStream {
    let mut filled = TokenStream::new();
    for token in code {
        match token {
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                match holes.iter().find(|(hole, _)| *hole == name) {
                    Some((_, tokens)) => filled.extend(tokens.clone()),
                    None => filled.extend([own(ident)]),
                }
            }
            TokenTree::Group(group) => {
                let mut new = Group::new(group.delimiter(), fill_tokens(group.stream(), holes));
                new.set_span(Span::mixed_site());
                filled.extend([TokenTree::from(new)]);
            }
            mut other => {
                other.set_span(Span::mixed_site());
                filled.extend([other]);
            }
        }
    }
    filled
}

fn own(mut ident: Ident) -> TokenTree {
    ident.set_span(Span::mixed_site());
    ident.into()
}
