//! [`OnceCell`]: a value made once, by whoever needs it first.
//!
//! ```text
//!   empty ──take_turn──▶ being set ──set_value──▶ set, for good
//!     ▲                      │
//!     └─────Turn::drop───────┘ failed, panicked or was given up: the next in line has its turn
//! ```
//!
//! The turn is the permit of a [`Notify`] that begins with one: who has it may write `value` as long as
//! `is_set` is false. Once that is true nobody writes it any more, and nobody gives the permit back; waiters
//! are called all at once.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem::{ManuallyDrop, MaybeUninit};

use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};

use crate::Notify;
use crate::cooperative::pay;

/// A value that is set once, possibly by asynchronous code.
///
/// [`get_or_init`](Self::get_or_init) returns the value, and makes it first if it is not there. If several
/// tasks want it at once, one makes it and the others wait; if that one fails, panics or is cancelled, the next
/// has its turn.
///
/// ```
/// use wakeful::sync::OnceCell;
///
/// static CONFIG: OnceCell<String> = OnceCell::const_new();
///
/// async fn config() -> &'static str {
///     CONFIG.get_or_init(|| async { "read from a file".to_owned() }).await
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// assert_eq!(config().await, "read from a file");
/// assert!(CONFIG.initialized());
/// # });
/// ```
pub struct OnceCell<T> {
    is_set: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
    turn: Notify,
}

// SAFETY: `&OnceCell` hands out `&T`, and lets a thread put a `T` that another will drop.
unsafe impl<T: Sync + Send> Sync for OnceCell<T> {}
// SAFETY: it owns a `T` at most.
unsafe impl<T: Send> Send for OnceCell<T> {}

/// The right to set the value; passed on when dropped.
struct Turn<'a>(&'a Notify);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // The initializer may have panicked, or returned an error that the caller is to get. So the panic of the
        // next task's waker is contained.
        contain_panic(|| self.0.notify_one());
    }
}

impl<T> OnceCell<T> {
    /// An empty cell.
    pub fn new() -> Self {
        OnceCell {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            turn: Notify::with_permit(),
        }
    }

    /// An empty cell, for a `static`.
    #[cfg(not(wakeful_loom))]
    pub const fn const_new() -> Self {
        OnceCell {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            turn: Notify::with_permit(),
        }
    }

