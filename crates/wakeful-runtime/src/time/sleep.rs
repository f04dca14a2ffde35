//! `Sleep`: waiting until a deadline.

use super::{Instant, bounded};
use crate::runtime::current_or_panic;
use crate::scheduler::timer::Timer;
use crate::timers::ShutDown;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use wakeful_base::budget::{poll_proceed, try_defer};
use wakeful_base::waiting::{WaitKind, note};

/// The duration from which a new sleep is assumed not to be due at its first poll.
///
/// That saves reading the clock there (see bench/NOTES.md: making a `Sleep`). If the deadline does
/// pass before that poll, the timer is armed with a past deadline and fires at the next poll of the
/// timers.
pub(super) const FAR_AHEAD: Duration = Duration::from_micros(100);

/// Waits until `duration` has passed.
///
/// The wait starts when this function is called, not at the first poll. With a `duration` of zero
/// the future yields once. Dropping the future cancels the wait.
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
/// Panics outside a runtime with timers enabled.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let deadline = Instant::now() + bounded(duration);
    Sleep::new("sleep", deadline, duration >= FAR_AHEAD)
}

/// Waits until `deadline`.
///
/// If the deadline has passed already, the future still yields once, so that other ready tasks can
/// run; if it passed more than a millisecond ago, the future completes in its first poll.
///
/// # Panics
/// Panics outside a runtime with timers enabled.
///
/// # Examples
///
/// ```
/// use wakeful::time::{Duration, Instant, sleep_until};
///
/// # let mut builder = wakeful::runtime::Builder::new_current_thread();
/// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
/// let deadline = Instant::now() + Duration::from_secs(5);
/// sleep_until(deadline).await;
/// assert_eq!(Instant::now(), deadline);
/// sleep_until(deadline - Duration::from_secs(3)).await; // in the past
/// assert_eq!(Instant::now(), deadline);
/// # });
/// ```
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new("sleep_until", deadline, false)
}

/// A future returned by [`sleep`] and [`sleep_until`].
///
/// To use a `Sleep` repeatedly, or in a `select!` in a loop, pin it and [`reset`](Self::reset) it.
///
/// # Panics
/// Polling it panics if its runtime has shut down.
///
/// # Cancel safety
/// Dropping a `Sleep` cancels it. Awaiting `&mut sleep` (pinned) is cancel safe: the deadline
/// stays.
///
/// # Examples
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
    /// While the timer is not armed, its tag holds the [`Phase`].
    timer: Timer,
    _pinned: PhantomPinned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not polled since it was created or lazily reset. The timer is not armed.
    New { is_far: bool },
    /// The timer is armed.
    Armed,
    /// The deadline had passed by the first poll. The timer is not armed.
    Elapsed,
}

impl Phase {
    fn tag(self) -> usize {
        match self {
            Phase::New { is_far: false } | Phase::Armed => 0,
            Phase::New { is_far: true } => 1,
            Phase::Elapsed => 2,
        }
    }
}

impl Sleep {
    // Inlined, except for making the timer: a `Timer` is returned in registers. A whole `Sleep`
    // would be returned in memory, stored in words and then loaded in larger pieces, which defeats
    // the CPU's store forwarding (see bench/NOTES.md: making a `Sleep`).
    #[inline]
    #[track_caller]
    pub(super) fn new(call: &str, deadline: Instant, is_far: bool) -> Sleep {
        let timer = new_timer(call, Phase::New { is_far }.tag());
        Sleep { deadline, timer, _pinned: PhantomPinned }
    }

    fn phase(&self) -> Phase {
        match self.timer.tag() {
            _ if self.timer.is_armed() => Phase::Armed,
            2 => Phase::Elapsed,
            tag => Phase::New { is_far: tag == 1 },
        }
    }

    /// Sets a phase in which the timer is not armed.
    fn set_phase(&mut self, phase: Phase) {
        self.timer.set_tag(phase.tag());
    }

    /// Returns the time at which the sleep ends.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns whether the deadline has passed. Before the first poll this returns false.
    pub fn is_elapsed(&self) -> bool {
        match self.phase() {
            Phase::New { .. } => false,
            Phase::Armed => self.timer.is_due(),
            Phase::Elapsed => true,
        }
    }

