//! A channel that carries a single value.
//!
//! [`channel`] returns a [`Sender`], which sends once, and a [`Receiver`], which is a future of the
//! value. Sending and receiving consume the handle, and neither handle can be cloned. Sending never
//! waits, and works outside a runtime too.
//!
//! ```
//! use wakeful::sync::oneshot;
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, rx) = oneshot::channel();
//! std::thread::spawn(move || tx.send("hello"));
//! assert_eq!(rx.await, Ok("hello"));
//! # });
//! ```
//!
//! If the sender is dropped without sending, the receiver gets an error. In `select!` and loops,
//! await `&mut rx` to keep the receiver:
//!
//! ```
//! use std::time::Duration;
//! use wakeful::{sync::oneshot, time};
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut rx) = oneshot::channel();
//! let mut every = time::interval(Duration::from_millis(1));
//! let task = wakeful::spawn(async move {
//!     time::sleep(Duration::from_millis(3)).await;
//!     tx.send("done")
//! });
//! let outcome = loop {
//!     wakeful::select! {
//!         _ = every.tick() => println!("still waiting"),
//!         outcome = &mut rx => break outcome,
//!     }
//! };
//! assert_eq!(outcome, Ok("done"));
//! # task.await.unwrap().unwrap();
//! # });
//! ```
//!
//! # How it works
//! Both ends share one allocation, whose state is one atomic word (`state.rs` has its bits and
//! transitions; `cell.rs` has the memory and says which end may touch which part of it):
//!
//! ```text
//!              Receiver::poll leaves a waker           Sender::send takes it and wakes
//!   open ───────────────────────────────────▶ waiting ────────────────────────────────▶ done
//!     │                                          │                                       ▲
//!     ├──────────Sender::send, Sender::drop──────┼───────────────────────────────────────┘
//!     └──────────Receiver::close, drop───────────┴──────▶ closed: a send gets its value back
//! ```

mod cell;
pub mod error;
mod state;

use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::budget;
use wakeful_base::on_unwind::hold_during;
use wakeful_base::waiting::{LeafDetails, WaitKind, address, note_with};

use self::cell::{CellRef, ChannelCell};
use self::error::{RecvError, TryRecvError};

/// The sending end of a [`channel`].
///
/// If it is dropped without sending, the receiver returns an error.
///
/// ```
/// use wakeful::sync::oneshot;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel();
/// wakeful::spawn(async move {
///     if tx.send(6 * 7).is_err() {
///         println!("the receiver is gone");
///     }
/// });
/// assert_eq!(rx.await, Ok(42));
/// # });
/// ```
pub struct Sender<T> {
    cell: CellRef<T>,
}

/// The receiving end of a [`channel`]: a future of `Result<T, RecvError>`.
///
/// Once it has returned the result, polling it again panics.
///
/// # Cancel safety
/// Awaiting `&mut receiver` is cancel safe: nothing is lost if that future is dropped.
///
/// ```
/// use wakeful::sync::oneshot;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel::<u32>();
/// drop(tx);
/// assert!(rx.await.is_err());
/// # });
/// ```
pub struct Receiver<T> {
    /// `None` once the result has been returned.
    cell: Option<CellRef<T>>,
}

// SAFETY: the channel moves a `T` from one thread to another, hence `T: Send`. The rest of the cell
// is atomics and wakers, which are `Send` and `Sync`.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: no method gives access to the `T` through `&Sender`.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: as for `Sender`.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: no method gives access to the `T` through `&Receiver`.
unsafe impl<T: Send> Sync for Receiver<T> {}

/// Creates a channel for one value.
///
/// ```
/// use wakeful::sync::oneshot;
///
/// let (tx, mut rx) = oneshot::channel();
/// tx.send(3).unwrap();
/// assert_eq!(rx.try_recv(), Ok(3));
/// ```
#[inline]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let cell = ChannelCell::allocate();
    (Sender { cell }, Receiver { cell: Some(cell) })
}

/// What is known of a channel on which one end waits for the other.
fn both_ends() -> LeafDetails {
    LeafDetails { senders: Some(1), receivers: Some(1), ..LeafDetails::default() }
}

impl<T> Sender<T> {
    /// Sends `t` without waiting.
    ///
    /// If it succeeds, the value is in the channel. The receiver may still be dropped without
    /// looking at it.
    ///
    /// # Errors
    /// Returns the value if the receiver has been closed or dropped.
    #[inline]
    pub fn send(self, t: T) -> Result<(), T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `send` consumes the sender, and `ManuallyDrop` prevents its `drop`, so it leaves
        // the cell only here.
        let sent = unsafe { ChannelCell::finish(this.cell, Some(t)) };
        sent.map_err(|value| value.expect("a send that fails returns its value"))
    }

    /// Waits until the receiver is closed or dropped.
    ///
    /// A task can use this to abort work whose result is no longer wanted.
    ///
    /// # Cancel safety
    /// This method is cancel safe: it can be dropped and called again at any time.
    ///
    /// ```
    /// use wakeful::sync::oneshot;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut tx, rx) = oneshot::channel::<u32>();
    /// drop(rx);
    /// tx.closed().await;
    /// # });
    /// ```
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// Returns whether the receiver is closed or dropped.
    ///
    /// ```
    /// use wakeful::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// assert_eq!(tx.send(3), Err(3));
    /// ```
    pub fn is_closed(&self) -> bool {
        self.cell().state.load().is_closed()
    }

    /// Polls for the receiver to be closed or dropped, for hand-written futures.
    ///
    /// See [`closed`](Self::closed). Only the waker of the most recent call is woken.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let coop = ready!(budget::poll_proceed(cx));
        // SAFETY: this is the sender, borrowed by `&mut self`, so it has not left the cell.
        if !self.is_closed() && unsafe { self.cell().register_tx_waker(cx.waker()) } {
            note_with(WaitKind::Closed, address(self.cell()), cx.waker(), both_ends);
            return Poll::Pending;
        }
        coop.made_progress();
        Poll::Ready(())
    }

    fn cell(&self) -> &ChannelCell<T> {
        // SAFETY: the cell lives until both ends have left it. The sender leaves it only in `send`
        // and `drop`, which consume the sender.
        unsafe { self.cell.as_ref() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // SAFETY: the sender is being dropped, and leaves the cell only here. Without a value there
        // is nothing to return.
        let _ = unsafe { ChannelCell::finish(self.cell, None) };
    }
}

