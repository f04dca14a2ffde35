//! The function that an attribute is applied to.

use super::{Attribute, Kind, Options};
use crate::template::fill;
use crate::tokens::{Error, angles_end, as_group, is_ident, is_punct};
use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

/// The parsed parts of the function.
pub(super) struct AsyncFn {
    attributes: TokenStream,
    /// The tokens from the visibility to the `where` clause, without `async`.
    signature: TokenStream,
    /// The return type, or `None` if a variable cannot have it (`impl Trait`, `!`).
    output: Option<TokenStream>,
    body: Group,
}

impl AsyncFn {
    pub(super) fn parse(item: TokenStream, attribute: Attribute) -> Result<AsyncFn, Error> {
        let tokens: Vec<TokenTree> = item.into_iter().collect();
        let mut at = 0;
        while is_punct(tokens.get(at), '#') {
            if attribute.kind == Kind::Test && is_test_attribute(tokens.get(at + 1)) {
                return Err(Error::new(
                    tokens[at + 1].span(),
                    "second test attribute is supplied, consider removing or changing the order of \
                     your test attributes",
                ));
            }
            at += 2;
        }
        let mut attributes: TokenStream = tokens[..at].iter().cloned().collect();
        let Some((body, head)) = tokens[at..].split_last() else {
            return Err(Error::new(
                Span::call_site(),
                format!("`#[{}]` can only be applied to a function", attribute.name()),
            ));
        };
        let fn_at = head.iter().position(|token| is_ident(Some(token), "fn")).unwrap_or(0);
        let async_at = head[..fn_at].iter().position(|token| is_ident(Some(token), "async"));
        let body = as_group(Some(body), Delimiter::Brace);
        let (Some(async_at), Some(body)) = (async_at, body) else {
            let span = head.get(fn_at).map_or_else(Span::call_site, TokenTree::span);
            return Err(Error::new(
                span,
                "the `async` keyword is missing from the function declaration",
            ));
        };
        check_main_args(head, fn_at, attribute)?;
        let body = without_inner_attributes(body, &mut attributes);
        let signature = head.iter().enumerate().filter(|(at, _)| *at != async_at);
        Ok(AsyncFn {
            attributes,
            signature: signature.map(|(_, token)| token.clone()).collect(),
            output: output_of(&head[fn_at..]),
            body,
        })
    }

    pub(super) fn on_runtime(self, options: &Options, attribute: Attribute) -> TokenStream {
        let mut tokens = TokenStream::new();
        if attribute.kind == Kind::Test {
            tokens.extend(fill("#[::core::prelude::v1::test]", &[]));
        }
        tokens.extend(self.attributes.clone());
        tokens.extend(self.signature.clone());
        // In tests the type of the body is erased, so that `block_on` is not compiled for each
        // test.
        let pinned = match self.output {
            Some(_) if attribute.kind == Kind::Test => {
                "let body = ::core::pin::pin!(body);
                 let body: ::core::pin::Pin<&mut dyn ::core::future::Future<Output = OUTPUT>> = body;"
            }
            _ => "",
        };
        let code = format!(
            "{{
                let body = async BODY;
                {pinned}
                #[allow(
                    clippy::expect_used,
                    clippy::diverging_sub_expression,
                    clippy::needless_return,
                    clippy::unwrap_in_result
                )]
                {{
                    return RUNTIME.expect(\"Failed building the Runtime\").block_on(body);
                }}
            }}"
        );
        tokens.extend(fill(
            &code,
            &[
                ("BODY", self.typed_body().into()),
                ("OUTPUT", self.output.unwrap_or_default()),
                ("RUNTIME", options.runtime(attribute)),
            ],
        ));
        tokens
    }

    /// Returns the body with a statement in front that fixes its type. Type errors are then
    /// reported at the expression that has the wrong type, not at the attribute.
    fn typed_body(&self) -> TokenTree {
        let Some(output) = &self.output else { return self.body.clone().into() };
        let mut tokens = fill(
            "#[allow(unreachable_code, clippy::diverging_sub_expression, clippy::empty_loop)]
            if false {
                let output: OUTPUT = loop {};
                return output;
            }",
            &[("OUTPUT", output.clone())],
        );
        tokens.extend(self.body.stream());
        with_tokens(&self.body, tokens).into()
    }
}

/// Returns a group with the delimiter and span of `group`, and other tokens.
fn with_tokens(group: &Group, tokens: TokenStream) -> Group {
    let mut new = Group::new(group.delimiter(), tokens);
    new.set_span(group.span());
    new
}

/// Removes `#![…]` from the front of `body` and adds it to the function's attributes.
fn without_inner_attributes(body: &Group, attributes: &mut TokenStream) -> Group {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let mut rest = tokens.as_slice();
    while let [hash, bang, brackets, after @ ..] = rest {
        if !(is_punct(Some(hash), '#') && is_punct(Some(bang), '!')) {
            break;
        }
        attributes.extend([hash.clone(), brackets.clone()]);
        rest = after;
    }
    with_tokens(body, rest.iter().cloned().collect())
}

/// Returns whether an attribute's brackets contain `test`, alone or at the end of a path in `core`
/// or `std`.
fn is_test_attribute(brackets: Option<&TokenTree>) -> bool {
    let Some(group) = as_group(brackets, Delimiter::Bracket) else { return false };
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let path: Vec<_> = tokens
        .iter()
        .take_while(|token| matches!(token, TokenTree::Ident(_)) || is_punct(Some(token), ':'))
        .collect();
    let is_plain = path.len() == 1
        || tokens.iter().any(|token| is_ident(Some(token), "core") || is_ident(Some(token), "std"));
    is_plain && is_ident(path.last().copied(), "test")
}

/// Removes `#[test]` and its variants from an item with an error, since they would report errors of
/// their own.
pub(super) fn without_test_attributes(item: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let (mut kept, mut rest) = (TokenStream::new(), tokens.as_slice());
    while let [first, after @ ..] = rest {
        if is_punct(Some(first), '#') && is_test_attribute(after.first()) {
            rest = &after[1..];
            continue;
        }
        kept.extend([first.clone()]);
        rest = after;
    }
    kept
}

fn check_main_args(head: &[TokenTree], fn_at: usize, attribute: Attribute) -> Result<(), Error> {
    let is_main = attribute.kind == Kind::Main && is_ident(head.get(fn_at + 1), "main");
    match as_group(head.get(fn_at + 2), Delimiter::Parenthesis) {
        Some(args) if is_main && !args.stream().is_empty() => {
            Err(Error::new(args.span(), "the main function cannot accept arguments"))
        }
        _ => Ok(()),
    }
}

/// Returns the return type of a function whose tokens start at `fn`: those between `->` and the
/// `where` clause or the end. `()` if there is no `->`, `None` if a variable cannot have the type.
fn output_of(function: &[TokenTree]) -> Option<TokenStream> {
    // Skips the generics after the name, which may contain parentheses and arrows.
    let generics = function.get(2..).map_or(0, angles_end);
    let after_args = function.get(2 + generics + 1..).unwrap_or_default();
    if !(is_punct(after_args.first(), '-') && is_punct(after_args.get(1), '>')) {
        return Some(fill("()", &[]));
    }
    let output = after_args[2..].iter().take_while(|token| !is_ident(Some(token), "where"));
    let output: Vec<TokenTree> = output.cloned().collect();
    let cannot_be_named =
        output.iter().any(|token| is_ident(Some(token), "impl") || is_punct(Some(token), '!'));
    (!cannot_be_named).then(|| output.into_iter().collect())
}
