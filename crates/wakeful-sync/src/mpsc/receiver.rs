//! The receiving ends of both kinds of channel.
//!
//! The macro `receiver!` writes what `Receiver` and `UnboundedReceiver` have in common, which is
//! everything but the capacity.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomPinned;
use std::task::{Context, Poll};

use wakeful_base::sync::Arc;

use super::capacity::Capacity;
use super::chan::{Chan, Unlimited};
use super::error::TryRecvError;
use crate::blocking::block_on;

/// Returns what `async { poll_fn(f).await }` would return, but without the state of an `async`
/// block.
///
/// `recv` is called once per value, so this state is a measurable part of its time (see
/// bench/NOTES.md: mpsc recv future). The captured `PhantomPinned` makes the future `!Unpin`, as an
/// `async` block is. Unlike an `async` block it does not panic if it is polled again after it was
/// ready, but polls `f` again.
fn poll_pinned<R>(mut f: impl FnMut(&mut Context<'_>) -> Poll<R>) -> impl Future<Output = R> {
    let pinned = PhantomPinned;
    poll_fn(move |cx| {
        let _is_captured = &pinned;
        f(cx)
    })
}

macro_rules! receiver {
    ($(#[$doc:meta])* $Receiver:ident of $Flow:ty) => {
        $(#[$doc])*
        pub struct $Receiver<T> {
            chan: Arc<Chan<T, $Flow>>,
        }

        impl<T> $Receiver<T> {
            pub(super) fn new(chan: Arc<Chan<T, $Flow>>) -> Self {
                $Receiver { chan }
            }

            /// Receives the next value, waiting until there is one.
            ///
            /// Returns `None` once the channel is empty and either all senders are dropped, or the
            /// channel has been [closed](Self::close) and no permits are left.
            ///
            /// # Cancel safety
            ///
            /// This method is cancel safe: if the future is dropped before it completes, no value
            /// has been received.
            ///
            /// ```
            /// use wakeful::sync::mpsc;
            ///
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// let (tx, mut rx) = mpsc::channel(4);
            /// wakeful::spawn(async move {
            ///     for word in ["one", "two"] {
            ///         tx.send(word).await.unwrap();
            ///     }
            /// });
            /// let mut words = Vec::new();
            /// while let Some(word) = rx.recv().await {
            ///     words.push(word);
            /// }
            /// assert_eq!(words, ["one", "two"]);
            /// # });
            /// ```
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> {
                poll_pinned(|cx| self.poll_recv(cx))
            }

            /// Receives up to `limit` values and appends them to `buffer`; returns their number.
            ///
            /// Waits until there is at least one value. Returns 0 only if `limit` is 0, or if no
            /// value will ever come.
            ///
            /// # Cancel safety
            ///
            /// This method is cancel safe: if the future is dropped before it completes, no value
            /// has been received.
            ///
            /// ```
            /// use wakeful::sync::mpsc;
            ///
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// let (tx, mut rx) = mpsc::channel(8);
            /// for number in 1..=5 {
            ///     tx.send(number).await.unwrap();
            /// }
            /// let mut batch = Vec::with_capacity(4);
            /// assert_eq!(rx.recv_many(&mut batch, 4).await, 4); // everything there is, up to 4
            /// assert_eq!(batch, [1, 2, 3, 4]);
            /// batch.clear();
            /// assert_eq!(rx.recv_many(&mut batch, 4).await, 1);
            /// # });
            /// ```
            pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                poll_fn(|cx| self.poll_recv_many(cx, buffer, limit)).await
            }

            /// Receives the next value if there is one, without waiting.
            ///
            /// If a sender is in the middle of sending the value, this method waits for that
            /// sender, for as long as it takes to write the value.
            ///
            /// # Errors
            ///
            /// Returns [`TryRecvError::Empty`] if there is no value yet, and
            /// [`TryRecvError::Disconnected`] if none will ever come.
            ///
            /// ```
            /// use wakeful::sync::mpsc;
            ///
            /// let (tx, mut rx) = mpsc::channel(8);
            /// tx.try_send(1).unwrap();
            /// tx.try_send(2).unwrap();
            /// let at_hand: Vec<_> = std::iter::from_fn(|| rx.try_recv().ok()).collect();
            /// assert_eq!(at_hand, [1, 2]);
            /// ```
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                // SAFETY: the channel's receiver methods may only be called by its one receiver,
                // one call at a time. This is that receiver, and `&mut self` excludes other calls.
                unsafe { self.chan.try_recv() }
            }

            /// Receives the next value, blocking the thread until there is one.
            ///
            /// For synchronous code, outside a runtime or in `spawn_blocking`. Returns `None` when
            /// [`recv`](Self::recv) would.
            ///
            /// # Panics
            ///
            /// Panics if the thread runs asynchronous tasks.
            ///
            /// ```
            /// use wakeful::sync::mpsc;
            ///
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// let (tx, mut rx) = mpsc::channel(8);
            /// let thread = std::thread::spawn(move || {
            ///     let mut sum = 0;
            ///     while let Some(number) = rx.blocking_recv() {
            ///         sum += number;
            ///     }
            ///     sum
            /// });
            /// for number in 1..=3 {
            ///     tx.send(number).await.unwrap();
            /// }
            /// drop(tx);
            /// assert_eq!(thread.join().unwrap(), 6);
            /// # });
            /// ```
            #[track_caller]
            #[doc(alias = "recv_blocking")]
            pub fn blocking_recv(&mut self) -> Option<T> {
                let called = concat!("`mpsc::", stringify!($Receiver), "::blocking_recv`");
                block_on(called, "recv().await", self.recv())
            }

            /// Receives up to `limit` values as [`recv_many`](Self::recv_many) does, blocking the
            /// thread.
            ///
            /// # Panics
            ///
            /// Panics if the thread runs asynchronous tasks.
            #[track_caller]
            #[doc(alias = "recv_many_blocking")]
            pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                let called = concat!("`mpsc::", stringify!($Receiver), "::blocking_recv_many`");
                block_on(called, "recv_many(buffer, limit).await", self.recv_many(buffer, limit))
            }

            /// Closes the channel: sending fails, and values already sent can still be received.
            ///
            /// [Permits](super::Permit) that were reserved before stay valid, and values sent with
            /// them are received too. To get all values, receive until `None`.
            ///
            /// ```
            /// use wakeful::sync::mpsc;
            ///
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// let (tx, mut rx) = mpsc::channel(8);
            /// tx.send("in time").await.unwrap();
            /// rx.close();
            /// assert!(tx.send("too late").await.is_err());
            /// assert_eq!(rx.recv().await, Some("in time"));
            /// assert_eq!(rx.recv().await, None);
            /// # });
            /// ```
            pub fn close(&mut self) {
                self.chan.close();
            }

            /// Returns whether the channel has been closed, or all senders are dropped.
            pub fn is_closed(&self) -> bool {
                self.chan.is_closed() || self.chan.senders() == 0
            }

            /// Returns whether there is no value in the channel.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the number of values in the channel.
            pub fn len(&self) -> usize {
                self.chan.len()
            }

            /// Polls for the next value, for hand-written futures.
            ///
            /// See [`recv`](Self::recv). Only the waker of the most recent call is woken.
            ///
            /// ```
            /// use std::future::poll_fn;
            /// use wakeful::sync::mpsc;
            ///
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// let (tx, mut rx) = mpsc::channel(1);
            /// tx.send(1).await.unwrap();
            /// assert_eq!(poll_fn(|cx| rx.poll_recv(cx)).await, Some(1));
            /// # });
            /// ```
            pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
                // SAFETY: the channel's receiver methods may only be called by its one receiver,
                // one call at a time. This is that receiver, and `&mut self` excludes other calls.
                unsafe { self.chan.poll_recv(cx) }
            }

            /// Polls for several values, for hand-written futures.
            ///
            /// See [`recv_many`](Self::recv_many). Only the waker of the most recent call is woken.
            pub fn poll_recv_many(
                &mut self,
                cx: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                // SAFETY: the channel's receiver methods may only be called by its one receiver,
                // one call at a time. This is that receiver, and `&mut self` excludes other calls.
                unsafe { self.chan.poll_recv_many(cx, buffer, limit) }
            }

            /// Returns the number of senders, not counting weak ones.
            pub fn sender_strong_count(&self) -> usize {
                self.chan.senders()
            }

            /// Returns the number of weak senders.
            pub fn sender_weak_count(&self) -> usize {
                self.chan.weak_senders()
            }
        }

        impl<T> Drop for $Receiver<T> {
            fn drop(&mut self) {
                // SAFETY: the channel's receiver methods may only be called by its one receiver,
                // one call at a time. This is that receiver, and `&mut self` excludes other calls.
                unsafe { self.chan.drop_receiver() };
            }
        }

        impl<T> Unpin for $Receiver<T> {}

        impl<T> fmt::Debug for $Receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Receiver))
                    .field("len", &self.len())
                    .finish_non_exhaustive()
            }
        }
    };
}

