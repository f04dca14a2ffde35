//! The sending ends of both kinds of channel.
//!
//! The macro `sender!` writes what `Sender` and `UnboundedSender` have in common, and their weak
//! senders. The methods that only one of them has follow it.

use std::fmt;

use wakeful_base::budget;
use wakeful_base::sync::Arc;
use wakeful_base::waiting::WaitKind;

use super::capacity::Capacity;
use super::chan::{Chan, Unlimited};
use super::error::{SendError, TrySendError};
use super::permit::{OwnedPermit, Permit, PermitIterator};
use super::queue::Claimed;
use crate::acquire::{Acquire, PermitSource};
use crate::acquire_error::TryAcquireError;
use crate::blocking::block_on;

macro_rules! sender {
    ($(#[$doc:meta])* $Sender:ident, $WeakSender:ident of $Flow:ty) => {
        $(#[$doc])*
        pub struct $Sender<T> {
            pub(super) chan: Arc<Chan<T, $Flow>>,
        }

        /// A sender that does not keep the channel open.
        ///
        /// A weak sender cannot send. [`upgrade`](Self::upgrade) turns it into a sender, which
        /// fails once all senders are dropped.
        ///
        /// ```
        /// use wakeful::sync::mpsc;
        ///
        /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
        /// let (tx, mut rx) = mpsc::channel(1); // an `unbounded_channel` has weak senders too
        /// let weak = tx.downgrade();
        /// weak.upgrade().unwrap().send(1).await.unwrap();
        /// drop(tx);
        /// assert_eq!(rx.recv().await, Some(1));
        /// assert_eq!(rx.recv().await, None); // the weak one does not count
        /// assert!(weak.upgrade().is_none());
        /// # });
        /// ```
        pub struct $WeakSender<T> {
            chan: Arc<Chan<T, $Flow>>,
        }

        impl<T> $Sender<T> {
            /// Wraps the sender that `Chan::new` has already counted.
            pub(super) fn first(chan: Arc<Chan<T, $Flow>>) -> Self {
                $Sender { chan }
            }

            /// Waits until the receiver is dropped or closed.
            ///
            /// A producer can use this to stop as soon as its values are no longer wanted.
            ///
            /// # Cancel safety
            ///
            /// This method is cancel safe: if the future is dropped, nothing is lost. On a closed
            /// channel it returns immediately.
            ///
            /// ```
            /// use wakeful::sync::mpsc;
            ///
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// let (tx, mut rx) = mpsc::channel(1);
            /// let producer = wakeful::spawn(async move {
            ///     let mut made = 0;
            ///     loop {
            ///         wakeful::select! {
            ///             () = tx.closed() => break made,
            ///             permit = tx.reserve() => {
            ///                 let Ok(permit) = permit else { break made };
            ///                 permit.send(made);
            ///                 made += 1;
            ///             }
            ///         }
            ///     }
            /// });
            /// assert_eq!(rx.recv().await, Some(0));
            /// drop(rx);
            /// assert!(producer.await.unwrap() >= 1);
            /// # });
            /// ```
            pub async fn closed(&self) {
                self.chan.closed().await;
            }

            /// Returns whether the receiver is dropped or closed.
            pub fn is_closed(&self) -> bool {
                self.chan.is_closed()
            }

            /// Returns whether both senders send to the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.chan, &other.chan)
            }

            /// Creates a weak sender for this channel, which does not keep the channel open.
            #[must_use = "downgrade makes a weak sender and leaves this one as it is"]
            pub fn downgrade(&self) -> $WeakSender<T> {
                self.chan.add_weak_sender();
                $WeakSender { chan: self.chan.clone() }
            }

            /// Returns the number of senders, not counting weak ones.
            pub fn strong_count(&self) -> usize {
                self.chan.senders()
            }

            /// Returns the number of weak senders.
            pub fn weak_count(&self) -> usize {
                self.chan.weak_senders()
            }
        }

        impl<T> Clone for $Sender<T> {
            fn clone(&self) -> Self {
                self.chan.add_sender();
                $Sender { chan: self.chan.clone() }
            }
        }

        impl<T> Drop for $Sender<T> {
            fn drop(&mut self) {
                self.chan.remove_sender();
            }
        }

        impl<T> $WeakSender<T> {
            /// Returns a new sender, or `None` if all senders have been dropped.
            pub fn upgrade(&self) -> Option<$Sender<T>> {
                let alive = self.chan.try_add_sender();
                alive.then(|| $Sender { chan: self.chan.clone() })
            }

            /// Returns the number of senders, not counting weak ones.
            pub fn strong_count(&self) -> usize {
                self.chan.senders()
            }

            /// Returns the number of weak senders.
            pub fn weak_count(&self) -> usize {
                self.chan.weak_senders()
            }
        }

        impl<T> Clone for $WeakSender<T> {
            fn clone(&self) -> Self {
                self.chan.add_weak_sender();
                $WeakSender { chan: self.chan.clone() }
            }
        }

        impl<T> Drop for $WeakSender<T> {
            fn drop(&mut self) {
                self.chan.remove_weak_sender();
            }
        }

        impl<T> fmt::Debug for $WeakSender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($WeakSender)).finish()
            }
        }
    };
}

