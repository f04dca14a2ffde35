//! [`SetOnce`]: a value that is waited for until it is set.
//!
//! The flag of a wait queue says whether the value is there. It is set, and the value written before that,
//! under the lock of the line; from then on nobody writes it.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

use wakeful_base::sync::UnsafeCell;

use crate::wait_queue::{Round, WaitQueue, Waiter, Word};

/// A value that one task sets and others wait for.
///
/// Where a [`OnceCell`](crate::OnceCell) has its value made by who needs it, a `SetOnce` gets it from elsewhere.
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

// SAFETY: `&SetOnce` hands out `&T`, and lets a thread put a `T` that another will drop.
unsafe impl<T: Sync + Send> Sync for SetOnce<T> {}
// SAFETY: it owns a `T` at most.
unsafe impl<T: Send> Send for SetOnce<T> {}

impl<T> SetOnce<T> {
    /// An empty one.
    pub fn new() -> Self {
        SetOnce {
            queue: WaitQueue::new(Word::new(false)),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// An empty one, for a `static`.
    #[cfg(not(wakeful_loom))]
    pub const fn const_new() -> Self {
        SetOnce {
            queue: WaitQueue::new(Word::new(false)),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// One that is set already, if there is a value.
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(SetOnce::new, SetOnce::from)
    }

    /// One that is set already, for a `static`.
    #[cfg(not(wakeful_loom))]
    pub const fn const_new_with(value: T) -> Self {
        SetOnce {
            queue: WaitQueue::new(Word::new(true)),
            value: UnsafeCell::new(MaybeUninit::new(value)),
        }
    }

    /// Whether the value is there.
    pub fn initialized(&self) -> bool {
        self.queue.load().flag()
    }

    /// The value, if it is there.
    pub fn get(&self) -> Option<&T> {
        // SAFETY: once set, it is not written any more as long as this is borrowed.
        self.initialized().then(|| unsafe { &*self.value.with(|value| (*value).as_ptr()) })
    }

    /// Sets the value and wakes all who wait.
    ///
    /// # Errors
    /// If it was set before; here is the new one again.
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        if self.initialized() {
            return Err(SetOnceError(value));
        }
        let mut line = self.queue.lock();
        if line.word().flag() {
            return Err(SetOnceError(value));
        }
        // SAFETY: it is not set, so only the holder of the line's lock touches it.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        let set = line.word().with_flag(true);
        line.set_word(set);
        line.release_stale();
        Ok(())
    }

    /// The value, if it is there.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    fn take(&mut self) -> Option<T> {
        let is_set = self.initialized();
        // SAFETY: it is set, and forgotten with the queue that is put in place before anybody else can look.
        let value = is_set.then(|| unsafe { self.value.with(|value| (*value).assume_init_read()) });
        self.queue = WaitQueue::new(Word::new(false));
        value
    }

    /// Waits until the value is there.
    ///
    /// # Cancel safety
    /// May be given up and begun again at any time.
    pub async fn wait(&self) -> &T {
        UntilSet { queue: &self.queue, waiter: Waiter::new() }.await;
        self.get().expect("waited until it was set")
    }
}

/// Waits for the flag of `queue`.
struct UntilSet<'a> {
    queue: &'a WaitQueue,
    waiter: Waiter,
}

impl Future for UntilSet<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the waiter is pinned along with us.
        let waiter = unsafe { Pin::new_unchecked(&self.waiter) };
        // SAFETY: `drop` makes the waiter leave this queue.
        unsafe { self.queue.poll_over(Round::FIRST, waiter, cx.waker()) }.map(drop)
    }
}

impl Drop for UntilSet<'_> {
    fn drop(&mut self) {
        // SAFETY: a waiter that has entered a line was pinned, and stays so until it is dropped.
        let waiter = unsafe { Pin::new_unchecked(&self.waiter) };
        // SAFETY: this is the only queue it ever entered.
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

/// The value of a [`SetOnce`] was set before; here is the new one again.
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
