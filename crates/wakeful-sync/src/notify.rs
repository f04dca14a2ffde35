//! [`Notify`]: wakes tasks, without a value.
//!
//! A thin layer over the wait queue (see `wait_queue.rs`): the queue's flag is the stored permit,
//! and each call of `notify_waiters` starts a new round.
//!
//! ```text
//!               notify_one                    notify_one: releases the first
//!   permit ◀──────────────── nothing ◀─────────────────────────────────────── waiters
//!      │                      ▲   │     notify_waiters: next round, releases all ▲
//!      └──────────────────────┘   └──────────────────────────────────────────────┘
//!        Notified::poll takes it              Notified::poll enters
//! ```
//!
//! There is never a permit while there are waiters, apart from stale ones: those of an earlier
//! round that `notify_waiters` has released but not taken out of the line yet.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use wakeful_base::budget;
use wakeful_base::on_unwind::OnUnwind;
use wakeful_base::waiting::{WaitKind, address, note};

use crate::wait_queue::{WaitQueue, WaitStatus, Waiter, WaiterStage, Word};

/// Wakes tasks that wait for an event.
///
/// A `Notify` carries no value. It only tells a task that something has happened, such as a change
/// of state that the tasks share by other means. It holds at most one *permit*:
///
/// - [`notify_one`](Self::notify_one) wakes the task that has waited longest, or stores the permit
///   if no task waits.
/// - [`notified().await`](Self::notified) takes the permit, or waits if there is none.
///
/// So a notification that comes before the wait is not lost, but several of them before one wait
/// count as one.
///
/// [`notify_waiters`](Self::notify_waiters) wakes all tasks that wait now and stores no permit.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use wakeful::sync::Notify;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let temperature = Arc::new((AtomicU32::new(0), Notify::new()));
///
/// let sensor = temperature.clone();
/// wakeful::spawn(async move {
///     sensor.0.store(21, SeqCst);
///     sensor.1.notify_one();
/// });
///
/// temperature.1.notified().await;
/// assert_eq!(temperature.0.load(SeqCst), 21);
/// # });
/// ```
///
/// The following channel has many receivers. Each receiver enters the queue with
/// [`enable`](Notified::enable) *before* it checks for a value. If it checked first, two values
/// that are sent between the checks and the waits of two receivers would store only one permit, and
/// one receiver would not be woken:
///
/// ```
/// use std::collections::VecDeque;
/// use std::pin::pin;
/// use std::sync::Mutex;
/// use wakeful::sync::Notify;
///
/// struct Channel<T> {
///     values: Mutex<VecDeque<T>>,
///     sent: Notify,
/// }
///
/// impl<T> Channel<T> {
///     fn send(&self, value: T) {
///         self.values.lock().unwrap().push_back(value);
///         self.sent.notify_one();
///     }
///
///     async fn recv(&self) -> T {
///         let mut sent = pin!(self.sent.notified());
///         loop {
///             sent.as_mut().enable();
///             if let Some(value) = self.values.lock().unwrap().pop_front() {
///                 return value;
///             }
///             sent.as_mut().await;
///             sent.set(self.sent.notified());
///         }
///     }
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let channel = Channel { values: Mutex::default(), sent: Notify::new() };
/// let (one, other, ()) = wakeful::join!(channel.recv(), channel.recv(), async {
///     channel.send(1);
///     channel.send(2);
/// });
/// assert_eq!(one + other, 3);
/// # });
/// ```
pub struct Notify {
    queue: WaitQueue,
}

impl Notify {
    /// Creates a `Notify` without a permit.
    pub fn new() -> Notify {
        Notify { queue: WaitQueue::new(Word::new(false)) }
    }

    /// Creates a `Notify` without a permit, in a `const` context such as a `static`.
    ///
    /// ```
    /// use wakeful::sync::Notify;
    ///
    /// static SHUTDOWN: Notify = Notify::const_new();
    /// ```
    #[cfg(not(wakeful_loom))]
    pub const fn const_new() -> Notify {
        Notify { queue: WaitQueue::new(Word::new(false)) }
    }

    /// Creates a `Notify` that holds a permit.
    #[cfg(not(wakeful_loom))]
    pub(crate) const fn with_permit() -> Notify {
        Notify { queue: WaitQueue::new(Word::new(true)) }
    }

