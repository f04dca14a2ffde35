//! `join!` and `try_join!`: several futures as one, on one task.

use crate::template::fill;
use crate::tokens::{Error, as_group, is_ident, is_punct, split_at_commas};
use proc_macro::{Delimiter, Span, TokenStream, TokenTree};

/// When the whole is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    WithAll,
    WithFirstError,
}

/// Takes `(support path)` off the front, and `biased;` behind it if it is there.
pub(crate) fn support_and_rest(
    input: TokenStream,
) -> Result<(TokenStream, bool, Vec<TokenTree>), Error> {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    let Some(support) = as_group(tokens.first(), Delimiter::Parenthesis) else {
        return Err(Error::new(Span::call_site(), "not to be called but through the macro itself"));
    };
    let is_biased = is_ident(tokens.get(1), "biased") && is_punct(tokens.get(2), ';');
    let rest = tokens[if is_biased { 3 } else { 1 }..].to_vec();
    Ok((support.stream(), is_biased, rest))
}

pub(crate) fn expand(input: TokenStream, ends: Ends) -> Result<TokenStream, Error> {
    let (support, is_biased, rest) = support_and_rest(input)?;
    let futures = split_at_commas(rest);
    let (mut made, mut arms, mut taken) =
        (TokenStream::new(), TokenStream::new(), TokenStream::new());
    let poll = match ends {
        Ends::WithAll => {
            "INDEX => {
                let fut = &mut futures.INDEX;
                let fut = unsafe { SUPPORT::Pin::new_unchecked(fut) };
                if SUPPORT::Future::poll(fut, cx).is_pending() {
                    is_pending = true;
                }
            }"
        }
        Ends::WithFirstError => {
            "INDEX => {
                let fut = &mut futures.INDEX;
                let mut fut = unsafe { SUPPORT::Pin::new_unchecked(fut) };
                if SUPPORT::Future::poll(fut.as_mut(), cx).is_pending() {
                    is_pending = true;
                } else if fut.as_mut().output_mut().expect(\"expected completed future\").is_err() {
                    return SUPPORT::Poll::Ready(SUPPORT::Result::Err(
                        fut.take_output().expect(\"expected completed future\").err().unwrap(),
                    ));
                }
            }"
        }
    };
    let take = match ends {
        Ends::WithAll => {
            "{
                let fut = &mut futures.INDEX;
                let fut = unsafe { SUPPORT::Pin::new_unchecked(fut) };
                fut.take_output().expect(\"expected completed future\")
            },"
        }
        Ends::WithFirstError => {
            "{
                let fut = &mut futures.INDEX;
                let fut = unsafe { SUPPORT::Pin::new_unchecked(fut) };
                match fut.take_output().expect(\"expected completed future\") {
                    SUPPORT::Result::Ok(output) => output,
                    SUPPORT::Result::Err(_) => unreachable!(),
                }
            },"
        }
    };
    for (index, future) in futures.iter().enumerate() {
        let holes = [
            ("SUPPORT", support.clone()),
            ("FUTURE", future.iter().cloned().collect()),
            ("INDEX", TokenTree::from(proc_macro::Literal::usize_unsuffixed(index)).into()),
        ];
        made.extend(fill("SUPPORT::maybe_done(FUTURE),", &holes));
        arms.extend(fill(poll, &holes));
        taken.extend(fill(take, &holes));
    }
    let output = match ends {
        Ends::WithAll => "(TAKEN)",
        Ends::WithFirstError => "SUPPORT::Result::Ok((TAKEN))",
    };
    // Where the next poll begins: none goes first for ever, and so uses the budget up.
    let [first, index, rotate] = match is_biased {
        true => ["", "step", ""],
        false => [
            "let mut first = 0u32;",
            "(first + step) % COUNT",
            "#[allow(clippy::modulo_one)] { first = (first + 1) % COUNT; }",
        ],
    };
    let code = format!(
        "{{
            let mut futures = (MADE);
            // Borrowed, not moved into the closure: they stay where they are.
            let mut futures = &mut futures;
            {first}
            SUPPORT::poll_fn(move |cx| {{
                const COUNT: u32 = COUNT_HERE;
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
    let count = proc_macro::Literal::usize_unsuffixed(futures.len().max(1));
    // Without futures there is nothing to poll, and nothing to divide by.
    if futures.is_empty() {
        return Ok(match ends {
            Ends::WithAll => fill("{ async {}.await }", &[]),
            Ends::WithFirstError => {
                fill("{ async { SUPPORT::Result::Ok(()) }.await }", &[("SUPPORT", support)])
            }
        });
    }
    Ok(fill(
        &code,
        &[
            ("SUPPORT", support),
            ("MADE", made),
            ("ARMS", arms),
            ("TAKEN", taken),
            ("COUNT_HERE", TokenTree::from(count).into()),
        ],
    ))
}