    /// A cell that is set already, if there is a value.
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(OnceCell::new, OnceCell::from)
    }

    /// A cell that is set already, for a `static`.
    ///
    /// ```
    /// use wakeful::sync::OnceCell;
    ///
    /// static ONE: OnceCell<u32> = OnceCell::const_new_with(1);
    /// assert_eq!(ONE.get(), Some(&1));
    /// ```
    #[cfg(not(wakeful_loom))]
    pub const fn const_new_with(value: T) -> Self {
        OnceCell {
            is_set: AtomicBool::new(true),
            value: UnsafeCell::new(MaybeUninit::new(value)),
            turn: Notify::const_new(),
        }
    }

    /// Whether there is a value.
    pub fn initialized(&self) -> bool {
        self.is_set.load(Acquire)
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<&T> {
        // SAFETY: once set, it is not written any more as long as the cell is borrowed.
        self.initialized().then(|| unsafe { &*self.value.with(|value| (*value).as_ptr()) })
    }

    /// The value, if there is one.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: as above, and nobody else has a borrow.
        self.initialized()
            .then(|| unsafe { &mut *self.value.with_mut(|value| (*value).as_mut_ptr()) })
    }

    /// Sets the value.
    ///
    /// # Errors
    /// If there is a value already, or somebody is making one; here is yours again.
    ///
    /// ```
    /// use wakeful::sync::{OnceCell, SetError};
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetError::AlreadyInitializedError(2)));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        if self.initialized() {
            return Err(SetError::AlreadyInitializedError(value));
        }
        if self.turn.try_take_permit() {
            self.set_value(value, Turn(&self.turn));
            return Ok(());
        }
        if self.initialized() {
            return Err(SetError::AlreadyInitializedError(value));
        }
        Err(SetError::InitializingError(value))
    }

    /// The value; if there is none yet, what `f` makes.
    ///
    /// If `f` panics or this is cancelled, another call may try. `f` must not come back to this cell, or it waits for
    /// itself.
    ///
    /// # Cancel safety
    /// If this is cancelled while `f` runs, that is cancelled with it.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use wakeful::sync::OnceCell;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let calls = AtomicU32::new(0);
    /// let cell = OnceCell::new();
    /// let make = || async {
    ///     wakeful::task::yield_now().await;
    ///     calls.fetch_add(1, Relaxed)
    /// };
    /// let (one, other) = wakeful::join!(cell.get_or_init(make), cell.get_or_init(make));
    /// assert_eq!((*one, *other), (0, 0));
    /// assert_eq!(calls.load(Relaxed), 1);
    /// # });
    /// ```
    pub async fn get_or_init<F, Fut>(&self, f: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        if let Some(value) = self.get() {
            return value;
        }
        match self.take_turn().await {
            Ok(turn) => {
                let value = f().await;
                self.set_value(value, turn)
            }
            Err(value) => value,
        }
    }

    /// The value; if there is none yet, what `f` makes, unless it fails.
    ///
    /// As [`get_or_init`](Self::get_or_init), and after a failure another call may try.
    ///
    /// # Errors
    /// If `f` fails.
    ///
    /// ```
    /// use wakeful::sync::OnceCell;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.get_or_try_init(|| async { Err("not yet") }).await, Err("not yet"));
    /// assert_eq!(cell.get_or_try_init(|| async { Ok::<_, ()>(1) }).await, Ok(&1));
    /// # });
    /// ```
    pub async fn get_or_try_init<E, F, Fut>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.take_turn().await {
            Ok(turn) => {
                let value = f().await?;
                Ok(self.set_value(value, turn))
            }
            Err(value) => Ok(value),
        }
    }

    /// Waits for the turn, or for the value.
    async fn take_turn(&self) -> Result<Turn<'_>, &T> {
        // Made before the look, so that the call for a value that comes in between is not missed.
        let call = self.turn.notified();
        if let Some(value) = self.get() {
            return Err(value);
        }
        call.await;
        // With a value there are no more turns, so it was the call; without one it was a turn.
        if let Some(value) = self.get() {
            return Err(value);
        }
        let turn = Turn(&self.turn);
        pay().await;
        Ok(turn)
    }

    fn set_value(&self, value: T, turn: Turn<'_>) -> &T {
        debug_assert!(!self.initialized(), "there are no turns once there is a value");
        // There are no more turns.
        let turn = ManuallyDrop::new(turn);
        // SAFETY: it is our turn, and the value is not set.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        self.is_set.store(true, Release);
        turn.0.notify_waiters();
        self.get().expect("set just now")
    }

    /// The value, if there is one.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value, if there is one, and leaves the cell empty.
    pub fn take(&mut self) -> Option<T> {
        let is_set = self.initialized();
        // SAFETY: it is set, and forgotten with the cell that is left empty before anybody else can look.
        let value = is_set.then(|| unsafe { self.value.with(|value| (*value).assume_init_read()) });
        self.is_set.store(false, Relaxed);
        self.turn = Notify::with_permit();
        value
    }
}

impl<T> Drop for OnceCell<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        OnceCell::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        OnceCell {
            is_set: AtomicBool::new(true),
            value: UnsafeCell::new(MaybeUninit::new(value)),
            turn: Notify::new(),
        }
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    fn clone(&self) -> Self {
        OnceCell::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell").field("value", &self.get()).finish()
    }
}

/// Why [`OnceCell::set`] did not set the value, which is in it.
///
/// ```
/// use wakeful::sync::OnceCell;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let cell = OnceCell::new();
/// cell.get_or_init(|| async {
///     assert!(cell.set(1).unwrap_err().is_initializing_err());
///     2
/// })
/// .await;
/// assert!(cell.set(3).unwrap_err().is_already_init_err());
/// # });
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// There is a value already.
    AlreadyInitializedError(T),

    /// Somebody is making a value.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Whether there is a value already.
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, SetError::AlreadyInitializedError(_))
    }

    /// Whether somebody is making a value.
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, SetError::InitializingError(_))
    }
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetError::AlreadyInitializedError(_) => "AlreadyInitializedError",
            SetError::InitializingError(_) => "InitializingError",
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}

#[cfg(all(test, wakeful_loom))]
#[path = "once_cell/tests/loom.rs"]
mod loom;
