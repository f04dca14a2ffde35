//! A channel for one value.
//!
//! [`channel`] makes a [`Sender`], which sends once, and a [`Receiver`], which is a future of the value. Each
//! is used up by what it does; neither can be cloned. To send needs no waiting, and works from outside
//! of a runtime too.
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
//! If the sender is dropped without having sent, the receiver gets an error. In `select!` and loops,
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
//! One allocation, whose state is one word (`state.rs` has its bits and transitions):
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

use self::cell::{CellRef, ChannelCell};
use self::error::{RecvError, TryRecvError};

/// Sends one value to the [`Receiver`] it was made with.
///
/// Dropped without having sent, it lets the receiver end with an error.
///
/// ```
/// use wakeful::sync::oneshot;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel();
/// wakeful::spawn(async move {
///     if tx.send(6 * 7).is_err() {
///         println!("nobody wanted it");
///     }
/// });
/// assert_eq!(rx.await, Ok(42));
/// # });
/// ```
pub struct Sender<T> {
    cell: CellRef<T>,
}

/// Receives one value from the [`Sender`] it was made with: a future of `Result<T, RecvError>`.
///
/// # Cancel safety
/// Awaiting `&mut receiver` may be given up at any time; nothing is lost.
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
    /// `None` once there was a result.
    cell: Option<CellRef<T>>,
}

// SAFETY: the value goes from one end to the other, and nothing but the value depends on `T`.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: a shared sender gives no access to a `T`.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: as for the sender.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: a shared receiver gives no access to a `T`.
unsafe impl<T: Send> Sync for Receiver<T> {}

/// Makes a channel for one value.
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

impl<T> Sender<T> {
    /// Sends `t`, without waiting.
    ///
    /// # Errors
    /// Gives the value back if the receiver has been closed or dropped. That it has not is no promise that
    /// it will look at the value.
    #[inline]
    pub fn send(self, t: T) -> Result<(), T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the sender is used up by this.
        let sent = unsafe { ChannelCell::finish(this.cell, Some(t)) };
        sent.map_err(|value| value.expect("a send that fails gives its value back"))
    }

    /// Waits until the receiver is closed or dropped.
    ///
    /// Good for giving up work whose result nobody wants any more.
    ///
    /// # Cancel safety
    /// May be given up and begun again at any time.
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

    /// Whether the receiver is closed or dropped.
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

    /// `Ready` if the receiver is closed or dropped; otherwise the waker is called when it is.
    ///
    /// Only the waker of the last call counts.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let coop = ready!(budget::poll_proceed(cx));
        // SAFETY: the sender has not left, and this is it.
        if !self.is_closed() && unsafe { self.cell().register_tx_waker(cx.waker()) } {
            return Poll::Pending;
        }
        coop.made_progress();
        Poll::Ready(())
    }

    fn cell(&self) -> &ChannelCell<T> {
        // SAFETY: the sender leaves only when it is used up.
        unsafe { self.cell.as_ref() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // SAFETY: the sender is used up by this. Without a value there is nothing to give back.
        let _ = unsafe { ChannelCell::finish(self.cell, None) };
    }
}

impl<T> Receiver<T> {
    /// Keeps the sender from sending. What was sent before can still be received.
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
            // SAFETY: the receiver has not left, and this is it.
            let (own_waker, sender_waker) = unsafe { cell.close() };
            if let Some(waker) = sender_waker {
                waker.wake();
            }
            drop(own_waker);
        }
    }

    /// Whether the result was taken already, as a value or an error. To poll again would panic.
    pub fn is_terminated(&self) -> bool {
        self.cell.is_none()
    }

    /// Whether there is no value to take now.
    pub fn is_empty(&self) -> bool {
        self.cell().is_none_or(|cell| !cell.state.load().is_sent())
    }

    /// Takes the value if it is there, without waiting.
    ///
    /// # Errors
    /// [`Empty`](TryRecvError::Empty) if none was sent yet, [`Closed`](TryRecvError::Closed) if none will come.
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
        // SAFETY: the receiver has its reference, so it has not left.
        match unsafe { ChannelCell::try_receive(&mut self.cell) } {
            Poll::Pending => Err(TryRecvError::Empty),
            Poll::Ready(value) => value.ok_or(TryRecvError::Closed),
        }
    }

    /// Waits for the value on a thread that runs no tasks.
    ///
    /// # Errors
    /// If the sender is dropped without having sent.
    ///
    /// # Panics
    /// On a thread that drives a runtime.
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
        // SAFETY: the receiver forgets the cell when it leaves.
        self.cell.as_ref().map(|cell| unsafe { cell.as_ref() })
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(cell) = self.cell {
            // SAFETY: the receiver has not left, and is no more.
            unsafe { ChannelCell::drop_receiver(cell) };
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(cell) = self.cell else {
            panic!("oneshot::Receiver polled: called after complete, its result was taken before");
        };
        let coop = ready!(budget::poll_proceed(cx));
        // SAFETY: the receiver has its reference, so it has not left.
        let mut result = unsafe { ChannelCell::try_receive(&mut self.cell) };
        // SAFETY: there is no result, so it has neither left nor closed.
        if result.is_pending() && !unsafe { cell.as_ref().register_rx_waker(cx.waker()) } {
            // SAFETY: as above; the sender was done first, so this is ready.
            result = unsafe { ChannelCell::try_receive(&mut self.cell) };
        }
        let value = ready!(result);
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
