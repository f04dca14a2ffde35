//! A channel that keeps only the last value.
//!
//! Senders set the value; receivers read it and wait for it to change. Use it for state such as
//! configuration or a shutdown flag, where only the current value matters and not the values before
//! it.
//!
//! [`channel`] takes the initial value. For each receiver, the current version of the value is
//! either *seen* or not. [`Receiver::changed`] waits until there is a version that the receiver has
//! not seen, and marks it as seen. [`Receiver::borrow_and_update`] reads the value and marks it as
//! seen; [`Receiver::borrow`] only reads it. In a loop around `changed`, use the former: otherwise
//! a value that is set between `changed` and `borrow` is reported twice. The value at the time a
//! receiver is created counts as seen.
//!
//! ```
//! use wakeful::sync::watch;
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut rx) = watch::channel("hello");
//!
//! let printer = async move {
//!     loop {
//!         println!("{}!", *rx.borrow_and_update());
//!         if rx.changed().await.is_err() {
//!             break; // all senders are dropped
//!         }
//!     }
//! };
//! tx.send("world").unwrap();
//! # drop(tx);
//! # printer.await;
//! # });
//! ```
//!
//! [`Receiver::has_changed`] fails as soon as all senders are dropped; [`Receiver::changed`] first
//! reports the last value, if it was not seen. [`Sender::closed`] waits until all receivers are
//! dropped.
//!
//! # How it works
//!
//! ```text
//!   Sender::send ──write lock──▶ value ──▶ next round of the queue ──▶ waiters are released
//!                                  ▲                   │
//!   Receiver::borrow ──read lock───┘                   ▼ a version not seen yet?
//!   Receiver::changed ─────────────────────────▶ Ready, or wait in the queue
//! ```
//!
//! The version of the value is the round of a wait queue (`wait_queue.rs`). So a receiver checks
//! for a change and enters the queue by one compare-and-swap, and a sender sets the version and
//! locks the queue by one as well. `watch/state.rs` has the state that both ends share, and the
//! future of `changed`.

pub mod error;
mod state;

use std::fmt;
use std::ops::Deref;
use std::task::Waker;

use wakeful_base::catch_panic::contain_panic;
use wakeful_base::on_unwind::hold_during;
use wakeful_base::sync::atomic::Ordering::{AcqRel, Relaxed};
use wakeful_base::sync::{Arc, RwLockReadGuard};
use wakeful_base::waiting::WaitKind;

use self::error::{RecvError, SendError};
use self::state::{Changed, WatchState};
use crate::cooperative::cooperative;
use crate::wait_queue::Round;

/// The receiving end of a watch [`channel`]: reads the value and waits for it to change.
///
/// A clone has seen what the original has seen.
///
/// ```
/// use wakeful::sync::watch;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (stop, stopped) = watch::channel(false);
/// let workers: Vec<_> = (0..3)
///     .map(|_| {
///         let mut stopped = stopped.clone();
///         wakeful::spawn(async move { stopped.wait_for(|stop| *stop).await.is_ok() })
///     })
///     .collect();
/// stop.send(true).unwrap();
/// for worker in workers {
///     assert!(worker.await.unwrap());
/// }
/// # });
/// ```
pub struct Receiver<T> {
    state: Arc<WatchState<T>>,
    /// The version that was last seen.
    seen: Round,
}

/// The sending end of a watch [`channel`]: sets the value.
///
/// ```
/// use wakeful::sync::watch;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (level, mut seen) = watch::channel(1);
/// level.send(2).unwrap();
/// level.send_modify(|level| *level += 1);
/// seen.changed().await.unwrap();
/// assert_eq!(*seen.borrow_and_update(), 3); // 2 was never looked at
/// # });
/// ```
pub struct Sender<T> {
    state: Arc<WatchState<T>>,
}

/// A read guard of the value, which cannot be set while the guard lives.
///
/// Keep it for a short time, and do not hold it across an `.await`: senders block until it is
/// dropped. A thread that holds one guard and asks for a second may deadlock with a sender that
/// waits in between.
///
/// ```
/// use wakeful::sync::watch;
///
/// let (tx, rx) = watch::channel(1);
/// assert_eq!(*rx.borrow(), 1); // dropped at the end of the statement
/// tx.send(2).unwrap();
/// ```
#[derive(Debug)]
pub struct Ref<'a, T> {
    inner: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Returns whether the receiver had not seen the value before this borrow.
    ///
    /// Always false for a borrow by a sender.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel("hello");
    /// tx.send("goodbye").unwrap();
    /// assert!(rx.borrow().has_changed());
    /// assert!(rx.borrow_and_update().has_changed());
    /// assert!(!rx.borrow().has_changed());
    /// ```
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

