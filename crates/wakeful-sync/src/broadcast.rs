//! A multi-producer, multi-consumer channel that sends each value to every receiver.
//!
//! Each receiver gets a clone of each value that is sent after the receiver was created. The
//! channel keeps a value until all of these receivers have taken it.
//!
//! ```
//! use wakeful::sync::broadcast;
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut first) = broadcast::channel(16);
//! let mut second = tx.subscribe();
//! tx.send(10).unwrap();
//! assert_eq!(first.recv().await, Ok(10));
//! assert_eq!(second.recv().await, Ok(10));
//! # });
//! ```
//!
//! # Lagging
//! The channel holds the number of values that [`channel`] was called with, rounded up to a power
//! of two. A send never waits: in a full channel it overwrites the oldest value. A receiver that
//! has not taken that value gets [`RecvError::Lagged`] with the number of values it missed, and
//! then continues with the oldest value that is left.
//!
//! ```
//! use wakeful::sync::broadcast;
//! use wakeful::sync::broadcast::error::TryRecvError;
//!
//! let (tx, mut rx) = broadcast::channel(2);
//! for value in [10, 20, 30] {
//!     tx.send(value).unwrap();
//! }
//! assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(1)));
//! assert_eq!(rx.try_recv(), Ok(20));
//! assert_eq!(rx.try_recv(), Ok(30));
//! ```
//!
//! # Cloning
//! A receiver clones a value while it holds the lock of that value's slot, so that `T` need not be
//! `Sync`. While a slow `clone` runs, other receivers wait for this value. A `clone` that sends to
//! the same channel or receives from it may deadlock, as may a global allocator that does so when
//! the clone allocates.
//!
//! # Closing
//! When all senders are dropped, receivers take the values that are left and then get
//! [`RecvError::Closed`]. A receiver that is dropped releases the values it has not taken.

pub mod error;
mod recv;
mod ring;

use std::fmt;

use wakeful_base::on_unwind::{OnUnwind, drop_all};
use wakeful_base::sync::Arc;
use wakeful_base::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use wakeful_base::waiting::WaitKind;

use self::error::{RecvError, SendError, TryRecvError};
use self::recv::Recv;
use self::ring::Ring;
use crate::cooperative::cooperative;
use crate::wait_queue::Round;

/// The sending end of a broadcast [`channel`].
///
/// It can be cloned. The channel is open as long as there is a sender.
///
/// ```
/// use wakeful::sync::broadcast;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let tx = broadcast::Sender::new(8);
/// assert!(tx.send("no receivers yet").is_err());
///
/// let (mut one, mut other) = (tx.subscribe(), tx.subscribe());
/// assert_eq!(tx.send("hello").unwrap(), 2);
/// assert_eq!(one.recv().await, Ok("hello"));
/// assert_eq!(other.recv().await, Ok("hello"));
/// # });
/// ```
pub struct Sender<T> {
    ring: Arc<Ring<T>>,
}

/// A sender that does not keep the channel open.
///
/// [`upgrade`](Self::upgrade) turns it into a [`Sender`], as long as a sender is left.
///
/// ```
/// use wakeful::sync::broadcast;
///
/// let (tx, _rx) = broadcast::channel::<u32>(16);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    ring: Arc<Ring<T>>,
}

/// The receiving end of a broadcast [`channel`].
///
/// It receives each value that is sent after it was created.
///
/// A receiver that falls behind gets an error with the number of missed values, and can continue
/// after it:
///
/// ```
/// use wakeful::sync::broadcast::{self, error::RecvError};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = broadcast::channel(2);
/// for number in 0..5 {
///     tx.send(number).unwrap();
/// }
/// drop(tx);
///
/// let (mut got, mut missed) = (Vec::new(), 0);
/// loop {
///     match rx.recv().await {
///         Ok(number) => got.push(number),
///         Err(RecvError::Lagged(n)) => missed += n,
///         Err(RecvError::Closed) => break,
///     }
/// }
/// assert_eq!((got, missed), (vec![3, 4], 3));
/// # });
/// ```
pub struct Receiver<T> {
    ring: Arc<Ring<T>>,
    /// The number of the next value to take.
    next: Round,
}