    /// Creates a `Notify` that holds a permit.
    #[cfg(wakeful_loom)]
    pub(crate) fn with_permit() -> Notify {
        Notify { queue: WaitQueue::new(Word::new(true)) }
    }

    /// Waits for a notification.
    ///
    /// Takes the permit if there is one, otherwise waits for the next
    /// [`notify_one`](Self::notify_one). Calls to [`notify_waiters`](Self::notify_waiters) reach
    /// the future from its creation on, and calls to `notify_one` from its first poll or call to
    /// [`Notified::enable`] on.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no notification is lost. A
    /// notification by `notify_one` that has already reached the future is passed on. The task does
    /// lose its place in the queue.
    ///
    /// ```
    /// use wakeful::sync::{Notify, mpsc};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let stop = Notify::new();
    /// let (tx, mut rx) = mpsc::channel(8);
    /// for number in 1..=3 {
    ///     tx.send(number).await.unwrap();
    /// }
    ///
    /// let mut sum = 0;
    /// let mut stopped = std::pin::pin!(stop.notified()); // keeps its place in the queue
    /// loop {
    ///     wakeful::select! {
    ///         Some(number) = rx.recv() => {
    ///             sum += number;
    ///             if sum == 6 {
    ///                 stop.notify_waiters();
    ///             }
    ///         }
    ///         () = &mut stopped => break,
    ///     }
    /// }
    /// assert_eq!(sum, 6);
    /// # });
    /// ```
    #[inline]
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, waiting: Waiting::since(self) }
    }

    /// Waits for a notification, with a future that holds an `Arc` and thus borrows nothing.
    ///
    /// Otherwise behaves as [`notified`](Self::notified).
    ///
    /// # Cancel safety
    /// As for [`notified`](Self::notified).
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let waiting = Waiting::since(&self);
        OwnedNotified { notify: self, waiting }
    }

    /// Wakes the task that has waited longest, or stores a permit if no task waits.
    ///
    /// At most one permit is stored, no matter how often this is called.
    ///
    /// ```
    /// use wakeful::sync::Notify;
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let notify = Notify::new();
    /// notify.notify_one();
    /// notify.notified().await; // takes the permit, does not wait
    /// # });
    /// ```
    #[inline]
    pub fn notify_one(&self) {
        self.notify_with(WaiterStage::First);
    }

    /// Wakes the task that began to wait last, or stores a permit if no task waits.
    ///
    /// ```
    /// use std::pin::pin;
    /// use wakeful::sync::Notify;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let idle = Notify::new();
    /// let (mut first, mut second) = (pin!(idle.notified()), pin!(idle.notified()));
    /// first.as_mut().enable();
    /// second.as_mut().enable();
    ///
    /// idle.notify_last(); // the task that came last has the warmest caches
    /// second.await;
    /// assert!(!first.enable());
    /// # });
    /// ```
    #[inline]
    pub fn notify_last(&self) {
        self.notify_with(WaiterStage::Last);
    }

    fn notify_with(&self, stage: WaiterStage) {
        let mut word = self.queue.load_unlocked();
        loop {
            if !word.has_waiters() {
                // Written even if the permit is stored already: this is the release that makes the
                // caller's earlier writes visible to the task that takes the permit.
                match self.queue.change(word, word.with_flag(true)) {
                    Ok(()) => return,
                    Err(now) => word = now,
                }
                continue;
            }
            let mut locked = match self.queue.lock_changing(word, word) {
                Ok(locked) => locked,
                Err(now) => {
                    word = now;
                    continue;
                }
            };
            if locked.has_stale() {
                // They were released by `notify_waiters` and must not use up this notification. The
                // guard makes sure that it is not lost if one of their wakers panics.
                let notify_nevertheless = OnUnwind(|| self.notify_with(stage));
                locked.release_stale();
                std::mem::forget(notify_nevertheless);
                word = self.queue.load_unlocked();
                continue;
            }
            let released = match stage {
                WaiterStage::Last => locked.release_last(stage),
                _ => locked.release_first(stage),
            };
            drop(locked);
            if let Some(waker) = released.expect("WAITING is set, so the line is not empty") {
                waker.wake();
            }
            return;
        }
    }

    /// Wakes all tasks that wait now, and stores no permit.
    ///
    /// A task counts as waiting from its call of [`notified`](Self::notified) on, even if it has
    /// not polled the future yet.
    ///
    /// ```
    /// use wakeful::sync::Notify;
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let notify = Notify::new();
    /// let (first, second) = (notify.notified(), notify.notified());
    /// notify.notify_waiters();
    /// first.await;
    /// second.await;
    /// # });
    /// ```
    pub fn notify_waiters(&self) {
        if let Some(line) = self.queue.update(Word::in_next_round) {
            line.release_stale();
        }
    }

    /// Takes the permit if there is one.
    pub(crate) fn try_take_permit(&self) -> bool {
        let mut word = self.queue.load_unlocked();
        while word.flag() {
            match self.queue.change(word, word.with_flag(false)) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        false
    }
}