/// Creates a channel with the value `init`, which counts as seen.
///
/// ```
/// use wakeful::sync::watch;
///
/// let (tx, rx) = watch::channel("hello");
/// tx.send("world").unwrap();
/// assert_eq!(*rx.borrow(), "world");
/// ```
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let state = Arc::new(WatchState::new(init));
    (Sender { state: state.clone() }, Receiver { state, seen: Round::FIRST })
}

impl<T> Receiver<T> {
    fn register(state: Arc<WatchState<T>>, seen: Round) -> Self {
        state.receivers.fetch_add(1, Relaxed);
        Receiver { state, seen }
    }

    /// Returns a guard of the value, and does not mark the value as seen.
    ///
    /// Blocks while a sender is setting the value. See [`Ref`] for how to avoid deadlocks.
    #[inline]
    pub fn borrow(&self) -> Ref<'_, T> {
        let inner = self.state.value.read();
        let has_changed = self.state.version() != self.seen;
        Ref { inner, has_changed }
    }

    /// Returns a guard of the value, and marks the value as seen.
    ///
    /// Blocks while a sender is setting the value. See [`Ref`] for how to avoid deadlocks.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow(), 2);
    /// assert!(rx.has_changed().unwrap()); // `borrow` does not count
    /// assert_eq!(*rx.borrow_and_update(), 2);
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    #[inline]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let inner = self.state.value.read();
        let version = self.state.version();
        let has_changed = version != self.seen;
        self.seen = version;
        Ref { inner, has_changed }
    }

    /// Returns whether there is a value that was not seen, without marking it as seen.
    ///
    /// # Errors
    /// Returns an error if all senders are dropped, even if their last value was not seen.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel("hello");
    /// tx.send("goodbye").unwrap();
    /// assert!(rx.has_changed().unwrap());
    /// assert_eq!(*rx.borrow_and_update(), "goodbye");
    /// assert!(!rx.has_changed().unwrap());
    /// drop(tx);
    /// assert!(rx.has_changed().is_err());
    /// ```
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        if self.state.is_closed() {
            return Err(RecvError(()));
        }
        Ok(self.state.version() != self.seen)
    }

    /// Returns whether all senders are dropped.
    pub fn is_closed(&self) -> bool {
        self.state.is_closed()
    }

    /// Marks the value as not seen, so that [`changed`](Self::changed) returns immediately.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (_tx, mut rx) = watch::channel("from the start");
    /// rx.mark_changed();
    /// rx.changed().await.unwrap(); // does not wait for a send
    /// assert_eq!(*rx.borrow(), "from the start");
    /// # });
    /// ```
    pub fn mark_changed(&mut self) {
        self.seen = self.seen.minus(1);
    }

    /// Marks the value as seen, so that [`changed`](Self::changed) waits for the next one.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.state.version();
    }

    /// Waits until there is a value that was not seen, and marks it as seen.
    ///
    /// # Errors
    /// Returns an error if all senders are dropped and the last value was seen.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped before it completes, no value is marked
    /// as seen.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = watch::channel("hello");
    /// tx.send("goodbye").unwrap();
    /// assert!(rx.changed().await.is_ok());
    /// assert_eq!(*rx.borrow_and_update(), "goodbye");
    /// drop(tx);
    /// assert!(rx.changed().await.is_err());
    /// # });
    /// ```
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        cooperative(Changed::new(&self.state, &mut self.seen)).await
    }

    /// Waits until `f` returns true for the value, and marks the value as seen.
    ///
    /// Calls `f` with the current value, and then after each change.
    ///
    /// A value that is soon replaced may be skipped.
    ///
    /// # Errors
    /// Returns an error if all senders are dropped and `f` returned false for the last value.
    ///
    /// # Panics
    /// Panics if `f` panics.
    ///
    /// # Cancel safety
    /// This method is cancel safe. Values that `f` has rejected are marked as seen.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = watch::channel(0);
    /// tx.send(7).unwrap();
    /// assert_eq!(*rx.wait_for(|value| *value > 5).await.unwrap(), 7);
    /// # });
    /// ```
    pub async fn wait_for(
        &mut self,
        mut f: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        let wait = async {
            let mut closed = false;
            loop {
                {
                    let inner = self.state.value.read();
                    let version = self.state.version();
                    let has_changed = version != self.seen;
                    self.seen = version;
                    // If the value was seen before the senders were dropped, `f` has already
                    // rejected it.
                    if (!closed || has_changed) && f(&inner) {
                        return Ok(Ref { inner, has_changed });
                    }
                }
                if closed {
                    return Err(RecvError(()));
                }
                closed = Changed::new(&self.state, &mut self.seen).await.is_err();
            }
        };
        cooperative(wait).await
    }

    /// Returns whether both receivers receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Receiver::register(self.state.clone(), self.seen)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.state.receivers.fetch_sub(1, Relaxed) == 1 {
            self.state.no_receivers.notify_waiters();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("shared", &self.state)
            .field("version", &self.seen)
            .finish()
    }
}