/// Creates a channel that holds `capacity` values, rounded up to a power of two.
///
/// # Panics
/// Panics if the capacity is 0, or more than `usize::MAX / 2`.
///
/// ```
/// use wakeful::sync::broadcast;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = broadcast::channel(16);
/// let listener = wakeful::spawn(async move { rx.recv().await });
/// tx.send("hello").unwrap();
/// assert_eq!(listener.await.unwrap(), Ok("hello"));
/// # });
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let ring = Arc::new(Ring::new(capacity, 1));
    (Sender { ring: ring.clone() }, Receiver { ring, next: Round::FIRST })
}

impl<T> Sender<T> {
    /// Creates a sender of a channel without receivers; [`subscribe`](Self::subscribe) adds them.
    ///
    /// # Panics
    /// Panics if the capacity is 0, or more than `usize::MAX / 2`.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Sender { ring: Arc::new(Ring::new(capacity, 0)) }
    }

    /// Sends `value` to all receivers without waiting, and returns their number.
    ///
    /// Not all of them necessarily receive it: a receiver may lag, or be dropped first.
    ///
    /// # Errors
    /// Returns the value in a [`SendError`] if there are no receivers. A later send may succeed,
    /// after [`subscribe`](Self::subscribe).
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        self.ring.send(value)
    }

    /// Creates a receiver of the values that are sent from now on.
    ///
    /// ```
    /// use wakeful::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel(16);
    /// tx.send(10).unwrap();
    /// let mut late = tx.subscribe();
    /// tx.send(20).unwrap();
    /// assert_eq!(late.try_recv(), Ok(20));
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::register(self.ring.clone())
    }

    /// Creates a [`WeakSender`], which does not keep the channel open.
    #[must_use = "downgrade makes a WeakSender and leaves this sender as it is"]
    pub fn downgrade(&self) -> WeakSender<T> {
        self.ring.weak_senders.fetch_add(1, Relaxed);
        WeakSender { ring: self.ring.clone() }
    }

    /// Returns the number of values that at least one receiver has yet to take.
    ///
    /// ```
    /// use wakeful::sync::broadcast;
    ///
    /// let (tx, mut first) = broadcast::channel(16);
    /// let mut second = tx.subscribe();
    /// tx.send(10).unwrap();
    /// tx.send(20).unwrap();
    /// first.try_recv().unwrap();
    /// assert_eq!(tx.len(), 2);
    /// second.try_recv().unwrap();
    /// assert_eq!(tx.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns whether all receivers have taken all values.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns the number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.ring.receiver_count()
    }

    /// Returns whether both senders send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// Waits until there are no receivers.
    ///
    /// # Cancel safety
    /// This method is cancel safe: it can be dropped and called again at any time.
    ///
    /// ```
    /// use wakeful::sync::broadcast;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = broadcast::channel::<u32>(16);
    /// drop(rx);
    /// tx.closed().await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        loop {
            let gone = self.ring.no_receivers.notified();
            // This sender is alive, so the flag can only mean that there are no receivers.
            if self.ring.queue.load().flag() {
                return;
            }
            gone.wait_with(|waker| self.ring.note_wait(WaitKind::Closed, waker)).await;
        }
    }

    /// Returns the number of senders, not counting weak ones.
    pub fn strong_count(&self) -> usize {
        self.ring.senders.load(Acquire)
    }

    /// Returns the number of weak senders.
    pub fn weak_count(&self) -> usize {
        self.ring.weak_senders.load(Acquire)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.ring.senders.fetch_add(1, Relaxed);
        Sender { ring: self.ring.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.ring.senders.fetch_sub(1, AcqRel) == 1 {
            self.ring.close();
        }
    }
}

impl<T> WeakSender<T> {
    /// Returns a sender of the same channel, or `None` if all senders have been dropped.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let more = |count| if count == 0 { None } else { Some(count + 1) };
        self.ring.senders.fetch_update(Relaxed, Acquire, more).ok()?;
        Some(Sender { ring: self.ring.clone() })
    }

    /// Returns the number of senders, not counting weak ones.
    pub fn strong_count(&self) -> usize {
        self.ring.senders.load(Acquire)
    }

    /// Returns the number of weak senders.
    pub fn weak_count(&self) -> usize {
        self.ring.weak_senders.load(Acquire)
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        self.ring.weak_senders.fetch_add(1, Relaxed);
        WeakSender { ring: self.ring.clone() }
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        self.ring.weak_senders.fetch_sub(1, AcqRel);
    }
}

impl<T> Receiver<T> {
    fn register(ring: Arc<Ring<T>>) -> Self {
        let next = ring.add_receiver();
        Receiver { ring, next }
    }