receiver! {
    /// The receiving end of a bounded [`channel`](super::channel).
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(10);
    /// for i in 0..4 {
    ///     tx.send(i).await.unwrap();
    /// }
    /// drop(tx);
    /// assert_eq!(rx.recv().await, Some(0));
    /// let mut buffer = Vec::new();
    /// assert_eq!(rx.recv_many(&mut buffer, 2).await, 2);
    /// assert_eq!(rx.recv_many(&mut buffer, 2).await, 1);
    /// assert_eq!(buffer, [1, 2, 3]);
    /// assert_eq!(rx.recv().await, None);
    /// # });
    /// ```
    Receiver of Capacity
}

receiver! {
    /// The receiving end of an [`unbounded_channel`](super::unbounded_channel).
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// for number in 0..3 {
    ///     let tx = tx.clone();
    ///     wakeful::spawn(async move { tx.send(number) });
    /// }
    /// drop(tx); // the tasks have theirs
    ///
    /// let mut sum = 0;
    /// while let Some(number) = rx.recv().await {
    ///     sum += number;
    /// }
    /// assert_eq!(sum, 3);
    /// # });
    /// ```
    UnboundedReceiver of Unlimited
}

impl<T> Receiver<T> {
    /// Returns how many more values fit into the channel right now.
    pub fn capacity(&self) -> usize {
        self.chan.capacity().available(self.chan.words())
    }

    /// Returns how many values fit into the channel when it is empty.
    pub fn max_capacity(&self) -> usize {
        self.chan.capacity().bound()
    }
}