sender! {
    /// The sending end of a bounded [`channel`](super::channel). Cloning it adds a sender.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(4);
    /// for name in ["one", "other"] {
    ///     let tx = tx.clone();
    ///     wakeful::spawn(async move { tx.send(name).await });
    /// }
    /// drop(tx);
    /// let mut names = [rx.recv().await.unwrap(), rx.recv().await.unwrap()];
    /// names.sort();
    /// assert_eq!(names, ["one", "other"]);
    /// assert_eq!(rx.recv().await, None);
    /// # });
    /// ```
    Sender, WeakSender of Capacity
}

sender! {
    /// The sending end of an [`unbounded_channel`](super::unbounded_channel). Cloning it adds a
    /// sender.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// let on_event = move |event: &'static str| tx.send(event).is_ok(); // any thread may call it
    /// assert!(on_event("key pressed"));
    /// assert_eq!(rx.try_recv(), Ok("key pressed"));
    /// drop(rx);
    /// assert!(!on_event("key released"));
    /// ```
    UnboundedSender, WeakUnboundedSender of Unlimited
}

/// Waits for `n` permits of a bounded channel.
fn acquire_room<T>(
    chan: &Chan<T, Capacity>,
    n: usize,
) -> Acquire<'_, Chan<T, Capacity>, { WaitKind::MpscSend as u8 }> {
    Acquire::new(chan, n)
}

impl<T> UnboundedSender<T> {
    /// Sends `message` without waiting.
    ///
    /// This method is not `async` and never blocks, so it can be called from any thread and from
    /// synchronous code.
    ///
    /// # Errors
    ///
    /// Returns the value in a [`SendError`] if the receiver is dropped or closed.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.chan.claim() {
            Ok(slot) => {
                self.chan.publish(slot, message);
                Ok(())
            }
            Err(_) => Err(SendError(message)),
        }
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedSender").finish_non_exhaustive()
    }
}

