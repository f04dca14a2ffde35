//! A limit to how long a future may take.

use super::error::Elapsed;
use super::sleep::FAR;
use super::{Instant, Sleep};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use wakeful_base::budget;

/// Gives `future` that long to be ready. After that it is dropped with the returned one, and the result
/// is an error.
///
/// The future is polled first: if it is ready, it does not matter how late it is. With a `duration`
/// beyond what can be represented there is no limit.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::time::{Duration, timeout};
///
/// let limit = Duration::from_millis(1);
/// assert_eq!(timeout(limit, async { 7 }).await, Ok(7));
/// let late = timeout(limit, std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(late.to_string(), "deadline has elapsed");
/// # });
/// ```
///
/// # Panics
/// Outside of a runtime with time enabled.
#[track_caller]
pub fn timeout<F>(duration: Duration, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    let value = future.into_future();
    #[expect(clippy::manual_map, reason = "a closure would hide the caller's place from a panic")]
    let delay = match Instant::now().checked_add(duration) {
        Some(deadline) => Some(Sleep::new("timeout", deadline, duration >= FAR)),
        None => None,
    };
    Timeout { value, delay }
}

/// Gives `future` until `deadline` to be ready. See [`timeout`].
///
/// # Panics
/// Outside of a runtime with time enabled.
///
/// One deadline for several steps:
///
/// ```
/// use wakeful::time::{Duration, Instant, sleep, timeout_at};
///
/// # wakeful::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// let deadline = Instant::now() + Duration::from_secs(5);
/// let step = || timeout_at(deadline, sleep(Duration::from_secs(3)));
/// assert!(step().await.is_ok());
/// assert!(step().await.is_err()); // only two seconds were left
/// # });
/// ```
#[track_caller]
pub fn timeout_at<F>(deadline: Instant, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    let value = future.into_future();
    Timeout { value, delay: Some(Sleep::new("timeout_at", deadline, false)) }
}

/// Future of [`timeout`] and [`timeout_at`].
///
/// ```
/// use wakeful::time::{Duration, Timeout, timeout};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let limited: Timeout<_> = timeout(Duration::from_secs(1), std::future::ready(42));
/// assert_eq!(limited.into_inner().await, 42);
/// # });
/// ```
#[must_use = "futures do nothing unless you `.await` or poll them"]
#[derive(Debug)]
pub struct Timeout<T> {
    value: T,
    delay: Option<Sleep>,
}

impl<T> Timeout<T> {
    /// The future that it limits.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The future that it limits.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The future that it limits, without the limit.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: both fields are pinned with the whole; nothing moves them while it is, as it has no
        // drop of its own, is not packed, and gives neither out but by a borrow that shows it unpinned.
        let (value, delay) = unsafe {
            let this = self.get_unchecked_mut();
            let delay = this.delay.as_mut().map(|delay| Pin::new_unchecked(delay));
            (Pin::new_unchecked(&mut this.value), delay)
        };
        let had_budget = budget::has_remaining();
        if let Poll::Ready(output) = value.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        match delay {
            None => Poll::Pending,
            Some(delay) => poll_delay(delay, had_budget, cx).map(Err),
        }
    }
}

/// Not generic, so that a timeout's own code is small.
fn poll_delay(delay: Pin<&mut Sleep>, had_budget: bool, cx: &mut Context<'_>) -> Poll<Elapsed> {
    let is_used_up = had_budget && !budget::has_remaining();
    let polled = if is_used_up {
        // A future that always uses up the budget must not keep its limit from being looked at.
        budget::with_unconstrained(|| delay.poll(cx))
    } else {
        delay.poll(cx)
    };
    polled.map(|()| Elapsed::new())
}
