//! [`OnceCell`]: a value that is initialized once, by the first task that needs it.
//!
//! ```text
//!   empty ──acquire_init_permit──▶ being set ──set_value──▶ set, for good
//!     ▲                               │
//!     └───────InitPermit::drop────────┘ on error, panic or cancellation: the next waiter
//! ```
//!
//! The right to initialize is the permit of a [`Notify`], which starts with one. Its holder may
//! write `value` while `is_set` is false. Once `is_set` is true, no thread writes the value or
//! gives the permit back, and all waiters are woken at once.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::task::Waker;

use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::waiting::{LeafDetails, WaitKind, address, note_with};

use crate::Notify;
use crate::cooperative::consume_budget;
use crate::holder::{HolderWord, TrackHolder};

/// A value that is initialized once, possibly by asynchronous code.
///
/// [`get_or_init`](Self::get_or_init) returns the value and initializes it first if necessary. If
/// several tasks call it at once, one of them runs its initializer and the others wait. If that one
/// fails, panics or is cancelled, the next task runs its own.
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
    init_permit: Notify,
    /// The task that has the permit. Unknown while it is passed from one initializer to the next.
    initializer: HolderWord,
}

// SAFETY: `&OnceCell` gives access to `&T`, and lets one thread store a `T` that another one drops.
unsafe impl<T: Sync + Send> Sync for OnceCell<T> {}
// SAFETY: the cell owns a `T` or nothing.
unsafe impl<T: Send> Send for OnceCell<T> {}

/// The right to set the value, which goes to the next waiter when it is dropped.
struct InitPermit<'a> {
    permit: &'a Notify,
    initializer: &'a HolderWord,
}

impl Drop for InitPermit<'_> {
    fn drop(&mut self) {
        // The initializer may have panicked, or returned an error for the caller. A panic of the
        // next task's waker must not abort the process or replace that error, so it is contained.
        self.initializer.release();
        contain_panic(|| self.permit.notify_one());
    }
}

impl<T> OnceCell<T> {
    /// Creates an empty cell.
    pub fn new() -> Self {
        OnceCell {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            init_permit: Notify::with_permit(),
            initializer: HolderWord::new(),
        }
    }

    /// Creates an empty cell, in a `const` context such as a `static`.
    #[cfg(not(wakeful_loom))]
    pub const fn const_new() -> Self {
        OnceCell {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            init_permit: Notify::with_permit(),
            initializer: HolderWord::new(),
        }
    }

    /// Creates a cell with this value, or an empty one for `None`.
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(OnceCell::new, OnceCell::from)
    }

    /// Creates a cell with a value, in a `const` context such as a `static`.
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
            init_permit: Notify::const_new(),
            initializer: HolderWord::new(),
        }
    }

    /// Returns whether there is a value.
    pub fn initialized(&self) -> bool {
        self.is_set.load(Acquire)
    }

    /// Returns the value if there is one.
    pub fn get(&self) -> Option<&T> {
        // SAFETY: `is_set` is true, so the value was written before, and no thread writes it again
        // while the cell is borrowed.
        self.initialized().then(|| unsafe { &*self.value.with(|value| (*value).as_ptr()) })
    }

    /// Returns a mutable reference to the value if there is one.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: as in `get`, and `&mut self` shows that there is no other borrow.
        self.initialized()
            .then(|| unsafe { &mut *self.value.with_mut(|value| (*value).as_mut_ptr()) })
    }

    /// Sets the value.
    ///
    /// # Errors
    /// Returns an error if there is a value already, or another task is running an initializer. The
    /// error contains `value`.
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
        if self.init_permit.try_take_permit() {
            self.set_value(value, self.permit_taken());
            return Ok(());
        }
        if self.initialized() {
            return Err(SetError::AlreadyInitializedError(value));
        }
        Err(SetError::InitializingError(value))
    }

    /// Returns the value; if there is none yet, runs `f` to initialize it.
    ///
    /// If another task is running its initializer, waits for that first. If that one panics or is
    /// cancelled, the next waiting task runs its own.
    ///
    /// `f` must not call this on the same cell: it would wait for itself.
    ///
    /// # Cancel safety
    /// This method is cancel safe if `f`'s future is: if this future is dropped while `f` runs,
    /// `f`'s future is dropped as well, and the cell stays empty.
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
        match self.acquire_init_permit().await {
            Ok(permit) => {
                let value = f().await;
                self.set_value(value, permit)
            }
            Err(value) => value,
        }
    }

    /// Returns the value; if there is none yet, runs `f` to initialize it, which may fail.
    ///
    /// Behaves as [`get_or_init`](Self::get_or_init). After a failure the cell stays empty, and the
    /// next waiting task runs its own initializer.
    ///
    /// # Errors
    /// Returns the error of `f`.
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
        match self.acquire_init_permit().await {
            Ok(permit) => {
                let value = f().await?;
                Ok(self.set_value(value, permit))
            }
            Err(value) => Ok(value),
        }
    }

    /// Waits for the permit to initialize (`Ok`) or for the value (`Err`).
    async fn acquire_init_permit(&self) -> Result<InitPermit<'_>, &T> {
        // Created before the check for a value, so that a `notify_waiters` in between is not
        // missed.
        let notified = self.init_permit.notified();
        if let Some(value) = self.get() {
            return Err(value);
        }
        notified.wait_with(|waker| self.note_wait(waker)).await;
        // Once the value is set, no permit is given out, so the wait was ended by `notify_waiters`.
        // Without a value, it was ended by the permit.
        if let Some(value) = self.get() {
            return Err(value);
        }
        let permit = self.permit_taken();
        consume_budget().await;
        Ok(permit)
    }

    /// Notes that the caller has taken the permit, and returns the guard that gives it back.
    fn permit_taken(&self) -> InitPermit<'_> {
        self.initializer.hold();
        InitPermit { permit: &self.init_permit, initializer: &self.initializer }
    }

    fn note_wait(&self, waker: &Waker) {
        note_with(WaitKind::OnceCell, address(self), waker, || LeafDetails {
            holder: self.initializer.holder(),
            ..LeafDetails::default()
        });
    }

    fn set_value(&self, value: T, permit: InitPermit<'_>) -> &T {
        debug_assert!(
            !self.initialized(),
            "the permit to initialize is not given again once there is a value"
        );
        // The permit is not given back: once there is a value, nothing may be initialized.
        let permit = ManuallyDrop::new(permit);
        // SAFETY: we have the permit and the value is not set, so no other thread accesses it.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        self.is_set.store(true, Release);
        permit.permit.notify_waiters();
        self.get().expect("the value was set above")
    }

    /// Consumes the cell and returns its value, if there is one.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value out, if there is one, and leaves the cell empty.
    pub fn take(&mut self) -> Option<T> {
        let is_set = self.initialized();
        // SAFETY: the value is set. It is read out once: `&mut self` excludes other calls until
        // `is_set` is false.
        let value = is_set.then(|| unsafe { self.value.with(|value| (*value).assume_init_read()) });
        self.is_set.store(false, Relaxed);
        self.init_permit = Notify::with_permit();
        self.initializer = HolderWord::new();
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
            init_permit: Notify::new(),
            initializer: HolderWord::new(),
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

/// The error of [`OnceCell::set`], with the value that was not stored.
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
    /// The cell has a value already.
    AlreadyInitializedError(T),

    /// Another task is running an initializer.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Returns whether the cell had a value already.
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, SetError::AlreadyInitializedError(_))
    }

    /// Returns whether another task was running an initializer.
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
