//! `join!` and `try_join!`: poll several futures concurrently on one task.

use crate::template::{fill, fill_at, located_at_span};
use crate::tokens::{Error, as_group, is_ident, is_punct, span_of, split_at_commas};
use proc_macro::{Delimiter, Literal, Span, TokenStream, TokenTree};

/// The macro to expand. `Join` completes with all futures, `TryJoin` also with the first error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
    Join,
    TryJoin,
}

impl JoinKind {
    /// Returns the template of the code that polls one future.
    fn poll_code(self) -> &'static str {
        match self {
            JoinKind::Join => {
                "INDEX => {
                    let fut = &mut futures.INDEX;
                    // SAFETY: the futures stay borrowed until they are dropped, so none moves.
                    let fut = unsafe { SUPPORT::Pin::new_unchecked(fut) };
                    is_pending |= SUPPORT::Future::poll(fut, cx).is_pending();
                }"
            }
            JoinKind::TryJoin => {
                "INDEX => {
                    let fut = &mut futures.INDEX;
                    // SAFETY: the futures stay borrowed until they are dropped, so none moves.
                    let mut fut = unsafe { SUPPORT::Pin::new_unchecked(fut) };
                    is_pending |= SUPPORT::Future::poll(fut.as_mut(), cx).is_pending();
                    if let SUPPORT::Option::Some(error) = SUPPORT::take_error(fut) {
                        return SUPPORT::Poll::Ready(SUPPORT::Result::Err(error));
                    }
                }"
            }
        }
    }

    /// Returns the template of the code that takes one future's result once all have completed.
    fn take_code(self) -> &'static str {
        match self {
            JoinKind::Join => {
                "{
                    let fut = &mut futures.INDEX;
                    // SAFETY: the futures stay borrowed until they are dropped, so none moves.
                    SUPPORT::take_output(unsafe { SUPPORT::Pin::new_unchecked(fut) })
                },"
            }
            JoinKind::TryJoin => {
                "{
                    let fut = &mut futures.INDEX;
                    // SAFETY: the futures stay borrowed until they are dropped, so none moves.
                    SUPPORT::take_value(unsafe { SUPPORT::Pin::new_unchecked(fut) })
                },"
            }
        }
    }

    /// Returns the template of the macro's value, made of all results.
    fn output_code(self) -> &'static str {
        match self {
            JoinKind::Join => "(TAKEN)",
            JoinKind::TryJoin => "SUPPORT::Result::Ok((TAKEN))",
        }
    }
}

/// Splits the input in the support path, whether `biased;` follows it, and the remaining tokens.
pub(crate) fn support_and_rest(
    input: TokenStream,
) -> Result<(TokenStream, bool, Vec<TokenTree>), Error> {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    let Some(support) = as_group(tokens.first(), Delimiter::Parenthesis) else {
        return Err(Error::new(
            Span::call_site(),
            "this macro is internal: call `select!`, `join!` or `try_join!` instead",
        ));
    };
    let is_biased = is_ident(tokens.get(1), "biased") && is_punct(tokens.get(2), ';');
    let rest = tokens[if is_biased { 3 } else { 1 }..].to_vec();
    Ok((support.stream(), is_biased, rest))
}

pub(crate) fn expand(input: TokenStream, kind: JoinKind) -> Result<TokenStream, Error> {
    let (support, is_biased, rest) = support_and_rest(input)?;
    let futures = split_at_commas(rest);
    // Handled separately: the template below divides by the number of futures.
    if futures.is_empty() {
        let code = match kind {
            JoinKind::Join => "{ async {}.await }",
            JoinKind::TryJoin => "{ async { SUPPORT::Result::Ok(()) }.await }",
        };
        return Ok(fill(code, &[("SUPPORT", support)]));
    }
    Ok(generate(support, is_biased, kind, &futures))
}

fn generate(
    support: TokenStream,
    is_biased: bool,
    kind: JoinKind,
    futures: &[Vec<TokenTree>],
) -> TokenStream {
    let (mut expressions, mut arms, mut taken) =
        (TokenStream::new(), TokenStream::new(), TokenStream::new());
    for (index, future) in futures.iter().enumerate() {
        let span = span_of(future);
        let holes = [
            ("SUPPORT", located_at_span(span, &support)),
            ("FUTURE", future.iter().cloned().collect()),
            ("INDEX", TokenTree::from(Literal::usize_unsuffixed(index)).into()),
        ];
        expressions.extend(fill_at(span, "SUPPORT::maybe_done(FUTURE),", &holes));
        arms.extend(fill_at(span, kind.poll_code(), &holes));
        taken.extend(fill_at(span, kind.take_code(), &holes));
    }
    // Each poll starts with the next future, so that no future always uses the budget first.
    let [first, index, rotate] = match is_biased {
        true => ["", "step", ""],
        false => [
            "let mut first = 0u32;",
            "(first + step) % COUNT",
            "#[allow(clippy::modulo_one)] { first = (first + 1) % COUNT; }",
        ],
    };
    let output = kind.output_code();
    let code = format!(
        "{{
            let mut futures = (EXPRESSIONS);
            // The closure gets a borrow, so the futures do not move with it.
            let mut futures = &mut futures;
            {first}
            SUPPORT::poll_fn(move |cx| {{
                let mut is_pending = false;
                for step in 0..COUNT {{
                    #[allow(clippy::modulo_one)]
                    let index = {index};
                    match index {{
                        ARMS
                        _ => unreachable!(),
                    }}
                }}
                {rotate}
                if is_pending {{
                    SUPPORT::Poll::Pending
                }} else {{
                    SUPPORT::Poll::Ready({output})
                }}
            }}).await
        }}"
    );
    let count = Literal::u32_suffixed(futures.len() as u32);
    fill(
        &code,
        &[
            ("SUPPORT", support),
            ("EXPRESSIONS", expressions),
            ("ARMS", arms),
            ("TAKEN", taken),
            ("COUNT", TokenTree::from(count).into()),
        ],
    )
}