impl Default for Notify {
    fn default() -> Notify {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.queue.load();
        f.debug_struct("Notify")
            .field("has_permit", &word.flag())
            .field("has_waiters", &word.has_waiters())
            .finish()
    }
}

/// The future of [`Notify::notified`].
///
/// After completion, polling it again returns `Ready` again.
///
/// ```
/// use std::pin::pin;
/// use wakeful::sync::Notify;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let ready = Notify::new();
/// let mut waiting = pin!(ready.notified());
/// assert!(!waiting.as_mut().enable()); // in the queue from here on
/// ready.notify_one();
/// waiting.await;
/// # });
/// ```
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Notified<'a> {
    notify: &'a Notify,
    waiting: Waiting,
}

/// The future of [`Notify::notified_owned`].
///
/// After completion, polling it again returns `Ready` again.
///
/// ```
/// use std::sync::Arc;
/// use wakeful::sync::Notify;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let ready = Arc::new(Notify::new());
/// let task = wakeful::spawn(ready.clone().notified_owned());
/// ready.notify_one();
/// task.await.unwrap();
/// # });
/// ```
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct OwnedNotified {
    notify: Arc<Notify>,
    waiting: Waiting,
}

/// The part that [`Notified`] and [`OwnedNotified`] have in common.
///
/// The waiter records the round in which the future was created, and enters the line in that round
/// only.
struct Waiting(Waiter);

impl Waiting {
    #[inline]
    fn since(notify: &Notify) -> Self {
        Waiting(Waiter::since(notify.queue.load().round()))
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.0.stage() == WaiterStage::Over
    }

    /// Polls the wait. Without a waker, enters the line as well, but leaves a stored waker alone.
    fn poll(self: Pin<&mut Self>, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        // SAFETY: the waiter is a field of `self`, pinned with it and never moved out.
        let waiter = unsafe { self.as_ref().map_unchecked(|this| &this.0) };
        let wait = match waiter.stage() {
            // SAFETY: the waiter is ours and idle, and `drop` makes it leave this queue. No other
            // code makes it idle again, so it has not been in a line.
            WaiterStage::Idle => unsafe { enter(&notify.queue, waiter, waker) },
            // SAFETY: a queued waiter has entered a queue, and `notify` is the only one it is used
            // with.
            WaiterStage::Queued => unsafe { notify.queue.refresh(waiter, waker) },
            WaiterStage::First | WaiterStage::Last | WaiterStage::All => WaitStatus::Over,
            WaiterStage::Over => return Poll::Ready(()),
        };
        if wait == WaitStatus::Waiting {
            return Poll::Pending;
        }
        // SAFETY: the waiter is ours. It is in no line: it has been released, or never entered, and
        // only its owner makes it enter one.
        unsafe { waiter.finish() };
        Poll::Ready(())
    }

    // Not inlined: an async function drops this future in three places. With a call in each, it is
    // small enough to be inlined into the future that awaits it. See bench/NOTES.md: size of
    // `Notified`'s drop.
    #[inline(never)]
    fn drop_from(&mut self, notify: &Notify) {
        // SAFETY: a waiter that has entered a line was pinned, and stays in place until it is
        // dropped. One that has not may be pinned here, since it is not moved any more.
        let waiter = unsafe { Pin::new_unchecked(&self.0) };
        // SAFETY: `notify` is the only one this future was ever polled with, so it entered no other
        // queue.
        let stage = unsafe { notify.queue.leave(waiter) };
        if matches!(stage, WaiterStage::First | WaiterStage::Last) {
            // The future was notified alone but has not returned `Ready`: the notification is not
            // used up.
            notify.notify_with(stage);
        }
    }
}

