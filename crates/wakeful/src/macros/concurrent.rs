//! `select!`, `join!` and `try_join!`, and the functions that their expansions call.

mod maybe_done;

pub use maybe_done::{maybe_done, take_error, take_output, take_value};
use std::task::{Context, Poll};
pub use wakeful_macros::{join, select, try_join};

/// Returns `Ready` if the task has cooperative budget left.
///
/// If not, schedules a wake-up of the task and returns `Pending`.
#[inline]
pub fn poll_budget_available(cx: &mut Context<'_>) -> Poll<()> {
    wakeful_base::budget::poll_has_remaining(cx)
}

/// Returns a random number below `n`.
pub fn thread_rng_n(n: u32) -> u32 {
    wakeful_base::rng::with_thread_rng(|rng| rng.below(n))
}

/// Waits for several futures on one task, and runs the handler of the first one that is ready.
///
/// The other futures are dropped.
///
/// A branch is `pattern = future => handler`, or with a condition `pattern = future, if condition
/// => handler`. If the output of a future does not match its pattern, or its condition is false,
/// the branch is disabled. When all branches are disabled, the `else` branch runs, if there is one.
/// Each poll starts with a random branch; if the first line is `biased;`, branches are polled in
/// the order they are written.
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
/// Panics if all branches are disabled and there is no `else`.
///
/// # Loops
/// The futures of the branches that were not first are dropped, and their progress is lost unless
/// they are cancel safe; see the section on cancel safety in each method's documentation. Create a
/// future that must survive several rounds before the loop, and pass a mutable reference to it:
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
/// A condition disables a branch for one round. The `else` branch runs if none is left:
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
/// With `biased;`, a branch that is always ready starves those below it.
#[macro_export]
macro_rules! select {
    ($($branches:tt)*) => {
        $crate::macros::support::select! { ($crate::macros::support) $($branches)* }
    };
}

/// Waits for several futures on one task until all are ready, and returns a tuple of their outputs.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (one, two) = wakeful::join!(async { 1 }, async { 2 });
/// assert_eq!(one + two, 3);
/// # });
/// ```
///
/// The futures run concurrently on one task, and therefore on one thread at a time. To run them in
/// parallel, spawn them and join the handles.
///
/// ```
/// use std::time::Duration;
/// use wakeful::time::{Instant, sleep};
///
/// # let mut builder = wakeful::runtime::Builder::new_current_thread();
/// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
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

/// Waits for several futures of `Result`s on one task, and returns the first error or a tuple of
/// all values.
///
/// On the first error the other futures are dropped. See [`join!`](crate::join) for the rest.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let failed = wakeful::try_join!(async { Ok(1) }, async { Err::<u32, _>("no") });
/// assert_eq!(failed, Err("no"));
/// # });
/// ```
///
/// If the futures are the handles of spawned tasks, an error does not stop the other tasks: only
/// their handles are dropped.
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
