//! A multi-producer, single-consumer channel.
//!
//! - [`channel`] is bounded: a send into a full channel waits for room. That is how a slow receiver
//!   slows its senders down, instead of letting values pile up in memory.
//! - [`unbounded_channel`] has no bound: a send never waits, and memory is the only limit.
//!
//! Values arrive in the order in which they were sent. Senders that wait for room are served first
//! come, first served.
//!
//! # Closing
//!
//! When all senders are dropped, the receiver gets the values still in the channel and then `None`.
//! When the receiver is dropped, or has [closed](Receiver::close) the channel, sending fails and
//! returns the value.
//!
//! # Use outside a runtime
//!
//! Both ends work under any executor. Threads that run no executor use [`Sender::blocking_send`],
//! [`Receiver::blocking_recv`] and [`UnboundedSender::send`].
//!
//! # Examples
//!
//! ```
//! use wakeful::sync::mpsc;
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut rx) = mpsc::channel(8);
//! let worker = std::thread::spawn(move || {
//!     for i in 0..3 {
//!         tx.blocking_send(i).unwrap();
//!     }
//! });
//! while let Some(i) = rx.recv().await {
//!     println!("got {i}");
//! }
//! # worker.join().unwrap();
//! # });
//! ```

// Which file to open:
//
// - `sender.rs`, `receiver.rs`, `permit.rs`, `send_timeout.rs`, `error.rs`: the public API.
// - `chan.rs`: the state that all handles share, and how the receiver waits.
// - `state.rs`: the two atomic words, and all their transitions. Start here.
// - `queue.rs`, `block.rs`: the slots, in blocks, and how they are claimed, published and taken.
// - `capacity.rs`: the room in a bounded channel, and the senders that wait for some.
// - `rx_waker.rs`: the receiver's waker.
mod block;
mod capacity;
mod chan;
pub mod error;
mod permit;
mod queue;
mod receiver;
mod rx_waker;
#[cfg(feature = "time")]
mod send_timeout;
mod sender;
mod state;

pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use receiver::{Receiver, UnboundedReceiver};
pub use sender::{Sender, UnboundedSender, WeakSender, WeakUnboundedSender};

use capacity::Capacity;
use chan::{Chan, Unlimited};

use crate::batch_semaphore::MAX_PERMITS;
use wakeful_base::sync::Arc;

/// Creates a bounded channel with room for `buffer` values.
///
/// A send into the full channel waits until the receiver has taken a value.
///
/// ```
/// use wakeful::sync::mpsc;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = mpsc::channel(2);
/// tx.send("a").await.unwrap();
/// tx.send("b").await.unwrap();
/// assert!(tx.try_send("c").is_err());
/// assert_eq!(rx.recv().await, Some("a"));
/// assert!(tx.try_send("c").is_ok());
/// # });
/// ```
///
/// # Panics
///
/// Panics if `buffer` is 0, or larger than
/// [`Semaphore::MAX_PERMITS`](crate::Semaphore::MAX_PERMITS).
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    assert!(
        buffer <= MAX_PERMITS,
        "mpsc::channel was called with a buffer of {buffer}; the maximum is Semaphore::MAX_PERMITS \
         ({MAX_PERMITS})"
    );
    let (capacity, credits) = Capacity::new(buffer);
    let chan = Arc::new(Chan::new(capacity, credits));
    (Sender::first(chan.clone()), Receiver::new(chan))
}

/// Creates an unbounded channel.
///
/// Sending never waits. If the receiver is slower than the senders, the values pile up in memory.
///
/// ```
/// use wakeful::sync::mpsc;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
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
    (UnboundedSender::first(chan.clone()), UnboundedReceiver::new(chan))
}

#[cfg(all(test, wakeful_loom))]
#[path = "mpsc/tests/loom.rs"]
mod loom;
