//! The channel without a bound.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use wakeful_base::sync::Arc;

use super::chan::{Chan, Unlimited};
use super::error::{SendError, TryRecvError};
use crate::blocking::block_on;

/// A channel that takes whatever is sent, as long as there is memory.
///
/// ```
/// use wakeful_sync::mpsc;
///
/// # wakeful_base::block_on(async {
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// drop(tx);
/// assert_eq!(rx.recv().await, Some(1));
/// assert_eq!(rx.recv().await, Some(2));
/// assert_eq!(rx.recv().await, None);
/// # });
/// ```
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let chan = Arc::new(Chan::new(Unlimited, 0));
    (UnboundedSender { chan: chan.clone() }, UnboundedReceiver { chan })
}

/// Sends values to the [`UnboundedReceiver`]; from [`unbounded_channel`].
pub struct UnboundedSender<T> {
    chan: Arc<Chan<T, Unlimited>>,
}

/// A sender that does not keep the channel open.
///
/// It cannot send, only be [upgraded](Self::upgrade), which fails once all senders are gone.
pub struct WeakUnboundedSender<T> {
    chan: Arc<Chan<T, Unlimited>>,
}

/// Receives what [`UnboundedSender`]s send; from [`unbounded_channel`].
pub struct UnboundedReceiver<T> {
    chan: Arc<Chan<T, Unlimited>>,
}

impl<T> UnboundedSender<T> {
    /// Sends `message`. Never waits, so it can be called anywhere.
    ///
    /// An error means that the receiver is gone or closed; it has the value.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut value = Some(message);
        match (self.chan.try_send(&mut value), value) {
            (Err(_), Some(value)) => Err(SendError(value)),
            _ => Ok(()),
        }
    }

    /// Waits until the receiver is gone or closed.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: once the channel is closed, this is ready at once.
    pub async fn closed(&self) {
        self.chan.closed().await;
    }

    /// Whether the receiver is gone or closed.
    pub fn is_closed(&self) -> bool {
        self.chan.is_closed()
    }

    /// Whether both senders are of the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.chan, &other.chan)
    }

    /// A sender that does not keep the channel open.
    #[must_use = "Downgrade creates a WeakSender without destroying the original non-weak sender."]
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        self.chan.add_weak_sender();
        WeakUnboundedSender { chan: self.chan.clone() }
    }

    /// How many senders there are.
    pub fn strong_count(&self) -> usize {
        self.chan.senders()
    }

    /// How many weak senders there are.
    pub fn weak_count(&self) -> usize {
        self.chan.weak_senders()
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        self.chan.add_sender();
        UnboundedSender { chan: self.chan.clone() }
    }
}

impl<T> Drop for UnboundedSender<T> {
    fn drop(&mut self) {
        self.chan.remove_sender();
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedSender").finish_non_exhaustive()
    }
}

impl<T> WeakUnboundedSender<T> {
    /// A sender, if there is at least one left.
    pub fn upgrade(&self) -> Option<UnboundedSender<T>> {
        let alive = self.chan.add_sender_to_others();
        alive.then(|| UnboundedSender { chan: self.chan.clone() })
    }

    /// How many senders there are.
    pub fn strong_count(&self) -> usize {
        self.chan.senders()
    }

    /// How many weak senders there are.
    pub fn weak_count(&self) -> usize {
        self.chan.weak_senders()
    }
}

impl<T> Clone for WeakUnboundedSender<T> {
    fn clone(&self) -> Self {
        self.chan.add_weak_sender();
        WeakUnboundedSender { chan: self.chan.clone() }
    }
}

impl<T> Drop for WeakUnboundedSender<T> {
    fn drop(&mut self) {
        self.chan.remove_weak_sender();
    }
}

impl<T> fmt::Debug for WeakUnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakUnboundedSender").finish()
    }
}

impl<T> UnboundedReceiver<T> {
    /// Receives the next value; `None` if none will ever come.
    ///
    /// None will come once all senders are gone, or the channel has been [closed](Self::close), and what
    /// was in it has been received.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, no value has been received.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Receives up to `limit` values, appends them to `buffer`, and returns how many.
    ///
    /// Waits for one value at least, unless `limit` is 0 or none will ever come: then it returns 0.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, no value has been received.
    pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        poll_fn(|cx| self.poll_recv_many(cx, buffer, limit)).await
    }

    /// Receives a value if there is one right now.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        // SAFETY: this is the receiver, borrowed exclusively.
        unsafe { self.chan.try_recv() }
    }

    /// Receives the next value, after waiting for it on this thread, which sleeps meanwhile.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    #[track_caller]
    #[doc(alias = "recv_blocking")]
    pub fn blocking_recv(&mut self) -> Option<T> {
        block_on("`mpsc::UnboundedReceiver::blocking_recv`", "recv().await", self.recv())
    }

    /// As [`recv_many`](Self::recv_many), waiting on this thread, which sleeps meanwhile.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    #[track_caller]
    #[doc(alias = "recv_many_blocking")]
    pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        let called = "`mpsc::UnboundedReceiver::blocking_recv_many`";
        block_on(called, "recv_many(buffer, limit).await", self.recv_many(buffer, limit))
    }

    /// Lets nobody send any more, without dropping what is in the channel.
    ///
    /// Receive until `None` to get all that was sent before.
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

impl<T> Drop for UnboundedReceiver<T> {
    fn drop(&mut self) {
        self.chan.close();
        self.chan.drop_waker();
        // SAFETY: this is the receiver, borrowed exclusively.
        unsafe { self.chan.drain() };
    }
}

impl<T> Unpin for UnboundedReceiver<T> {}

impl<T> fmt::Debug for UnboundedReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedReceiver").field("len", &self.len()).finish_non_exhaustive()
    }
}
