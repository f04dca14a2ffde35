//! The procedural macros of Wakeful: the attributes `#[main]` and `#[test]`, and the expansions of
//! `select!`, `join!` and `try_join!`.
//!
//! They work on tokens, without a full parser for Rust: these macros only need to separate a
//! function's signature from its body, and a branch's pattern from its future and handler. This
//! keeps builds short, and keeps the user's tokens and their spans, so that compile errors point at
//! the user's lines.
//!
//! | file | contents |
//! |---|---|
//! | `entry.rs` | `#[main]`, `#[test]`: function (`function.rs`) and arguments (`options.rs`) |
//! | `select.rs`, `join.rs` | the expansions of `select!`, `join!` and `try_join!` |
//! | `template.rs` | filling placeholders in a code template |
//! | `tokens.rs` | finding the ends of expressions and generics, and compile errors |

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

/// Runs an async `main` on a runtime: by default, one with several worker threads.
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
/// All drivers of the runtime (I/O and time) are enabled. The arguments configure it:
///
/// | argument | |
/// |---|---|
/// | `flavor = "multi_thread"` | a multi-thread runtime, the default |
/// | `flavor = "current_thread"` | a runtime on the calling thread |
/// | `flavor = "local"` | a `LocalRuntime` on the calling thread, whose tasks need not be `Send` |
/// | `worker_threads = 4` | the number of workers, for `multi_thread` |
/// | `start_paused = true` | a paused clock, for `current_thread`; needs feature `test-util` |
/// | `unhandled_panic = "shutdown_runtime"` | a task's panic ends the runtime (`current_thread`) |
/// | `name = "…"` | the runtime's name |
/// | `crate = "…"` | the path of this crate, if it has been renamed |
///
/// ```
/// #[wakeful::main(flavor = "current_thread")]
/// async fn main() {
///     let answer = wakeful::spawn(async { 6 * 7 });
///     assert_eq!(answer.await.unwrap(), 42);
/// }
/// ```
///
/// The function may have any name. It becomes an ordinary function that blocks until the body
/// completes:
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

/// Runs an async test on a runtime: by default, a current-thread one.
///
/// Each test has its own runtime. The arguments are those of [`main`](macro@main).
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

/// Expands `#[main]` in builds without the multi-thread runtime.
#[proc_macro_attribute]
pub fn main_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "wakeful", has_multi_thread: false })
}

/// Expands `#[test]` in builds without the multi-thread runtime.
#[proc_macro_attribute]
pub fn test_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "wakeful", has_multi_thread: false })
}

/// Runs an async `main` on a runtime, like [`main`](macro@main), for the drop-in crate `tokio`.
#[proc_macro_attribute]
pub fn tokio_main(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "tokio", has_multi_thread: true })
}

/// Runs an async test on a runtime, like [`test`](macro@test), for the drop-in crate `tokio`.
#[proc_macro_attribute]
pub fn tokio_test(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "tokio", has_multi_thread: true })
}

/// Expands the drop-in's `#[main]` in builds without the multi-thread runtime.
#[proc_macro_attribute]
pub fn tokio_main_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "tokio", has_multi_thread: false })
}

/// Expands the drop-in's `#[test]` in builds without the multi-thread runtime.
#[proc_macro_attribute]
pub fn tokio_test_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "tokio", has_multi_thread: false })
}

/// Expands `#[main]` and `#[test]` in builds without a runtime to an error that names the feature.
#[proc_macro_attribute]
pub fn without_rt(_args: TokenStream, _item: TokenStream) -> TokenStream {
    let text = "this attribute starts a runtime: enable feature `rt` or `rt-multi-thread`";
    tokens::Error::new(proc_macro::Span::call_site(), text).into_tokens()
}

/// Expands `select!`. The input starts with the path of the support module in parentheses.
#[proc_macro]
pub fn select(input: TokenStream) -> TokenStream {
    select::expand(input).unwrap_or_else(|error| error.into_tokens())
}

/// Expands `join!`. The input starts with the path of the support module in parentheses.
#[proc_macro]
pub fn join(input: TokenStream) -> TokenStream {
    join::expand(input, join::JoinKind::Join).unwrap_or_else(|error| error.into_tokens())
}

/// Expands `try_join!`. The input starts with the path of the support module in parentheses.
#[proc_macro]
pub fn try_join(input: TokenStream) -> TokenStream {
    join::expand(input, join::JoinKind::TryJoin).unwrap_or_else(|error| error.into_tokens())
}
