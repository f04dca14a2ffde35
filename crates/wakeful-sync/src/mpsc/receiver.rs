//! The receiving ends: what both kinds of channels have is written once.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomPinned;
use std::task::{Context, Poll};

use wakeful_base::sync::Arc;

use super::capacity::Capacity;
use super::chan::{Chan, Unlimited};
use super::error::TryRecvError;
use crate::blocking::block_on;

/// What an `async` block around `poll_fn(f)` is, but for the state that such a block keeps: a twentieth of what it takes to
/// receive a value that is there. Polled again after it was ready it does not panic, but goes on.
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

            /// Receives the next value; `None` if none will ever come.
            ///
            /// None will come once all senders are gone, or the channel has been [closed](Self::close), and what
            /// was in it has been received.
            ///
            /// # Cancel safety
            ///
            /// If the future is dropped before it is ready, no value has been received.
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

            /// Receives up to `limit` values, appends them to `buffer`, and returns how many.
            ///
            /// Waits for one value at least, unless `limit` is 0 or none will ever come: then it returns 0.
            ///
            /// # Cancel safety
            ///
            /// If the future is dropped before it is ready, no value has been received.
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
            /// assert_eq!(rx.recv_many(&mut batch, 4).await, 4); // all that is there, up to the limit
            /// assert_eq!(batch, [1, 2, 3, 4]);
            /// batch.clear();
            /// assert_eq!(rx.recv_many(&mut batch, 4).await, 1);
            /// # });
            /// ```
            pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                poll_fn(|cx| self.poll_recv_many(cx, buffer, limit)).await
            }

            /// Receives a value if there is one right now.
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
                // SAFETY: this is the receiver, borrowed exclusively.
                unsafe { self.chan.try_recv() }
            }

            /// Receives the next value, after waiting for it on this thread, which sleeps meanwhile.
            ///
            /// # Panics
            ///
            /// On a thread that is driving asynchronous tasks.
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

            /// As [`recv_many`](Self::recv_many), waiting on this thread, which sleeps meanwhile.
            ///
            /// # Panics
            ///
            /// On a thread that is driving asynchronous tasks.
            #[track_caller]
            #[doc(alias = "recv_many_blocking")]
            pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                let called = concat!("`mpsc::", stringify!($Receiver), "::blocking_recv_many`");
                block_on(called, "recv_many(buffer, limit).await", self.recv_many(buffer, limit))
            }

            /// Lets nobody send any more, without dropping what is in the channel.
            ///
            /// There may even be values to come, from [permits](super::Permit) that are out: they stay valid.
            /// Receive until `None` to get all.
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

            /// Whether the channel has been closed, or all senders are gone.
            pub fn is_closed(&self) -> bool {
                self.chan.is_closed() || self.chan.senders() == 0
            }

            /// Whether there is no value in the channel.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// How many values are in the channel.
            pub fn len(&self) -> usize {
                self.chan.len()
            }

            /// Polls for the next value: what [`recv`](Self::recv) does, for hand-written futures.
            ///
            /// The waker of the last call is the one that is woken.
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
                // SAFETY: this is the receiver, borrowed exclusively.
                unsafe { self.chan.poll_recv(cx) }
            }

            /// Polls for several values: what [`recv_many`](Self::recv_many) does, for hand-written futures.
            ///
            /// The waker of the last call is the one that is woken.
            pub fn poll_recv_many(
                &mut self,
                cx: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                // SAFETY: this is the receiver, borrowed exclusively.
                unsafe { self.chan.poll_recv_many(cx, buffer, limit) }
            }

            /// How many senders there are.
            pub fn sender_strong_count(&self) -> usize {
                self.chan.senders()
            }

            /// How many weak senders there are.
            pub fn sender_weak_count(&self) -> usize {
                self.chan.weak_senders()
            }
        }

        impl<T> Drop for $Receiver<T> {
            fn drop(&mut self) {
                // SAFETY: this is the receiver, borrowed exclusively.
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
    /// Receives what [`Sender`](super::Sender)s send; from [`channel`](super::channel).
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
    /// Receives what [`UnboundedSender`](super::UnboundedSender)s send; from
    /// [`unbounded_channel`](super::unbounded_channel).
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
    /// How many more values fit in right now.
    pub fn capacity(&self) -> usize {
        self.chan.capacity().available(self.chan.words())
    }

    /// How many values fit into the empty channel.
    pub fn max_capacity(&self) -> usize {
        self.chan.capacity().bound()
    }
}
