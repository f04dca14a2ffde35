//! Sleeping.

use super::{Instant, bounded};
use crate::runtime::current_or_panic;
use crate::scheduler::timer::Timer;
use crate::timers::ShutDown;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use wakeful_base::budget::{poll_proceed, try_defer};

/// A deadline so far ahead when a sleep is made is taken to be still ahead at its first poll. That saves
/// a look at the clock, 40 ns; if it was wrong, the sleep ends a look at the timers later.
pub(super) const FAR: Duration = Duration::from_micros(100);

/// Waits until `duration` has passed.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::time::{Duration, sleep};
///
/// sleep(Duration::from_millis(1)).await;
/// # });
/// ```
///
/// # Panics
/// Outside of a runtime with time enabled.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let deadline = Instant::now() + bounded(duration);
    Sleep::new("sleep", deadline, duration >= FAR)
}

/// Waits until `deadline`.
///
/// If it has passed already, other tasks that are ready still have a turn first, unless it passed more
/// than a millisecond ago.
///
/// # Panics
/// Outside of a runtime with time enabled.
///
/// ```
/// use wakeful::time::{Duration, Instant, sleep_until};
///
/// # wakeful::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// let deadline = Instant::now() + Duration::from_secs(5);
/// sleep_until(deadline).await;
/// assert_eq!(Instant::now(), deadline);
/// sleep_until(deadline - Duration::from_secs(3)).await; // that was before
/// assert_eq!(Instant::now(), deadline);
/// # });
/// ```
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new("sleep_until", deadline, false)
}

/// Future of [`sleep`] and [`sleep_until`].
///
/// To use one again, or in a loop beside other futures, pin it and [`reset`](Self::reset) it.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::pin::pin;
/// use wakeful::time::{Duration, Instant, sleep};
///
/// let mut sleep = pin!(sleep(Duration::from_millis(1)));
/// for _ in 0..3 {
///     sleep.as_mut().await;
///     let next = sleep.deadline() + Duration::from_millis(1);
///     sleep.as_mut().reset(next);
/// }
/// # });
/// ```
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Sleep {
    deadline: Instant,
    /// Armed, or with a note of which [`Phase`] it is.
    timer: Timer,
    _pinned: PhantomPinned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not polled yet since it was made or reset: the timer is not armed.
    New { is_far: bool },
    /// The timer is armed.
    Waits,
    /// The time had come by the first poll, which may still have given other tasks a turn. The
    /// timer is not armed.
    Elapsed,
}

impl Phase {
    fn note(self) -> usize {
        match self {
            Phase::New { is_far: false } | Phase::Waits => 0,
            Phase::New { is_far: true } => 1,
            Phase::Elapsed => 2,
        }
    }
}

impl Sleep {
    // In line, and only the timer by a call: that comes back in registers, while a whole `Sleep` would be
    // stored in words and then moved in larger pieces, for which the CPU waits. (It was 12 ns of a timeout's 41.)
    #[inline]
    #[track_caller]
    pub(super) fn new(call: &str, deadline: Instant, is_far: bool) -> Sleep {
        let timer = new_timer(call, Phase::New { is_far }.note());
        Sleep { deadline, timer, _pinned: PhantomPinned }
    }

    fn phase(&self) -> Phase {
        match self.timer.note() {
            _ if self.timer.is_armed() => Phase::Waits,
            2 => Phase::Elapsed,
            note => Phase::New { is_far: note == 1 },
        }
    }

    /// For phases in which the timer is not armed.
    fn set_phase(&mut self, phase: Phase) {
        self.timer.set_note(phase.note());
    }

    /// When it is over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it is over. Before its first poll it never is.
    pub fn is_elapsed(&self) -> bool {
        match self.phase() {
            Phase::New { .. } => false,
            Phase::Waits => self.timer.is_due(),
            Phase::Elapsed => true,
        }
    }

