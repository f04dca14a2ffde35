//! [`SetOnce`]: a value that is set once and can be waited for.
//!
//! The flag of a [`WaitQueue`] says whether the value is set. `set` locks the line, writes the
//! value and then sets the flag. From then on the value is not written again.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::budget;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::waiting::{WaitKind, address, note};

use crate::wait_queue::{Round, WaitQueue, Waiter, Word};

/// A value that one task sets and others wait for.
///
/// A [`OnceCell`](crate::OnceCell) is initialized by the first task that needs the value; a
/// `SetOnce` is set from elsewhere, and tasks that need the value wait.
///
/// ```
/// use wakeful::sync::{SetOnce, SetOnceError};
///
/// static PORT: SetOnce<u16> = SetOnce::const_new();
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// // Elsewhere:
/// PORT.set(8080).unwrap();
///
/// assert_eq!(*PORT.wait().await, 8080);
/// assert_eq!(PORT.set(80), Err(SetOnceError(80)));
/// # });
/// ```
pub struct SetOnce<T> {
    queue: WaitQueue,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: `&SetOnce` gives access to `&T`, and lets one thread store a `T` that another one drops.
unsafe impl<T: Sync + Send> Sync for SetOnce<T> {}
// SAFETY: the cell owns a `T` or nothing.
unsafe impl<T: Send> Send for SetOnce<T> {}

impl<T> SetOnce<T> {
    /// Creates an empty `SetOnce`.
    pub fn new() -> Self {
        SetOnce {
            queue: WaitQueue::new(Word::new(false)),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Creates an empty `SetOnce`, in a `const` context such as a `static`.
    #[cfg(not(wakeful_loom))]
    pub const fn const_new() -> Self {
        SetOnce {
            queue: WaitQueue::new(Word::new(false)),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Creates a `SetOnce` with this value, or an empty one for `None`.
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(SetOnce::new, SetOnce::from)
    }

    /// Creates a `SetOnce` with a value, in a `const` context such as a `static`.
    #[cfg(not(wakeful_loom))]
    pub const fn const_new_with(value: T) -> Self {
        SetOnce {
            queue: WaitQueue::new(Word::new(true)),
            value: UnsafeCell::new(MaybeUninit::new(value)),
        }
    }

    /// Returns whether the value is set.
    pub fn initialized(&self) -> bool {
        self.queue.load().flag()
    }

    /// Returns the value if it is set.
    pub fn get(&self) -> Option<&T> {
        // SAFETY: the flag is set, so the value was written before, and no thread writes it again
        // while this is borrowed.
        self.initialized().then(|| unsafe { &*self.value.with(|value| (*value).as_ptr()) })
    }

    /// Sets the value and wakes all tasks that wait for it.
    ///
    /// # Errors
    /// Returns an error if the value is set already. The error contains the new one.
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        if self.initialized() {
            return Err(SetOnceError(value));
        }
        let mut line = self.queue.lock();
        if line.word().flag() {
            return Err(SetOnceError(value));
        }
        // SAFETY: the flag is not set, so only the holder of the line's lock, this thread, accesses
        // the value.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        let set = line.word().with_flag(true);
        line.set_word(set);
        line.release_stale();
        Ok(())
    }

    /// Consumes this and returns the value, if it is set.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    fn take(&mut self) -> Option<T> {
        let is_set = self.initialized();
        // SAFETY: the value is set. It is read out once: `&mut self` excludes other calls until the
        // new queue, whose flag is not set, is in place.
        let value = is_set.then(|| unsafe { self.value.with(|value| (*value).assume_init_read()) });
        self.queue = WaitQueue::new(Word::new(false));
        value
    }

    /// Waits until the value is set and returns it.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, nothing is lost.
    pub async fn wait(&self) -> &T {
        UntilSet { queue: &self.queue, waiter: Waiter::new() }.await;
        self.get().expect("the wait ends only when the value is set")
    }
}

/// A future that waits for the flag of `queue`.
struct UntilSet<'a> {
    queue: &'a WaitQueue,
    waiter: Waiter,
}

impl Future for UntilSet<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(budget::poll_traced(cx));
        // SAFETY: the waiter is a field of `self`, pinned with it and never moved out.
        let waiter = unsafe { Pin::new_unchecked(&self.waiter) };
        // SAFETY: the waiter is this future's own and enters only this queue. `drop` makes it
        // leave.
        let polled = unsafe { self.queue.poll_over(Round::FIRST, waiter, cx.waker()) };
        if polled.is_pending() {
            note(WaitKind::OnceCell, address(self.queue), cx.waker());
        }
        polled.map(drop)
    }
}

impl Drop for UntilSet<'_> {
    fn drop(&mut self) {
        // SAFETY: a waiter that has entered a line was pinned, and stays in place until it is
        // dropped. One that has not may be pinned here, since it is not moved any more.
        let waiter = unsafe { Pin::new_unchecked(&self.waiter) };
        // SAFETY: `queue` is the only queue that the waiter can have entered.
        unsafe { self.queue.leave(waiter) };
    }
}

impl<T> Drop for SetOnce<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for SetOnce<T> {
    fn default() -> Self {
        SetOnce::new()
    }
}

impl<T> From<T> for SetOnce<T> {
    fn from(value: T) -> Self {
        SetOnce {
            queue: WaitQueue::new(Word::new(true)),
            value: UnsafeCell::new(MaybeUninit::new(value)),
        }
    }
}

impl<T: Clone> Clone for SetOnce<T> {
    fn clone(&self) -> Self {
        SetOnce::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for SetOnce<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for SetOnce<T> {}

impl<T: fmt::Debug> fmt::Debug for SetOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetOnce").field("value", &self.get()).finish()
    }
}

/// The error of [`SetOnce::set`] on one that is set already, with the value that was not stored.
///
/// ```
/// use wakeful::sync::{SetOnce, SetOnceError};
///
/// let winner = SetOnce::new();
/// winner.set("first").unwrap();
/// let SetOnceError(late) = winner.set("second").unwrap_err();
/// assert_eq!((winner.get(), late), (Some(&"first"), "second"));
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct SetOnceError<T>(pub T);

impl<T> fmt::Display for SetOnceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SetOnceError")
    }
}

impl<T: fmt::Debug> Error for SetOnceError<T> {}

#[cfg(all(test, wakeful_loom))]
#[path = "set_once/tests/loom.rs"]
mod loom;
