//! `select!`: waits for the first of several futures to complete.

use crate::join::support_and_rest;
use crate::template::{fill, fill_at, located_at_span};
use crate::tokens::{
    Error, as_group, expression_end, is_fat_arrow, is_ident, is_lone_equals, is_punct, span_of,
};
use proc_macro::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};

/// The maximum number of branches: one bit each in the largest mask of disabled branches, a `u64`.
const BRANCHES_MAX: usize = 64;

struct Branch {
    pattern: Vec<TokenTree>,
    future: Vec<TokenTree>,
    condition: Option<Vec<TokenTree>>,
    handler: Vec<TokenTree>,
}

struct Parser<'a> {
    rest: &'a [TokenTree],
}

impl<'a> Parser<'a> {
    fn span(&self) -> Span {
        span_of(self.rest)
    }

    fn take(&mut self, count: usize) -> Vec<TokenTree> {
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken.to_vec()
    }

    fn position(&self, found: impl Fn(&[TokenTree], usize) -> bool) -> Option<usize> {
        (0..self.rest.len()).find(|&at| found(self.rest, at))
    }

    fn branch(&mut self) -> Result<Branch, Error> {
        let start = self.span();
        let Some(equals) = self.position(is_lone_equals) else {
            return Err(Error::new(
                start,
                "a branch of `select!` must be `pattern = future => handler`, but `=` is missing",
            ));
        };
        let pattern = self.take(equals);
        self.take(1);
        let is_end = |tokens: &[TokenTree], at: usize| {
            is_fat_arrow(tokens, at)
                || (is_punct(tokens.get(at), ',') && is_ident(tokens.get(at + 1), "if"))
        };
        let Some(end) = self.position(is_end) else {
            return Err(Error::new(
                start,
                "a branch of `select!` must be `pattern = future => handler`, but `=>` is missing",
            ));
        };
        let future = self.take(end);
        let mut condition = None;
        if is_punct(self.rest.first(), ',') {
            self.take(2);
            let Some(end) = self.position(is_fat_arrow) else {
                return Err(Error::new(start, "expected `=>` after this `if` condition"));
            };
            condition = Some(self.take(end));
        }
        Ok(Branch { pattern, future, condition, handler: self.handler()? })
    }

    /// Parses `=> handler` and a comma after it.
    fn handler(&mut self) -> Result<Vec<TokenTree>, Error> {
        let arrow = self.span();
        self.take(2);
        if self.rest.is_empty() {
            return Err(Error::new(arrow, "expected a handler after this `=>`"));
        }
        // A block needs no comma after it, unless it is continued by a method call or `?`.
        let is_block = as_group(self.rest.first(), Delimiter::Brace).is_some();
        let is_continued = is_punct(self.rest.get(1), '.') || is_punct(self.rest.get(1), '?');
        let end = if is_block && !is_continued { 1 } else { expression_end(self.rest) };
        let handler = self.take(end);
        if is_punct(self.rest.first(), ',') {
            self.take(1);
        }
        Ok(handler)
    }
}

pub(crate) fn expand(input: TokenStream) -> Result<TokenStream, Error> {
    let (support, is_biased, rest) = support_and_rest(input)?;
    let mut parser = Parser { rest: &rest };
    let (mut branches, mut else_handler) = (Vec::new(), None);
    while !parser.rest.is_empty() {
        if is_ident(parser.rest.first(), "else") && is_fat_arrow(parser.rest, 1) {
            parser.take(1);
            else_handler = Some(parser.handler()?);
            if !parser.rest.is_empty() {
                return Err(Error::new(parser.span(), "`else` must be the last branch"));
            }
            break;
        }
        branches.push(parser.branch()?);
    }
    if branches.len() > BRANCHES_MAX {
        return Err(Error::new(Span::call_site(), "up to 64 branches supported"));
    }
    if branches.is_empty() && else_handler.is_none() {
        return Err(Error::new(
            Span::call_site(),
            "select! requires at least one branch or an `else` branch.",
        ));
    }
    Ok(generate(support, is_biased, &branches, else_handler))
}

fn number(n: usize) -> TokenStream {
    TokenTree::from(Literal::usize_unsuffixed(n)).into()
}

fn name(prefix: &str, n: usize) -> TokenStream {
    TokenTree::from(Ident::new(&format!("{prefix}{n}"), Span::mixed_site())).into()
}

/// Returns the smallest unsigned type with a bit for each branch.
fn mask_type(branches: usize) -> TokenStream {
    let path = match branches {
        0..=8 => "::core::primitive::u8",
        9..=16 => "::core::primitive::u16",
        17..=32 => "::core::primitive::u32",
        _ => "::core::primitive::u64",
    };
    fill(path, &[])
}

