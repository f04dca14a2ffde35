//! What tasks talk to each other with, one trait a primitive, for the `sync` cases.
//!
//! Like the traits of [`crate::runtime`] they are implemented by types that stand for a library.

use std::future::Future;
use std::ops::DerefMut;

/// A channel of many senders and one receiver.
pub trait Channel: 'static {
    type Sender: Clone + Send + Sync + 'static;
    type Receiver: Send + 'static;

    /// With room for so many values, or for any number.
    fn new(room: Option<usize>) -> (Self::Sender, Self::Receiver);

    fn send(sender: &Self::Sender, value: u64) -> impl Future<Output = ()> + Send;

    /// `None` when all senders are gone.
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

/// Something that one task waits for and another tells it.
pub trait Event: Send + Sync + 'static {
    fn new() -> Self;

    fn tell(&self);

    /// Ends once for each telling.
    fn wait(&self) -> impl Future<Output = ()> + Send;
}

/// A lock whose guard may be held across an `.await`.
pub trait Lock: Send + Sync + 'static {
    fn new() -> Self;

    fn lock(&self) -> impl Future<Output = impl DerefMut<Target = u64> + Send> + Send;
}

/// Permits, taken and given back.
pub trait Permits: Send + Sync + 'static {
    fn new(permits: usize) -> Self;

    fn acquire(&self) -> impl Future<Output = impl Send> + Send;
}

/// A channel whose every receiver gets every value.
pub trait Broadcast: 'static {
    type Sender: Send + 'static;
    type Receiver: Send + 'static;

    fn new(room: usize) -> Self::Sender;

    fn subscribe(sender: &Self::Sender) -> Self::Receiver;

    fn send(sender: &Self::Sender, value: u64);

    fn recv(receiver: &mut Self::Receiver) -> impl Future<Output = u64> + Send;
}

/// A value that is watched.
pub trait Watch: 'static {
    type Sender: Send + 'static;
    type Receiver: Clone + Send + 'static;

    fn new() -> (Self::Sender, Self::Receiver);

    fn set(sender: &Self::Sender, value: u64);

    /// The next value that was not seen yet.
    fn changed(receiver: &mut Self::Receiver) -> impl Future<Output = u64> + Send;
}
