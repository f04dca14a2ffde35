//! The arguments of the attributes, and the builder calls that they become.

use super::{Attribute, Kind};
use crate::template::fill;
use crate::tokens::{Error, is_ident, is_punct, split_at_commas};
use proc_macro::{Literal, Span, TokenStream, TokenTree};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flavor {
    CurrentThread,
    MultiThread,
    Local,
}

/// The parsed arguments, with the spans of their values for errors.
#[derive(Default)]
pub(super) struct Options {
    flavor: Option<(Flavor, Span)>,
    worker_threads: Option<(Literal, Span)>,
    start_paused: Option<(TokenTree, Span)>,
    library: Option<TokenStream>,
    unhandled_panic: Option<(&'static str, Span)>,
    name: Option<Literal>,
}

impl Options {
    pub(super) fn parse(args: TokenStream, attribute: Attribute) -> Result<Options, Error> {
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
                    "`#[{}]` expects arguments of the form `name = value`; the names are {known}",
                    attribute.name()
                ),
            ));
        };
        let (name, span) = (name.to_string(), value.span());
        if !is_punct(Some(equals), '=') {
            return Err(Error::new(equals.span(), format!("expected `{name} = value`")));
        }
        let is_duplicate = match name.as_str() {
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
        if is_duplicate {
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

    /// Returns an error for arguments that the flavor or the crate's features do not support.
    pub(super) fn check(self, attribute: Attribute) -> Result<Options, Error> {
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
        let current_thread_only = [
            ("start_paused", self.start_paused.as_ref().map(|(_, span)| *span)),
            ("unhandled_panic", self.unhandled_panic.map(|(_, span)| span)),
        ];
        match current_thread_only.into_iter().find_map(|(option, span)| Some((option, span?))) {
            Some((option, span)) => Err(Error::new(span, requires(option, "current_thread"))),
            None => Ok(self),
        }
    }

    /// Returns the expression that builds the runtime.
    pub(super) fn runtime(&self, attribute: Attribute) -> TokenStream {
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
    let message = match text.as_str() {
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
    Err(Error::new(value.span(), message))
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
    // Identifiers are accepted for compatibility: old versions of Tokio allowed them.
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
