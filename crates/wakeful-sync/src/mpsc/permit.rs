//! Reserved room in a bounded channel.
//!
//! `capacity.rs` counts the room in permits. The types here hold such permits. Sending passes one
//! on to the value; dropping releases it.

use std::fmt;
use std::iter::FusedIterator;
use std::mem::ManuallyDrop;

use super::capacity::Capacity;
use super::chan::Chan;
use super::sender::Sender;
use crate::acquire::PermitSource;
use wakeful_base::on_unwind::hold_during;

/// Reserved room for one value in a bounded channel, returned by [`Sender::reserve`].
///
/// Sending with a permit cannot fail and does not wait. Dropping the permit gives the room back.
///
/// ```
/// use wakeful::sync::mpsc;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = mpsc::channel(1);
/// let permit = tx.reserve().await.unwrap();
/// assert_eq!(tx.capacity(), 0); // the room is taken
/// permit.send("made only when there was room");
/// assert!(rx.recv().await.is_some());
/// # });
/// ```
pub struct Permit<'a, T> {
    pub(super) chan: &'a Chan<T, Capacity>,
}

/// Reserved room for several values in a bounded channel, returned by [`Sender::reserve_many`].
///
/// This iterator returns a [`Permit`] for each value. Dropping the iterator gives back the room
/// that it has not returned permits for.
///
/// ```
/// use wakeful::sync::mpsc;
///
/// let (tx, mut rx) = mpsc::channel(4);
/// let mut room = tx.try_reserve_many(3).unwrap();
/// assert_eq!((room.len(), tx.capacity()), (3, 1));
/// room.next().unwrap().send("one of three");
/// drop(room);
/// assert_eq!(tx.capacity(), 3);
/// assert_eq!(rx.try_recv(), Ok("one of three"));
/// ```
pub struct PermitIterator<'a, T> {
    pub(super) chan: &'a Chan<T, Capacity>,
    pub(super) left: usize,
}

/// Reserved room for one value in a bounded channel, together with the sender.
///
/// Returned by [`Sender::reserve_owned`]. Dropping the permit gives the room back.
///
/// An owned permit borrows nothing, so it can be stored or moved to another task:
///
/// ```
/// use wakeful::sync::mpsc;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = mpsc::channel(1);
/// let permit = tx.clone().reserve_owned().await.unwrap();
/// wakeful::spawn(async move { permit.send("from there") }).await.unwrap();
/// assert_eq!(rx.recv().await, Some("from there"));
/// # drop(tx);
/// # });
/// ```
pub struct OwnedPermit<T> {
    /// Always `Some`, except in the methods that consume the permit, and after them.
    pub(super) sender: Option<Sender<T>>,
}

impl<T> Permit<'_, T> {
    /// Sends `value` into the room reserved for it.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve().await.unwrap();
    /// assert!(tx.try_send(1).is_err());
    /// permit.send(2);
    /// assert_eq!(rx.recv().await, Some(2));
    /// # });
    /// ```
    pub fn send(self, value: T) {
        ManuallyDrop::new(self).chan.send_paid(value);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.chan.release(1);
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.left = self.left.checked_sub(1)?;
        Some(Permit { chan: self.chan })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if self.left > 0 {
            self.chan.release(self.left);
        }
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitIterator").field("capacity", &self.left).finish_non_exhaustive()
    }
}

impl<T> OwnedPermit<T> {
    /// Sends `value` into the room reserved for it, and returns the sender.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve_owned().await.unwrap();
    /// let _tx = permit.send(2);
    /// assert_eq!(rx.recv().await, Some(2));
    /// # });
    /// ```
    pub fn send(mut self, value: T) -> Sender<T> {
        // If the receiver's waker panics, the drop of the sender may call another waker.
        hold_during(self.take_sender(), |sender| sender.chan.send_paid(value))
    }

    /// Gives the room back without sending, and returns the sender.
    ///
    /// ```
    /// use wakeful::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel::<u32>(1);
    /// let permit = tx.try_reserve_owned().unwrap();
    /// let tx = permit.release(); // nothing to send after all
    /// assert_eq!(tx.capacity(), 1);
    /// assert!(rx.try_recv().is_err());
    /// ```
    pub fn release(mut self) -> Sender<T> {
        let sender = self.take_sender();
        sender.chan.release(1);
        sender
    }

    /// Returns whether both permits are for the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        let both = self.sender.as_ref().zip(other.sender.as_ref());
        both.is_some_and(|(one, other)| one.same_channel(other))
    }

    /// Returns whether the permit is for `sender`'s channel.
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.sender.as_ref().is_some_and(|own| own.same_channel(sender))
    }

    fn take_sender(&mut self) -> Sender<T> {
        self.sender.take().expect("an owned permit has its sender until it is consumed")
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            sender.chan.release(1);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}