impl<T> Receiver<T> {
    /// Closes the channel: sending fails from now on. A value sent before can still be received.
    ///
    /// ```
    /// use wakeful::sync::oneshot;
    /// use wakeful::sync::oneshot::error::TryRecvError;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send(3), Err(3));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    pub fn close(&mut self) {
        if let Some(cell) = self.cell() {
            // SAFETY: this is the receiver, borrowed by `&mut self`. It has not left the cell,
            // since `self.cell` is `Some`.
            let (own_waker, sender_waker) = unsafe { cell.close() };
            drop(hold_during(own_waker, |_| {
                if let Some(waker) = sender_waker {
                    waker.wake();
                }
            }));
        }
    }

    /// Returns whether the result, a value or an error, has already been returned.
    ///
    /// Polling the receiver again would panic.
    pub fn is_terminated(&self) -> bool {
        self.cell.is_none()
    }

    /// Returns whether there is no value to receive right now.
    pub fn is_empty(&self) -> bool {
        self.cell().is_none_or(|cell| !cell.state.load().is_sent())
    }

    /// Receives the value if it has been sent, without waiting.
    ///
    /// # Errors
    /// Returns [`Empty`](TryRecvError::Empty) if no value has been sent yet, and
    /// [`Closed`](TryRecvError::Closed) if none will ever come.
    ///
    /// ```
    /// use wakeful::sync::oneshot;
    /// use wakeful::sync::oneshot::error::TryRecvError;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(3).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(3));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        if self.cell.is_none() {
            return Err(TryRecvError::Closed);
        }
        // SAFETY: this is the receiver. It has not left the cell, since `self.cell` is `Some`.
        match unsafe { ChannelCell::try_receive(&mut self.cell) } {
            Poll::Pending => Err(TryRecvError::Empty),
            Poll::Ready(value) => value.ok_or(TryRecvError::Closed),
        }
    }

    /// Receives the value, blocking the thread until it is sent.
    ///
    /// For synchronous code, outside a runtime or in `spawn_blocking`.
    ///
    /// # Errors
    /// Returns an error if the sender is dropped without sending.
    ///
    /// # Panics
    /// Panics if the thread runs asynchronous tasks.
    ///
    /// ```
    /// use wakeful::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// let waiting = std::thread::spawn(move || rx.blocking_recv());
    /// tx.send(10).unwrap();
    /// assert_eq!(waiting.join().unwrap(), Ok(10));
    /// ```
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        crate::blocking::block_on("oneshot::Receiver::blocking_recv", "receiver", self)
    }

    fn cell(&self) -> Option<&ChannelCell<T>> {
        // SAFETY: the cell lives until both ends have left it. The receiver sets `self.cell` to
        // `None` when it leaves.
        self.cell.as_ref().map(|cell| unsafe { cell.as_ref() })
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(cell) = self.cell {
            // SAFETY: this is the receiver, which leaves the cell with this call. It has not left
            // before, since `self.cell` is `Some`.
            unsafe { ChannelCell::drop_receiver(cell) };
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(cell) = self.cell else {
            panic!(
                "oneshot::Receiver was polled after it returned its result: called after complete"
            );
        };
        let coop = ready!(budget::poll_proceed(cx));
        // SAFETY: this is the receiver. It has not left the cell, since `self.cell` is `Some`.
        let mut result = unsafe { ChannelCell::try_receive(&mut self.cell) };
        // SAFETY: `try_receive` returned `Pending`, so the receiver has neither left nor closed the
        // channel.
        if result.is_pending() && !unsafe { cell.as_ref().register_rx_waker(cx.waker()) } {
            // SAFETY: as above. The sender finished before the waker was registered, so this
            // returns `Ready`.
            result = unsafe { ChannelCell::try_receive(&mut self.cell) };
        }
        let Poll::Ready(value) = result else {
            note_with(WaitKind::OneshotRecv, cell.addr().get() as u64, cx.waker(), both_ends);
            return Poll::Pending;
        };
        coop.made_progress();
        Poll::Ready(value.ok_or(RecvError(())))
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("state", &self.cell().state.load()).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.cell().map(|cell| cell.state.load());
        f.debug_struct("Receiver").field("state", &state).finish()
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "oneshot/tests/loom.rs"]
mod loom;
