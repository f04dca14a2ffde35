//! `#[main]` and `#[test]`: an async function becomes one that runs it on a runtime of its own.

use crate::template::fill;
use crate::tokens::{Error, as_group, is_ident, is_punct, split_at_commas};
use proc_macro::{Delimiter, Literal, Span, TokenStream, TokenTree};

/// Which attribute, of which crate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attribute {
    pub(crate) kind: Kind,
    pub(crate) library: &'static str,
    /// The crate was built with a multi-thread runtime.
    pub(crate) has_multi_thread: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Main,
    Test,
}

impl Attribute {
    fn name(self) -> String {
        let kind = if self.kind == Kind::Main { "main" } else { "test" };
        format!("{}::{kind}", self.library)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flavor {
    CurrentThread,
    MultiThread,
    Local,
}

/// What the arguments say, each with the place where.
#[derive(Default)]
struct Options {
    flavor: Option<(Flavor, Span)>,
    worker_threads: Option<(Literal, Span)>,
    start_paused: Option<(TokenTree, Span)>,
    library: Option<TokenStream>,
    unhandled_panic: Option<(&'static str, Span)>,
    name: Option<Literal>,
}

/// The function, taken apart.
struct AsyncFn {
    attributes: TokenStream,
    /// From the visibility to the `where` clause, without `async`.
    signature: TokenStream,
    output: TokenStream,
    body: TokenTree,
}

pub(crate) fn expand(
    args: TokenStream,
    item: TokenStream,
    attribute: Attribute,
) -> Result<TokenStream, (Error, TokenStream)> {
    let function =
        AsyncFn::parse(item.clone(), attribute).map_err(|error| (error, item.clone()))?;
    let options = Options::parse(args, attribute)
        .and_then(|options| options.check(attribute))
        .map_err(|error| (error, item))?;
    Ok(function.on_runtime(&options, attribute))
}

impl Options {
    fn parse(args: TokenStream, attribute: Attribute) -> Result<Options, Error> {
        let mut options = Options::default();
        for arg in split_at_commas(args.into_iter().collect()) {
            options.parse_one(&arg, attribute)?;
        }
        Ok(options)
    }

    fn parse_one(&mut self, arg: &[TokenTree], attribute: Attribute) -> Result<(), Error> {
        let [TokenTree::Ident(name), equals, value] = arg else {
            let span = arg.first().map_or_else(Span::call_site, TokenTree::span);
            let known =
                "`flavor`, `worker_threads`, `start_paused`, `crate`, `unhandled_panic`, `name`";
            return Err(Error::new(
                span,
                format!(
                    "`#[{}]` takes arguments of the form `name = value`, of {known}",
                    attribute.name()
                ),
            ));
        };
        let (name, span) = (name.to_string(), value.span());
        if !is_punct(Some(equals), '=') {
            return Err(Error::new(equals.span(), format!("expected `{name} = value`")));
        }
        let is_again = match name.as_str() {
            "flavor" => self.flavor.replace((parse_flavor(value)?, span)).is_some(),
            "worker_threads" => {
                self.worker_threads.replace((parse_threads(value)?, span)).is_some()
            }
            "start_paused" => {
                if !(is_ident(Some(value), "true") || is_ident(Some(value), "false")) {
                    return Err(Error::new(
                        span,
                        "Failed to parse value of `start_paused` as bool.",
                    ));
                }
                self.start_paused.replace((value.clone(), span)).is_some()
            }
            "crate" => self.library.replace(parse_path(value)?).is_some(),
            "unhandled_panic" => {
                let behavior = match parse_string(value, "unhandled_panic")?.as_str() {
                    "ignore" => "Ignore",
                    "shutdown_runtime" => "ShutdownRuntime",
                    other => {
                        return Err(Error::new(
                            span,
                            format!(
                                "No such unhandled panic behavior `{other}`. The unhandled panic behaviors are \
                         `ignore` and `shutdown_runtime`."
                            ),
                        ));
                    }
                };
                self.unhandled_panic.replace((behavior, span)).is_some()
            }
            "name" => {
                let text = parse_string(value, "name")?;
                self.name.replace(Literal::string(&text)).is_some()
            }
            other => {
                return Err(Error::new(
                    arg[0].span(),
                    format!(
                        "Unknown attribute {other} is specified; expected one of: `flavor`, \
                     `worker_threads`, `start_paused`, `crate`, `unhandled_panic`, `name`."
                    ),
                ));
            }
        };
        if is_again {
            return Err(Error::new(arg[0].span(), format!("`{name}` set multiple times.")));
        }
        Ok(())
    }

    fn flavor(&self, attribute: Attribute) -> Flavor {
        let default = match attribute.kind {
            Kind::Main if attribute.has_multi_thread => Flavor::MultiThread,
            _ => Flavor::CurrentThread,
        };
        self.flavor.map_or(default, |(flavor, _)| flavor)
    }

    /// Refuses what does not go together.
    fn check(self, attribute: Attribute) -> Result<Options, Error> {
        let flavor = self.flavor(attribute);
        let requires = |option: &str, flavor: &str| {
            format!(
                "The `{option}` option requires the `{flavor}` runtime flavor. Use \
                 `#[{}(flavor = \"{flavor}\")]`",
                attribute.name()
            )
        };
        if let (Flavor::MultiThread, Some((_, span)), false) =
            (flavor, self.flavor, attribute.has_multi_thread)
        {
            return Err(Error::new(
                span,
                "The runtime flavor `multi_thread` requires the `rt-multi-thread` feature.",
            ));
        }
        if flavor != Flavor::MultiThread {
            if let Some((_, span)) = &self.worker_threads {
                return Err(Error::new(*span, requires("worker_threads", "multi_thread")));
            }
            return Ok(self);
        }
        let bound = [
            ("start_paused", self.start_paused.as_ref().map(|(_, span)| *span)),
            ("unhandled_panic", self.unhandled_panic.map(|(_, span)| span)),
        ];
        match bound.into_iter().find_map(|(option, span)| Some((option, span?))) {
            Some((option, span)) => Err(Error::new(span, requires(option, "current_thread"))),
            None => Ok(self),
        }
    }

    /// The expression that makes the runtime.
    fn runtime(&self, attribute: Attribute) -> TokenStream {
        let library = self
            .library
            .clone()
            .unwrap_or_else(|| attribute.library.parse().expect("a crate's name is an identifier"));
        let flavor = self.flavor(attribute);
        let mut builder = match flavor {
            Flavor::MultiThread => "LIBRARY::runtime::Builder::new_multi_thread()",
            _ => "LIBRARY::runtime::Builder::new_current_thread()",
        }
        .to_owned();
        let mut holes = vec![("LIBRARY", library)];
        if let Some((threads, _)) = &self.worker_threads {
            builder += ".worker_threads(THREADS)";
            holes.push(("THREADS", TokenTree::from(threads.clone()).into()));
        }
        if let Some((paused, _)) = &self.start_paused {
            builder += ".start_paused(PAUSED)";
            holes.push(("PAUSED", paused.clone().into()));
        }
        if let Some((behavior, _)) = self.unhandled_panic {
            builder += ".unhandled_panic(LIBRARY::runtime::UnhandledPanic::BEHAVIOR)";
            holes.push(("BEHAVIOR", behavior.parse().expect("a variant is an identifier")));
        }
        if let Some(name) = &self.name {
            builder += ".name(NAME)";
            holes.push(("NAME", TokenTree::from(name.clone()).into()));
        }
        builder += match flavor {
            Flavor::Local => ".enable_all().build_local(::core::default::Default::default())",
            _ => ".enable_all().build()",
        };
        fill(&builder, &holes)
    }
}

fn parse_flavor(value: &TokenTree) -> Result<Flavor, Error> {
    let text = parse_string(value, "flavor")?;
    let why = match text.as_str() {
        "current_thread" => return Ok(Flavor::CurrentThread),
        "multi_thread" => return Ok(Flavor::MultiThread),
        "local" => return Ok(Flavor::Local),
        "single_thread" => {
            "The single threaded runtime flavor is called `current_thread`.".to_owned()
        }
        "basic_scheduler" => {
            "The `basic_scheduler` runtime flavor has been renamed to `current_thread`.".to_owned()
        }
        "threaded_scheduler" => {
            "The `threaded_scheduler` runtime flavor has been renamed to `multi_thread`.".to_owned()
        }
        other => format!(
            "No such runtime flavor `{other}`. The runtime flavors are `current_thread`, `local`, and \
             `multi_thread`."
        ),
    };
    Err(Error::new(value.span(), why))
}

fn parse_threads(value: &TokenTree) -> Result<Literal, Error> {
    let TokenTree::Literal(literal) = value else {
        return Err(Error::new(
            value.span(),
            "Failed to parse value of `worker_threads` as integer.",
        ));
    };
    let digits: String = literal.to_string().chars().filter(|&char| char != '_').collect();
    match digits.trim_end_matches("usize").parse::<usize>() {
        Ok(0) => Err(Error::new(value.span(), "`worker_threads` may not be 0.")),
        Ok(_) => Ok(literal.clone()),
        Err(error) => Err(Error::new(
            value.span(),
            format!("Failed to parse value of `worker_threads` as integer: {error}"),
        )),
    }
}

fn parse_string(value: &TokenTree, field: &str) -> Result<String, Error> {
    let text = value.to_string();
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    // An identifier was allowed long ago, and still is.
    let plain = matches!(value, TokenTree::Ident(_)).then_some(text.as_str());
    inner.or(plain).map(str::to_owned).ok_or_else(|| {
        Error::new(value.span(), format!("Failed to parse value of `{field}` as string."))
    })
}

fn parse_path(value: &TokenTree) -> Result<TokenStream, Error> {
    let text = parse_string(value, "crate")?;
    let is_path = !text.is_empty()
        && text.chars().all(|char| char.is_alphanumeric() || char == '_' || char == ':');
    let parsed = text.parse::<TokenStream>().ok().filter(|_| is_path).ok_or_else(|| {
        Error::new(value.span(), format!("Failed to parse value of `crate` as path: \"{text}\""))
    })?;
    Ok(parsed
        .into_iter()
        .map(|mut token| {
            token.set_span(value.span());
            token
        })
        .collect())
}

impl AsyncFn {
    fn parse(item: TokenStream, attribute: Attribute) -> Result<AsyncFn, Error> {
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
        let attributes = tokens[..at].iter().cloned().collect();
        let Some((body, head)) = tokens[at..].split_last() else {
            return Err(Error::new(
                Span::call_site(),
                format!("`#[{}]` goes on a function", attribute.name()),
            ));
        };
        let fn_at = head.iter().position(|token| is_ident(Some(token), "fn")).unwrap_or(0);
        let async_at = head[..fn_at].iter().position(|token| is_ident(Some(token), "async"));
        let Some(async_at) = async_at.filter(|_| as_group(Some(body), Delimiter::Brace).is_some())
        else {
            let span = head.get(fn_at).map_or_else(Span::call_site, TokenTree::span);
            return Err(Error::new(
                span,
                "the `async` keyword is missing from the function declaration",
            ));
        };
        check_main_args(head, fn_at, attribute)?;
        let signature = head.iter().enumerate().filter(|(at, _)| *at != async_at);
        Ok(AsyncFn {
            attributes,
            signature: signature.map(|(_, token)| token.clone()).collect(),
            output: output_of(head),
            body: body.clone(),
        })
    }

    fn on_runtime(self, options: &Options, attribute: Attribute) -> TokenStream {
        let mut tokens = TokenStream::new();
        if attribute.kind == Kind::Test {
            tokens.extend(fill("#[::core::prelude::v1::test]", &[]));
        }
        tokens.extend(self.attributes);
        tokens.extend(self.signature);
        // The type of the body is erased in tests, where many of them would be compiled otherwise.
        let pinned = match attribute.kind {
            Kind::Main => "",
            Kind::Test => {
                "let body = ::core::pin::pin!(body);
                 let body: ::core::pin::Pin<&mut dyn ::core::future::Future<Output = OUTPUT>> = body;"
            }
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
                ("BODY", self.body.into()),
                ("OUTPUT", self.output),
                ("RUNTIME", options.runtime(attribute)),
            ],
        ));
        tokens
    }
}

/// Whether an attribute's brackets hold `test`, by itself or at the end of a path.
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

fn check_main_args(head: &[TokenTree], fn_at: usize, attribute: Attribute) -> Result<(), Error> {
    let is_main = attribute.kind == Kind::Main && is_ident(head.get(fn_at + 1), "main");
    match as_group(head.get(fn_at + 2), Delimiter::Parenthesis) {
        Some(args) if is_main && !args.stream().is_empty() => {
            Err(Error::new(args.span(), "the main function cannot accept arguments"))
        }
        _ => Ok(()),
    }
}

/// What stands between `->` and the `where` clause or the body.
fn output_of(head: &[TokenTree]) -> TokenStream {
    let args_at = head
        .iter()
        .position(|token| as_group(Some(token), Delimiter::Parenthesis).is_some())
        .unwrap_or(head.len());
    let after = head.get(args_at + 1..).unwrap_or_default();
    if !(is_punct(after.first(), '-') && is_punct(after.get(1), '>')) {
        return fill("()", &[]);
    }
    let output = after[2..].iter().take_while(|token| !is_ident(Some(token), "where"));
    output.cloned().collect()
}
