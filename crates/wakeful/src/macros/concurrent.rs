//! `select!`, `join!` and `try_join!`, and what they expand to calls of.

mod maybe_done;

pub use maybe_done::{maybe_done, take_error, take_output, take_value};
use std::task::{Context, Poll};
pub use wakeful_macros::{join, select, try_join};

/// `Pending`, with a wake-up on its way, if the task has used its cooperative budget up.
#[inline]
pub fn poll_budget_available(cx: &mut Context<'_>) -> Poll<()> {
    wakeful_base::budget::poll_has_remaining(cx)
}

/// A random number below `n`.
pub fn thread_rng_n(n: u32) -> u32 {
    wakeful_base::rng::with_thread_rng(|rng| rng.below(n))
}

/// Waits for several futures at once, on one task, and goes on with the first that is ready; the others
/// are dropped.
///
/// A branch is `pattern = future => handler`, or with a condition `pattern = future, if condition =>
/// handler`. A future whose output does not match its pattern is out; once all are, the `else` branch
/// runs, if there is one. Which branch is looked at first is random each time, unless the first line is
/// `biased;`: then it is the order they are written in.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (slow, fast) = (std::future::pending::<u32>(), async { 1 });
/// let first = wakeful::select! {
///     n = slow => n,
///     n = fast => n + 1,
/// };
/// assert_eq!(first, 2);
/// # });
/// ```
///
/// # Panics
/// If every branch is out and there is no `else`.
#[macro_export]
macro_rules! select {
    ($($branches:tt)*) => {
        $crate::macros::support::select! { ($crate::macros::support) $($branches)* }
    };
}

/// Waits for several futures at once, on one task, until all are ready, and gives a tuple of their
/// outputs.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (one, two) = wakeful::join!(async { 1 }, async { 2 });
/// assert_eq!(one + two, 3);
/// # });
/// ```
#[macro_export]
macro_rules! join {
    ($($futures:tt)*) => {
        $crate::macros::support::join! { ($crate::macros::support) $($futures)* }
    };
}

/// As [`join!`](crate::join), for futures of `Result`s: ends with the first error, or with a tuple of
/// all values.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let failed = wakeful::try_join!(async { Ok(1) }, async { Err::<u32, _>("no") });
/// assert_eq!(failed, Err("no"));
/// # });
/// ```
#[macro_export]
macro_rules! try_join {
    ($($futures:tt)*) => {
        $crate::macros::support::try_join! { ($crate::macros::support) $($futures)* }
    };
}
