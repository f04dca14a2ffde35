//! `timeout`: a limit on how long a future may take.

use super::error::Elapsed;
use super::sleep::FAR_AHEAD;
use super::{Instant, Sleep};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use wakeful_base::budget;

/// Limits the time that a future may take to complete.
///
/// The returned future returns the future's output, or an [`Elapsed`] error once `duration` has
/// passed. The time starts when this function is called. The inner future is dropped with the
/// returned one.
///
/// Each poll polls the inner future first: if that is ready, its output is returned even after the
/// deadline. A future that blocks its thread is not interrupted. If the deadline cannot be
/// represented, there is no limit.
///
/// # Cancel safety
/// Dropping the returned future, or an elapsed time, drops the inner future at the point where it
/// waits. Pass `&mut future` to keep it.
///
/// # Examples
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
/// Panics outside a runtime with timers enabled.
#[track_caller]
pub fn timeout<F>(duration: Duration, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    let value = future.into_future();
    #[expect(clippy::manual_map, reason = "a closure would hide the caller's place from a panic")]
    let delay = match Instant::now().checked_add(duration) {
        Some(deadline) => Some(Sleep::new("timeout", deadline, duration >= FAR_AHEAD)),
        None => None,
    };
    Timeout { value, delay }
}

/// Requires a future to complete before `deadline`. See [`timeout`].
///
/// # Panics
/// Panics outside a runtime with timers enabled.
///
/// # Examples
/// One deadline for several steps:
///
/// ```
/// use wakeful::time::{Duration, Instant, sleep, timeout_at};
///
/// # let mut builder = wakeful::runtime::Builder::new_current_thread();
/// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
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

/// A future returned by [`timeout`] and [`timeout_at`].
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
    /// Returns a reference to the inner future.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns a mutable reference to the inner future.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the inner future, without the limit.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: structural pinning of both fields. They are never moved while `self` is pinned:
        // there is no `Drop` impl, the type is not packed, and the other methods take `self` or
        // `&mut self`, which an `!Unpin` value does not allow once pinned. `Timeout` is `Unpin`
        // only if its fields are.
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

/// Polls the limit. Not generic, so that each instance of `Timeout::poll` is small.
fn poll_delay(delay: Pin<&mut Sleep>, had_budget: bool, cx: &mut Context<'_>) -> Poll<Elapsed> {
    let is_used_up = had_budget && !budget::has_remaining();
    let polled = if is_used_up {
        // Otherwise a future that uses up the budget in each poll would keep its limit from being
        // polled.
        budget::with_unconstrained(|| delay.poll(cx))
    } else {
        delay.poll(cx)
    };
    polled.map(|()| Elapsed::new())
}