    /// Returns the number of values sent that this receiver has not taken.
    ///
    /// If that is more than the channel holds, the next `recv` returns [`RecvError::Lagged`].
    ///
    /// ```
    /// use wakeful::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// tx.send(10).unwrap();
    /// tx.send(20).unwrap();
    /// assert_eq!(rx.len(), 2);
    /// rx.try_recv().unwrap();
    /// assert_eq!(rx.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.ring.next_number().since(self.next) as usize
    }

    /// Returns whether this receiver has taken all values sent so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether both receivers receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// Returns the number of senders, not counting weak ones.
    pub fn sender_strong_count(&self) -> usize {
        self.ring.senders.load(Acquire)
    }

    /// Returns the number of weak senders.
    pub fn sender_weak_count(&self) -> usize {
        self.ring.weak_senders.load(Acquire)
    }

    /// Returns whether all senders are dropped, not counting weak ones.
    pub fn is_closed(&self) -> bool {
        self.ring.senders.load(Acquire) == 0
    }
}

impl<T: Clone> Receiver<T> {
    /// Creates another receiver, of the values that are sent from now on.
    ///
    /// ```
    /// use wakeful::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// tx.send(10).unwrap();
    /// let mut other = rx.resubscribe();
    /// tx.send(20).unwrap();
    /// assert_eq!(other.try_recv(), Ok(20));
    /// assert_eq!(rx.try_recv(), Ok(10));
    /// ```
    pub fn resubscribe(&self) -> Self {
        Receiver::register(self.ring.clone())
    }

    /// Receives the next value, waiting until there is one.
    ///
    /// # Errors
    /// Returns [`Closed`](RecvError::Closed) once all senders are dropped and all values are taken,
    /// and [`Lagged`](RecvError::Lagged) if values were overwritten before this receiver took them.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped before it completes, no value has been
    /// taken.
    ///
    /// ```
    /// use wakeful::sync::broadcast::{self, error::RecvError};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = broadcast::channel(4);
    /// let listener = wakeful::spawn(async move {
    ///     let mut heard = Vec::new();
    ///     loop {
    ///         match rx.recv().await {
    ///             Ok(word) => heard.push(word),
    ///             Err(RecvError::Lagged(missed)) => println!("missed {missed}"),
    ///             Err(RecvError::Closed) => break heard,
    ///         }
    ///     }
    /// });
    /// tx.send("one").unwrap();
    /// tx.send("two").unwrap();
    /// drop(tx);
    /// assert_eq!(listener.await.unwrap(), ["one", "two"]);
    /// # });
    /// ```
    pub async fn recv(&mut self) -> Result<T, RecvError> {
        cooperative(Recv::new(self)).await
    }

    /// Receives the next value if there is one, without waiting.
    ///
    /// # Errors
    /// Returns [`Empty`](TryRecvError::Empty) if there is no value yet, and otherwise the errors of
    /// [`recv`](Self::recv).
    ///
    /// ```
    /// use wakeful::sync::broadcast;
    /// use wakeful::sync::broadcast::error::TryRecvError;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(10).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(10));
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.ring.take(&mut self.next).map(|guard| guard.clone_value())
    }

    /// Receives the next value, blocking the thread until there is one.
    ///
    /// For synchronous code, outside a runtime or in `spawn_blocking`.
    ///
    /// # Errors
    /// Returns the errors of [`recv`](Self::recv).
    ///
    /// # Panics
    /// Panics if the thread runs asynchronous tasks.
    ///
    /// ```
    /// use wakeful::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// let waiting = std::thread::spawn(move || rx.blocking_recv());
    /// tx.send(10).unwrap();
    /// assert_eq!(waiting.join().unwrap(), Ok(10));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        let (called, instead) = ("broadcast::Receiver::blocking_recv", "receiver.recv()");
        crate::blocking::block_on(called, instead, self.recv())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Receiver { ring, next } = self;
        let (end, was_last) = ring.remove_receiver();
        let notify_senders = || {
            if was_last {
                ring.no_receivers.notify_waiters();
            }
        };
        let value_panics = OnUnwind(notify_senders);
        // Releases the values that this receiver was counted for and has not taken. If it has
        // lagged, `take` fails once, and moves `next` on to the oldest value left.
        drop_all(|| next.is_before(end).then(|| ring.take(next).ok()?.release()));
        std::mem::forget(value_panics);
        notify_senders();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broadcast::Sender")
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broadcast::WeakSender")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broadcast::Receiver")
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "broadcast/tests/loom.rs"]
mod loom;