    /// Sets another deadline, whether or not the sleep is over.
    ///
    /// Whoever waits for it is woken at the new one.
    ///
    /// ```
    /// use std::pin::pin;
    /// use wakeful::time::{Duration, Instant, sleep};
    ///
    /// # wakeful::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
    /// let began = Instant::now();
    /// let mut idle = pin!(sleep(Duration::from_secs(10)));
    /// idle.as_mut().reset(began + Duration::from_secs(30)); // not yet
    /// idle.as_mut().await;
    /// assert_eq!(began.elapsed(), Duration::from_secs(30));
    /// # });
    /// ```
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.unpinned();
        this.deadline = deadline;
        let deadline_ns = this.timer.time().clock.deadline_ns(deadline.into_std());
        this.set_phase(Phase::New { is_far: false });
        // If it cannot be armed nobody can wait for it any more; the next poll says so.
        if let Ok(Poll::Ready(())) = this.timer.rearm(deadline_ns) {
            this.set_phase(Phase::Elapsed);
            if let Some(waker) = this.timer.disarm() {
                waker.wake();
            }
        }
    }

    /// As `reset`, but the timer is not armed before the next poll.
    pub(super) fn reset_lazily(self: Pin<&mut Self>, deadline: Instant, is_far: bool) {
        let this = self.unpinned();
        this.deadline = deadline;
        this.set_phase(Phase::New { is_far });
        drop(this.timer.disarm());
    }

    fn unpinned(self: Pin<&mut Self>) -> &mut Sleep {
        // SAFETY: nothing in it is pinned: it is `!Unpin` only because Tokio's is.
        unsafe { self.get_unchecked_mut() }
    }

    fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, ShutDown> {
        let time = self.timer.time();
        if time.is_shut_down() {
            return Err(ShutDown);
        }
        let is_far = match self.phase() {
            Phase::Elapsed => return Ok(Poll::Ready(())),
            Phase::Waits => return Ok(self.timer.poll(cx.waker())),
            Phase::New { is_far } => is_far,
        };
        let deadline_ns = time.clock.deadline_ns(self.deadline.into_std());
        // A test's clock may have gone far in no time.
        let may_be_due = !is_far || time.clock.is_changed();
        if may_be_due && deadline_ns <= time.clock.now_ns() {
            let is_past = self.timer.is_past(deadline_ns);
            // A sleep that is due but not past gives other tasks one turn. A thread that drives no tasks
            // has none to give: there the timer is armed, so that a worker has its turn before it fires.
            if is_past || try_defer(cx.waker()) {
                self.set_phase(Phase::Elapsed);
                return Ok(if is_past { Poll::Ready(()) } else { Poll::Pending });
            }
        }
        self.timer.arm(deadline_ns, Some(cx.waker().clone()))?;
        Ok(Poll::Pending)
    }
}

/// A timer of the current runtime, for `call`.
#[track_caller]
fn new_timer(call: &str, note: usize) -> Timer {
    let timer = current_or_panic(call, |scheduler| {
        scheduler.info().time.is_enabled().then(|| Timer::new(scheduler))
    });
    let Some(mut timer) = timer else {
        panic!(
            "`{call}` called in a runtime without timers: A Tokio 1.x context was found, but \
             timers are disabled. Call `enable_time` on the runtime builder to enable timers."
        )
    };
    timer.set_note(note);
    timer
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let unit = ready!(poll_proceed(cx));
        match self.unpinned().poll_elapsed(cx) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => {
                unit.made_progress();
                Poll::Ready(())
            }
            // The first sentence is Tokio's, which programs and its tests look for.
            Err(ShutDown) => panic!(
                "A Tokio 1.x context was found, but it is being shutdown. The runtime that this \
                 `Sleep` belongs to has ended or is about to, and its time would never come: drop it \
                 with its runtime, or make it in the runtime that polls it"
            ),
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline)
            .field("is_elapsed", &self.is_elapsed())
            .finish_non_exhaustive()
    }
}