/// The template that `select!` expands to.
const EXPANSION: &str = "{
    enum __SelectOutput<GENERICS> { VARIANTS Disabled }
    let mut disabled: MASK = 0;
    CONDITIONS
    #[allow(unused_mut)]
    let mut output = {
        // A statement of its own: `let` extends the lives of temporaries that the expressions
        // borrow, but not of temporaries in the arguments of a call.
        let futures = (EXPRESSIONS);
        let mut futures = (FUTURES);
        // The closure gets a borrow, so the futures do not move with it.
        let mut futures = &mut futures;
        SUPPORT::poll_fn(|cx| {
            // One borrow for all futures keeps the closure small.
            let futures = &mut *futures;
            match SUPPORT::poll_budget_available(cx) {
                SUPPORT::Poll::Ready(()) => {}
                SUPPORT::Poll::Pending => return SUPPORT::Poll::Pending,
            }
            let mut is_pending = false;
            let start = START;
            for step in 0..COUNT {
                let branch;
                #[allow(clippy::modulo_one)]
                { branch = (start + step) % COUNT; }
                match branch {
                    ARMS
                    _ => unreachable!(\"invalid branch index\"),
                }
            }
            if is_pending {
                SUPPORT::Poll::Pending
            } else {
                SUPPORT::Poll::Ready(__SelectOutput::Disabled)
            }
        }).await
    };
    match output {
        HANDLERS
        __SelectOutput::Disabled => ELSE_HANDLER,
        #[allow(unreachable_patterns)]
        _ => unreachable!(\"the pattern matched inside the poll\"),
    }
}";

fn generate(
    support: TokenStream,
    is_biased: bool,
    branches: &[Branch],
    else_handler: Option<Vec<TokenTree>>,
) -> TokenStream {
    if branches.is_empty() {
        return else_handler.into_iter().flatten().collect();
    }
    let mut parts = Parts::default();
    for (index, branch) in branches.iter().enumerate() {
        parts.add(&support, index, branch);
    }
    let else_handler = match else_handler {
        Some(handler) => handler.into_iter().collect(),
        None => fill("panic!(\"all branches are disabled and there is no else branch\")", &[]),
    };
    let count: TokenStream = TokenTree::from(Literal::u32_suffixed(branches.len() as u32)).into();
    let start = if is_biased {
        number(0)
    } else {
        let holes = [("SUPPORT", support.clone()), ("COUNT", count.clone())];
        fill("SUPPORT::thread_rng_n(COUNT)", &holes)
    };
    fill(
        EXPANSION,
        &[
            ("SUPPORT", support),
            ("GENERICS", parts.generics),
            ("VARIANTS", parts.variants),
            ("COUNT", count),
            ("START", start),
            ("MASK", mask_type(branches.len())),
            ("CONDITIONS", parts.conditions),
            ("EXPRESSIONS", parts.expressions),
            ("FUTURES", parts.futures),
            ("ARMS", parts.arms),
            ("HANDLERS", parts.handlers),
            ("ELSE_HANDLER", else_handler),
        ],
    )
}

/// The parts of the expansion that have code for each branch.
#[derive(Default)]
struct Parts {
    generics: TokenStream,
    variants: TokenStream,
    conditions: TokenStream,
    expressions: TokenStream,
    futures: TokenStream,
    arms: TokenStream,
    handlers: TokenStream,
}

impl Parts {
    fn add(&mut self, support: &TokenStream, index: usize, branch: &Branch) {
        let span = span_of(&branch.future);
        let holes = [
            ("SUPPORT", located_at_span(span, support)),
            ("INDEX", number(index)),
            ("TYPE", name("T", index)),
            ("VARIANT", name("Branch", index)),
            ("PATTERN", branch.pattern.iter().cloned().collect()),
            ("BORROWED_PATTERN", without_binding_modes(branch.pattern.clone())),
            ("FUTURE", branch.future.iter().cloned().collect()),
            ("CONDITION", branch.condition.iter().flatten().cloned().collect()),
            ("HANDLER", branch.handler.iter().cloned().collect()),
        ];
        self.generics.extend(fill("TYPE,", &holes));
        self.variants.extend(fill("VARIANT(TYPE),", &holes));
        if branch.condition.is_some() {
            self.conditions
                .extend(fill("if CONDITION {} else { disabled |= 1 << INDEX; }", &holes));
        }
        self.expressions.extend(fill("FUTURE,", &holes));
        let future = "SUPPORT::IntoFuture::into_future(futures.INDEX),";
        self.futures.extend(fill_at(span, future, &holes));
        self.arms.extend(fill_at(
            span,
            "INDEX => {
                let mask = 1 << INDEX;
                if disabled & mask == mask {
                    continue;
                }
                let fut = &mut futures.INDEX;
                // SAFETY: the futures stay borrowed until they are dropped, so none moves.
                let fut = unsafe { SUPPORT::Pin::new_unchecked(fut) };
                let out = match SUPPORT::Future::poll(fut, cx) {
                    SUPPORT::Poll::Ready(out) => out,
                    SUPPORT::Poll::Pending => {
                        is_pending = true;
                        continue;
                    }
                };
                disabled |= mask;
                #[allow(unused_variables, unused_mut, unreachable_patterns, clippy::match_single_binding)]
                match &out {
                    BORROWED_PATTERN => {}
                    _ => continue,
                }
                return SUPPORT::Poll::Ready(__SelectOutput::VARIANT(out));
            }",
            &holes,
        ));
        self.handlers.extend(fill("__SelectOutput::VARIANT(PATTERN) => HANDLER,", &holes));
    }
}

/// Removes `mut` and `ref` from a pattern, so that it can match a borrowed value.
fn without_binding_modes(pattern: Vec<TokenTree>) -> TokenStream {
    let kept = pattern
        .into_iter()
        .filter(|token| !(is_ident(Some(token), "mut") || is_ident(Some(token), "ref")));
    kept.map(|token| match token {
        TokenTree::Group(group) => {
            let inner = without_binding_modes(group.stream().into_iter().collect());
            let mut new = Group::new(group.delimiter(), inner);
            new.set_span(group.span());
            TokenTree::from(new)
        }
        other => other,
    })
    .collect()
}