/// Takes the permit or enters the line, unless the waiter's round is over.
///
/// # Safety
/// As for [`WaitQueue::enter`]. The waiter must not have been in a line before.
unsafe fn enter(queue: &WaitQueue, waiter: Pin<&Waiter>, waker: Option<&Waker>) -> WaitStatus {
    // SAFETY: by contract the caller owns the waiter, which has not been in a line.
    let round = unsafe { waiter.made_in() };
    let mut cloned = None;
    let mut word = queue.load_unlocked();
    loop {
        if word.round() != round {
            return WaitStatus::Over;
        }
        if word.flag() {
            // The clone, if any, is not needed. It is dropped before the permit is taken: if the
            // drop panicked afterwards, the permit would be lost.
            drop(cloned.take());
            match queue.change(word, word.with_flag(false)) {
                Ok(()) => return WaitStatus::Over,
                Err(now) => word = now,
            }
            continue;
        }
        let waker = cloned.take().or_else(|| waker.cloned());
        // SAFETY: by the contract of this function.
        match unsafe { queue.enter(word, waiter, waker) } {
            Ok(()) => return WaitStatus::Waiting,
            Err((now, waker)) => (word, cloned) = (now, waker),
        }
    }
}

impl Notified<'_> {
    /// Waits for the notification as a part of something else: calls `note` with the waker if it
    /// has to wait.
    pub(crate) async fn wait_with(self, note: impl Fn(&Waker)) {
        let mut notified = pin!(self);
        poll_fn(|cx| {
            ready!(budget::poll_traced(cx));
            let polled = notified.as_mut().poll_with(Some(cx.waker()));
            if polled.is_pending() {
                note(cx.waker());
            }
            polled
        })
        .await;
    }
}

macro_rules! notified_future {
    ($future:ty) => {
        impl $future {
            /// Takes the permit or enters the queue now, without waiting.
            ///
            /// Returns true if the future is complete: there was a permit, or a notification has
            /// come since the future was created. Otherwise the future is in the queue from now on,
            /// and a [`notify_one`](Notify::notify_one) can reach it even before it is polled.
            ///
            /// The waker of an earlier poll stays in place.
            ///
            /// ```
            /// use std::pin::pin;
            /// use wakeful::sync::Notify;
            ///
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// let (first, second) = (Notify::new(), Notify::new());
            /// let (mut one, mut other) = (pin!(first.notified()), pin!(second.notified()));
            /// // In both queues before anything else happens, though awaited one after the other.
            /// one.as_mut().enable();
            /// other.as_mut().enable();
            /// second.notify_waiters();
            /// first.notify_waiters();
            /// one.await;
            /// other.await;
            /// # });
            /// ```
            pub fn enable(self: Pin<&mut Self>) -> bool {
                self.poll_with(None).is_ready()
            }

            /// Polls without noting what the task waits for: the caller does that.
            #[inline]
            pub(crate) fn poll_with(self: Pin<&mut Self>, waker: Option<&Waker>) -> Poll<()> {
                // SAFETY: `waiting` is not moved out of `this`; `notify` is `Unpin` and need not be
                // pinned.
                let this = unsafe { self.get_unchecked_mut() };
                // SAFETY: `waiting` is pinned whenever `self` is, as above.
                unsafe { Pin::new_unchecked(&mut this.waiting) }.poll(&this.notify, waker)
            }
        }

        impl Future for $future {
            type Output = ();

            #[inline]
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                ready!(budget::poll_traced(cx));
                let polled = self.as_mut().poll_with(Some(cx.waker()));
                if polled.is_pending() {
                    note(WaitKind::Notify, address::<Notify>(&self.notify), cx.waker());
                }
                polled
            }
        }

        impl Drop for $future {
            #[inline]
            fn drop(&mut self) {
                self.waiting.drop_from(&self.notify);
            }
        }

        impl fmt::Debug for $future {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($future))
                    .field("notify", &self.notify)
                    .field("is_over", &self.waiting.is_over())
                    .finish()
            }
        }
    };
}

notified_future!(Notified<'_>);
notified_future!(OwnedNotified);

#[cfg(all(test, wakeful_loom))]
#[path = "notify/tests/loom.rs"]
mod loom;
