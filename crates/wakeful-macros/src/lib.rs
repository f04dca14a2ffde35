//! The procedural part of Wakeful's macros: `#[main]`, `#[test]`, and what `select!`, `join!` and
//! `try_join!` expand to.
//!
//! Written on tokens, without a parser for all of Rust: what these macros have to tell apart is a
//! function's signature from its body, and a branch's pattern from its future and handler. That keeps
//! the build of every program that uses them short, and the user's tokens as they are, so that the
//! compiler's errors point at the user's lines.

mod entry;
mod join;
mod select;
mod template;
mod tokens;

use entry::{Attribute, Kind};
use proc_macro::TokenStream;

fn entry(args: TokenStream, item: TokenStream, attribute: Attribute) -> TokenStream {
    entry::expand(args, item, attribute)
        .unwrap_or_else(|(error, item)| error.into_tokens_before(item))
}

/// Runs an async `main` on a multi-thread runtime, or as its arguments say.
///
/// ```
/// #[wakeful::main]
/// async fn main() -> std::io::Result<()> {
///     let listener = wakeful::net::TcpListener::bind("127.0.0.1:0").await?;
///     println!("listening on {}", listener.local_addr()?);
///     Ok(())
/// }
/// ```
///
/// The runtime has everything enabled. What it is like, the arguments say:
///
/// | argument | |
/// |---|---|
/// | `flavor = "multi_thread"` | worker threads; the default |
/// | `flavor = "current_thread"` | everything on the main thread |
/// | `flavor = "local"` | as before, and tasks need not be `Send`: a `LocalRuntime` |
/// | `worker_threads = 4` | how many, for `multi_thread` |
/// | `start_paused = true` | a clock that stands still, for `current_thread`; takes feature `test-util` |
/// | `unhandled_panic = "shutdown_runtime"` | a panic in a task ends everything, for `current_thread` |
/// | `name = "…"` | the runtime's name |
/// | `crate = "…"` | the path of this crate, where it has been renamed |
///
/// ```
/// #[wakeful::main(flavor = "current_thread")]
/// async fn main() {
///     let answer = wakeful::spawn(async { 6 * 7 });
///     assert_eq!(answer.await.unwrap(), 42);
/// }
/// ```
///
/// The function need not be called `main`; it becomes an ordinary one that blocks until it is done:
///
/// ```
/// #[wakeful::main(worker_threads = 2)]
/// async fn add(one: u32, other: u32) -> u32 {
///     wakeful::task::yield_now().await;
///     one + other
/// }
///
/// assert_eq!(add(1, 2), 3);
/// ```
#[proc_macro_attribute]
pub fn main(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "wakeful", has_multi_thread: true })
}

/// Runs an async test on a current-thread runtime, or as its arguments say.
///
/// Each test has a runtime of its own. The arguments are those of [`main`](macro@main).
///
/// ```
/// #[wakeful::test]
/// async fn messages_arrive() {
///     let (tx, rx) = wakeful::sync::oneshot::channel();
///     tx.send("hello").unwrap();
///     assert_eq!(rx.await, Ok("hello"));
/// }
///
/// #[wakeful::test(start_paused = true)]
/// async fn sleeps_for_an_hour_in_no_time() {
///     wakeful::time::sleep(std::time::Duration::from_secs(3600)).await;
/// }
/// ```
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "wakeful", has_multi_thread: true })
}

/// `#[main]` in a build without the multi-thread runtime.
#[proc_macro_attribute]
pub fn main_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "wakeful", has_multi_thread: false })
}

/// `#[test]` in a build without the multi-thread runtime.
#[proc_macro_attribute]
pub fn test_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "wakeful", has_multi_thread: false })
}

/// Runs an async `main` on a multi-thread runtime, or as its arguments say: [`main`](macro@main) of
/// `wakeful`, for the drop-in.
#[proc_macro_attribute]
pub fn tokio_main(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "tokio", has_multi_thread: true })
}

/// Runs an async test on a current-thread runtime, or as its arguments say: [`test`](macro@test) of
/// `wakeful`, for the drop-in.
#[proc_macro_attribute]
pub fn tokio_test(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "tokio", has_multi_thread: true })
}

/// `#[main]` of the drop-in in a build without the multi-thread runtime.
#[proc_macro_attribute]
pub fn tokio_main_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "tokio", has_multi_thread: false })
}

/// `#[test]` of the drop-in in a build without the multi-thread runtime.
#[proc_macro_attribute]
pub fn tokio_test_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "tokio", has_multi_thread: false })
}

/// `#[main]` and `#[test]` in a build without any runtime: says what is missing.
#[proc_macro_attribute]
pub fn without_rt(_args: TokenStream, _item: TokenStream) -> TokenStream {
    let text = "this attribute starts a runtime: turn feature `rt` or `rt-multi-thread` on";
    tokens::Error::new(proc_macro::Span::call_site(), text).into_tokens()
}

/// What `select!` expands to. Begins with the path of the support module in parentheses.
#[proc_macro]
pub fn select(input: TokenStream) -> TokenStream {
    select::expand(input).unwrap_or_else(|error| error.into_tokens())
}

/// What `join!` expands to. Begins with the path of the support module in parentheses.
#[proc_macro]
pub fn join(input: TokenStream) -> TokenStream {
    join::expand(input, join::JoinKind::Join).unwrap_or_else(|error| error.into_tokens())
}

/// What `try_join!` expands to. Begins with the path of the support module in parentheses.
#[proc_macro]
pub fn try_join(input: TokenStream) -> TokenStream {
    join::expand(input, join::JoinKind::TryJoin).unwrap_or_else(|error| error.into_tokens())
}