    /// Sets a new deadline, whether or not the sleep has completed.
    ///
    /// A task that waits for the sleep is woken at the new deadline; the sleep need not be polled
    /// again for that.
    ///
    /// ```
    /// use std::pin::pin;
    /// use wakeful::time::{Duration, Instant, sleep};
    ///
    /// # let mut builder = wakeful::runtime::Builder::new_current_thread();
    /// # builder.enable_all().start_paused(true).build().unwrap().block_on(async {
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
        // Arming fails only if the runtime has shut down. The next poll panics then.
        if let Ok(Poll::Ready(())) = this.timer.rearm(deadline_ns) {
            this.set_phase(Phase::Elapsed);
            if let Some(waker) = this.timer.disarm() {
                waker.wake();
            }
        }
    }

    /// Sets a new deadline without arming the timer; the next poll does that.
    pub(super) fn reset_lazily(self: Pin<&mut Self>, deadline: Instant, is_far: bool) {
        let this = self.unpinned();
        this.deadline = deadline;
        this.set_phase(Phase::New { is_far });
        drop(this.timer.disarm());
    }

    fn unpinned(self: Pin<&mut Self>) -> &mut Sleep {
        // SAFETY: no field is structurally pinned, so moving out of the borrow would be sound.
        // `Sleep` is `!Unpin` only because Tokio's is; an armed timer's entry is allocated
        // separately.
        unsafe { self.get_unchecked_mut() }
    }

    fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, ShutDown> {
        let time = self.timer.time();
        if time.is_shut_down() {
            return Err(ShutDown);
        }
        let is_far = match self.phase() {
            Phase::Elapsed => return Ok(Poll::Ready(())),
            Phase::Armed => {
                let polled = self.timer.poll(cx.waker());
                if polled.is_pending() {
                    let clock = &self.timer.time().clock;
                    note_deadline(clock.deadline_ns(self.deadline.into_std()), cx.waker());
                }
                return Ok(polled);
            }
            Phase::New { is_far } => is_far,
        };
        let deadline_ns = time.clock.deadline_ns(self.deadline.into_std());
        // A test may have advanced the clock since the sleep was created.
        let may_be_due = !is_far || time.clock.is_changed();
        if may_be_due && deadline_ns <= time.clock.now_ns() {
            let is_past = self.timer.is_past(deadline_ns);
            // A sleep that is due, but not past, yields once so that other tasks can run. A thread
            // that drives no tasks cannot yield: there the timer is armed, so that a worker fires
            // it.
            if is_past || try_defer(cx.waker()) {
                self.set_phase(Phase::Elapsed);
                if is_past {
                    return Ok(Poll::Ready(()));
                }
                note(WaitKind::Turn, 0, cx.waker());
                return Ok(Poll::Pending);
            }
        }
        self.timer.arm(deadline_ns, Some(cx.waker().clone()))?;
        note_deadline(deadline_ns, cx.waker());
        Ok(Poll::Pending)
    }
}

#[inline]
fn note_deadline(deadline_ns: u64, waker: &Waker) {
    note(WaitKind::Time, deadline_ns / 1_000, waker);
}

/// Creates a timer of the current runtime. Panic messages name `call`.
#[track_caller]
fn new_timer(call: &str, tag: usize) -> Timer {
    let timer = current_or_panic(call, |scheduler| {
        scheduler.info().time.is_enabled().then(|| Timer::new(scheduler))
    });
    let Some(mut timer) = timer else {
        panic!(
            "`{call}` called in a runtime without timers: A Tokio 1.x context was found, but \
             timers are disabled. Call `enable_time` on the runtime builder to enable timers."
        )
    };
    timer.set_tag(tag);
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
            // The first sentence is Tokio's: programs and Tokio's tests search for it.
            Err(ShutDown) => panic!(
                "A Tokio 1.x context was found, but it is being shutdown. The runtime that this \
                 `Sleep` belongs to has shut down, so the `Sleep` would never complete: drop it with \
                 its runtime, or create it in the runtime that polls it"
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