impl<T> Sender<T> {
    /// Sends `value`, waiting until there is room for it.
    ///
    /// If it succeeds, the value is in the channel. It may still never be received, since the
    /// receiver can be dropped at any moment.
    ///
    /// # Errors
    ///
    /// Returns the value in a [`SendError`] if the receiver is dropped or closed.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, the value has not been sent, and is dropped
    /// with the future. To keep the value in that case, wait with [`reserve`](Self::reserve) and
    /// send with the permit. Waiting senders are queued; dropping the future gives up the place in
    /// the queue.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let sender = wakeful::spawn(async move {
    ///     for number in 0..3 {
    ///         if tx.send(number).await.is_err() {
    ///             break; // the receiver is dropped
    ///         }
    ///     }
    /// });
    /// for expected in 0..3 {
    ///     assert_eq!(rx.recv().await, Some(expected));
    /// }
    /// # sender.await.unwrap();
    /// # });
    /// ```
    pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
        let claimed = match self.claim_within_budget() {
            Err(TryAcquireError::NoPermits) => match acquire_room(&self.chan, 1).await {
                Ok(()) => self.chan.claim_paid(),
                Err(_) => Err(TryAcquireError::Closed),
            },
            outcome => outcome,
        };
        match claimed {
            Ok(slot) => {
                self.chan.publish(slot, value);
                Ok(())
            }
            Err(_) => Err(SendError(value)),
        }
    }

    /// Sends `value` if there is room, without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`TrySendError::Full`] if there is no room, and [`TrySendError::Closed`] if the
    /// receiver is dropped or closed. Both return the value.
    ///
    /// ```
    /// use wakeful::sync::mpsc::{self, error::TrySendError};
    ///
    /// let (tx, rx) = mpsc::channel(1);
    /// assert_eq!(tx.try_send(1), Ok(()));
    /// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    /// drop(rx);
    /// assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let claimed = match self.chan.claim() {
            Err(TryAcquireError::NoPermits) => {
                self.chan.try_acquire(1).and_then(|()| self.chan.claim_paid())
            }
            outcome => outcome,
        };
        match claimed {
            Ok(slot) => {
                self.chan.publish(slot, message);
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(TrySendError::Full(message)),
            Err(TryAcquireError::Closed) => Err(TrySendError::Closed(message)),
        }
    }

    /// Sends `value`, blocking the thread until there is room for it.
    ///
    /// For synchronous code, outside a runtime or in `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// Returns the value in a [`SendError`] if the receiver is dropped or closed.
    ///
    /// # Panics
    ///
    /// Panics if the thread runs asynchronous tasks.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let reader = wakeful::task::spawn_blocking(move || {
    ///     for line in ["one", "two"] {
    ///         tx.blocking_send(line).unwrap();
    ///     }
    /// });
    /// assert_eq!(rx.recv().await, Some("one"));
    /// assert_eq!(rx.recv().await, Some("two"));
    /// # reader.await.unwrap();
    /// # });
    /// ```
    #[track_caller]
    #[doc(alias = "send_blocking")]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        block_on("`mpsc::Sender::blocking_send`", "send(value).await", self.send(value))
    }

    /// Waits for room for one value, and reserves it.
    ///
    /// The returned [`Permit`] sends the value without waiting. Dropping the permit gives the room
    /// back.
    ///
    /// # Errors
    ///
    /// Fails if the receiver is dropped or closed.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it only gives up its place in the
    /// queue of waiting senders.
    ///
    /// The value can be produced after the wait, so that nothing is lost if the wait is cancelled:
    ///
    /// ```
    /// use wakeful::sync::{mpsc, oneshot};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let (stop, mut stopped) = oneshot::channel::<()>();
    /// let mut work = vec!["third", "second", "first"];
    /// stop.send(()).unwrap();
    /// tx.send("something else").await.unwrap(); // so there is no room
    ///
    /// wakeful::select! {
    ///     permit = tx.reserve() => permit.unwrap().send(work.pop().unwrap()),
    ///     _ = &mut stopped => {}
    /// }
    /// assert_eq!(work.len(), 3);
    /// # assert_eq!(rx.try_recv(), Ok("something else"));
    /// # });
    /// ```
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        self.acquire(1).await?;
        Ok(Permit { chan: &self.chan })
    }

    /// Waits for room for `n` values at once, and reserves it.
    ///
    /// # Errors
    ///
    /// Fails if the receiver is dropped or closed, or if `n` is more than
    /// [`max_capacity`](Self::max_capacity).
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it only gives up its place in the
    /// queue of waiting senders.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(3);
    /// for (number, permit) in (1..).zip(tx.reserve_many(2).await.unwrap()) {
    ///     permit.send(number);
    /// }
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert_eq!(rx.recv().await, Some(2));
    /// # });
    /// ```
    pub async fn reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, SendError<()>> {
        self.acquire(n).await?;
        Ok(PermitIterator { chan: &self.chan, left: n })
    }

    /// Waits for room for one value, and reserves it together with this sender.
    ///
    /// The returned [`OwnedPermit`] borrows nothing, so it can be stored or moved to another task.
    ///
    /// # Errors
    ///
    /// Fails if the receiver is dropped or closed. The sender is dropped then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, it gives up its place in the queue of waiting senders, and drops
    /// the sender.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve_owned().await.unwrap();
    /// let tx = permit.send("first"); // the sender comes back
    /// assert!(tx.try_reserve().is_err());
    /// assert_eq!(rx.recv().await, Some("first"));
    /// assert!(tx.try_reserve().is_ok());
    /// # });
    /// ```
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        self.acquire(1).await?;
        Ok(OwnedPermit { sender: Some(self) })
    }

    /// Claims a slot for a value if there is room right now.
    ///
    /// Also fails with `NoPermits` if the task has used up its budget: the caller then queues for a
    /// permit, and consumes budget there.
    #[inline]
    fn claim_within_budget(&self) -> Result<Claimed<T>, TryAcquireError> {
        let unit = budget::proceed().ok_or(TryAcquireError::NoPermits)?;
        let slot = self.chan.claim()?;
        unit.made_progress();
        Ok(slot)
    }

    async fn acquire(&self, n: usize) -> Result<(), SendError<()>> {
        if n > self.max_capacity() {
            return Err(SendError(()));
        }
        acquire_room(&self.chan, n).await.map_err(|_| SendError(()))
    }

    fn try_acquire(&self, n: usize) -> Result<(), TrySendError<()>> {
        if n > self.max_capacity() {
            return Err(TrySendError::Full(()));
        }
        self.chan.try_acquire(n).map_err(|error| match error {
            TryAcquireError::Closed => TrySendError::Closed(()),
            TryAcquireError::NoPermits => TrySendError::Full(()),
        })
    }

    /// Reserves room for one value if there is some, without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`TrySendError::Full`] if there is no room, and [`TrySendError::Closed`] if the
    /// receiver is dropped or closed.
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.try_acquire(1)?;
        Ok(Permit { chan: &self.chan })
    }

    /// Reserves room for `n` values if there is that much, without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`TrySendError::Full`] if there is not enough room, and [`TrySendError::Closed`] if
    /// the receiver is dropped or closed.
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        self.try_acquire(n)?;
        Ok(PermitIterator { chan: &self.chan, left: n })
    }

    /// Reserves room for one value together with this sender if there is some, without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`TrySendError::Full`] if there is no room, and [`TrySendError::Closed`] if the
    /// receiver is dropped or closed. Both return the sender.
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.try_acquire(1) {
            Ok(()) => Ok(OwnedPermit { sender: Some(self) }),
            Err(TrySendError::Full(())) => Err(TrySendError::Full(self)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    /// Returns how many more values fit into the channel right now.
    pub fn capacity(&self) -> usize {
        self.chan.capacity().available(self.chan.words())
    }

    /// Returns how many values fit into the channel when it is empty.
    pub fn max_capacity(&self) -> usize {
        self.chan.capacity().bound()
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
