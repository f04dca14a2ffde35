//! Traits for the primitives of the `sync` cases.
//!
//! Like the traits of [`crate::runtime`], they are implemented by types that stand for a library.

use std::future::Future;
use std::ops::DerefMut;

/// A channel with many senders and one receiver.
pub trait Channel: 'static {
    type Sender: Clone + Send + Sync + 'static;
    type Receiver: Send + 'static;

    /// Creates a channel with this capacity, or without a limit.
    fn new(room: Option<usize>) -> (Self::Sender, Self::Receiver);

    fn send(sender: &Self::Sender, value: u64) -> impl Future<Output = ()> + Send;

    /// Returns `None` when all senders are dropped.
    fn recv(receiver: &mut Self::Receiver) -> impl Future<Output = Option<u64>> + Send;
}

/// A channel for one value.
pub trait Oneshot: 'static {
    type Sender: Send + 'static;
    type Receiver: Send + 'static;

    fn new() -> (Self::Sender, Self::Receiver);

    fn send(sender: Self::Sender, value: u64);

    fn recv(receiver: Self::Receiver) -> impl Future<Output = u64> + Send;
}

/// An event that one task signals and another waits for.
pub trait Event: Send + Sync + 'static {
    fn new() -> Self;

    fn tell(&self);

    /// Completes once per call of `tell`.
    fn wait(&self) -> impl Future<Output = ()> + Send;
}

/// A lock whose guard may be held across an `.await`.
pub trait Lock: Send + Sync + 'static {
    fn new() -> Self;

    fn lock(&self) -> impl Future<Output = impl DerefMut<Target = u64> + Send> + Send;
}

/// A semaphore: permits are returned when dropped.
pub trait Permits: Send + Sync + 'static {
    fn new(permits: usize) -> Self;

    fn acquire(&self) -> impl Future<Output = impl Send> + Send;
}

/// A channel that gives each receiver every value.
pub trait Broadcast: 'static {
    type Sender: Send + 'static;
    type Receiver: Send + 'static;

    fn new(room: usize) -> Self::Sender;

    fn subscribe(sender: &Self::Sender) -> Self::Receiver;

    fn send(sender: &Self::Sender, value: u64);

    fn recv(receiver: &mut Self::Receiver) -> impl Future<Output = u64> + Send;
}

/// A value that receivers watch.
pub trait Watch: 'static {
    type Sender: Send + 'static;
    type Receiver: Clone + Send + 'static;

    fn new() -> (Self::Sender, Self::Receiver);

    fn set(sender: &Self::Sender, value: u64);

    /// Waits for a value that this receiver has not seen yet.
    fn changed(receiver: &mut Self::Receiver) -> impl Future<Output = u64> + Send;
}