impl<T> Sender<T> {
    /// Creates a sender of a channel without receivers; [`subscribe`](Self::subscribe) adds them.
    pub fn new(init: T) -> Self {
        let (tx, _) = channel(init);
        tx
    }

    /// Sets the value and wakes the waiting receivers.
    ///
    /// # Errors
    /// Returns the value in a [`SendError`] if there are no receivers. The channel's value then
    /// stays as it was; [`send_replace`](Self::send_replace) and [`send_modify`](Self::send_modify)
    /// set it even then.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// let (tx, rx) = watch::channel("idle");
    /// tx.send("busy").unwrap();
    /// assert_eq!(*rx.borrow(), "busy");
    /// drop(rx);
    /// assert!(tx.send("ignored").is_err());
    /// ```
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receiver_count() == 0 {
            return Err(SendError(value));
        }
        drop(hold_during(value, |other| {
            self.send_modify(|current| std::mem::swap(current, other));
        }));
        Ok(())
    }

    /// Changes the value in place and wakes the waiting receivers.
    ///
    /// Works without receivers too.
    ///
    /// # Panics
    /// Panics if `modify` panics. The value may then be partly changed, and no receiver is woken.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(vec![1]);
    /// tx.send_modify(|list| list.push(2));
    /// assert_eq!(*rx.borrow(), [1, 2]);
    /// ```
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value in place, and wakes the waiting receivers only if `modify` returns true.
    ///
    /// Returns what `modify` returned.
    ///
    /// # Panics
    /// Panics if `modify` panics. The value may then be partly changed, and no receiver is woken.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// let raise = |floor: i32| tx.send_if_modified(|value| {
    ///     let low = *value < floor;
    ///     *value = floor.max(*value);
    ///     low
    /// });
    /// assert!(raise(5));
    /// assert!(!raise(3));
    /// assert_eq!(*rx.borrow(), 5);
    /// ```
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let mut value = self.state.value.write();
        if !modify(&mut value) {
            return false;
        }
        let waiting = self.state.next_version();
        drop(value);
        if let Some(line) = waiting {
            line.release_stale();
        }
        true
    }

    /// Sets the value, wakes the waiting receivers, and returns the previous value.
    ///
    /// Works without receivers too.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// let tx = watch::Sender::new(1);
    /// assert_eq!(tx.send_replace(2), 1);
    /// assert_eq!(tx.send_replace(3), 2);
    /// ```
    pub fn send_replace(&self, mut value: T) -> T {
        // If the waker of a receiver panics, the caller still gets the previous value.
        contain_panic(|| self.send_modify(|current| std::mem::swap(current, &mut value)));
        value
    }

    /// Returns a guard of the value.
    ///
    /// Blocks while a sender is setting the value. See [`Ref`] for how to avoid deadlocks.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { inner: self.state.value.read(), has_changed: false }
    }

    /// Returns whether there are no receivers.
    ///
    /// [`subscribe`](Self::subscribe) opens the channel again.
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there are no receivers.
    ///
    /// # Cancel safety
    /// This method is cancel safe: it can be dropped and called again at any time.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = watch::channel("hello");
    /// drop(rx);
    /// tx.closed().await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        let wait = async {
            while self.receiver_count() > 0 {
                let gone = self.state.no_receivers.notified();
                if self.receiver_count() == 0 {
                    return;
                }
                // After the wake-up there may be receivers again.
                let state = &*self.state;
                let wait = |waker: &Waker| state.note_wait(WaitKind::Closed, waker);
                gone.wait_with(wait).await;
            }
        };
        cooperative(wait).await;
    }

    /// Creates a receiver. The current value counts as seen by it.
    ///
    /// ```
    /// use wakeful::sync::watch;
    ///
    /// let tx = watch::Sender::new(0);
    /// tx.send_replace(5);
    /// let rx = tx.subscribe();
    /// assert_eq!(*rx.borrow(), 5);
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        let seen = self.state.version();
        Receiver::register(self.state.clone(), seen)
    }

    /// Returns the number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.state.receivers.load(Relaxed)
    }

    /// Returns the number of senders.
    pub fn sender_count(&self) -> usize {
        self.state.senders.load(Relaxed)
    }

    /// Returns whether both senders send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.state.senders.fetch_add(1, Relaxed);
        Sender { state: self.state.clone() }
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.state.senders.fetch_sub(1, AcqRel) == 1 {
            self.state.close();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("shared", &self.state).finish()
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "watch/tests/loom.rs"]
mod loom;
