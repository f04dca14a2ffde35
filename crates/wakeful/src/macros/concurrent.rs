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
///
/// # Loops
/// A branch that lost is dropped, and its work with it, unless the future is cancel safe, as most of this
/// crate's say they are. What must go on from round to round is made before the loop and waited for by
/// reference:
///
/// ```
/// use std::pin::pin;
/// use std::time::Duration;
/// use wakeful::{sync::mpsc, time};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = mpsc::channel(8);
/// wakeful::spawn(async move {
///     for number in 1..=3 {
///         tx.send(number).await.unwrap();
///     }
/// });
///
/// let mut limit = pin!(time::sleep(Duration::from_secs(10))); // for all rounds together
/// let mut sum = 0;
/// loop {
///     wakeful::select! {
///         Some(number) = rx.recv() => sum += number,
///         () = &mut limit => break,
///     }
///     if sum == 6 {
///         break;
///     }
/// }
/// assert_eq!(sum, 6);
/// # });
/// ```
///
/// A condition takes a branch out for a round, and `else` is for when none is left:
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::sync::mpsc;
///
/// let (_, mut left) = mpsc::channel::<u32>(1); // closed: receives `None`
/// let (tx, mut right) = mpsc::channel(1);
/// tx.send(7).await.unwrap();
/// drop(tx);
///
/// let (mut wanted, mut got) = (2, Vec::new());
/// loop {
///     wakeful::select! {
///         biased;
///         Some(number) = left.recv() => got.push(number),
///         Some(number) = right.recv(), if wanted > 0 => {
///             wanted -= 1;
///             got.push(number);
///         }
///         else => break,
///     }
/// }
/// assert_eq!(got, [7]);
/// # });
/// ```
///
/// With `biased;` the branch on top must not be one that is always ready: those below would starve.
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
///
/// They take turns on one task, and so on one thread at a time. To have them run in parallel, spawn them and
/// join the handles.
///
/// ```
/// use std::time::Duration;
/// use wakeful::time::{Instant, sleep};
///
/// # wakeful::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// let began = Instant::now();
/// wakeful::join!(sleep(Duration::from_secs(2)), sleep(Duration::from_secs(3)));
/// assert_eq!(began.elapsed(), Duration::from_secs(3)); // not five
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
///
/// With spawned tasks an error leaves the others running; their handles are dropped, which stops nothing.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let both = wakeful::try_join!(async { Ok::<_, String>(1) }, async { Ok("two") });
/// assert_eq!(both, Ok((1, "two")));
/// # });
/// ```
#[macro_export]
macro_rules! try_join {
    ($($futures:tt)*) => {
        $crate::macros::support::try_join! { ($crate::macros::support) $($futures)* }
    };
}
