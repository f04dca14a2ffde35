//! Task-locals: values that belong to a task instead of a thread.
//!
//! A key is a thread-local slot. A [`TaskLocalFuture`] stores the value next to the future, and
//! swaps it with the slot's contents at the start and at the end of each poll. The slot thus holds
//! a value only while code in the value's scope runs, scopes nest, and the value moves between
//! threads with its task.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// Declares task-local keys, each a static of type [`task::LocalKey`](crate::task::LocalKey).
///
/// The macro accepts any number of statics without initial value. They may have attributes and a
/// visibility. A value is set with [`LocalKey::scope`](crate::task::LocalKey::scope).
///
/// ```
/// wakeful::task_local! {
///     /// The user of the current request.
///     pub static USER: String;
///
///     static REQUEST_ID: u64;
/// }
///
/// async fn log(what: &str) -> String {
///     USER.with(|user| format!("#{} ({user}): {what}", REQUEST_ID.get()))
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let request = USER.scope("ann".to_owned(), REQUEST_ID.scope(7, log("open")));
/// assert_eq!(wakeful::task::spawn(request).await.unwrap(), "#7 (ann): open");
/// # });
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};

    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty; $($rest:tt)*) => {
        $crate::task_local!($(#[$attr])* $vis static $name: $ty);
        $crate::task_local!($($rest)*);
    };

    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty) => {
        $(#[$attr])*
        $vis static $name: $crate::task::LocalKey<$ty> = {
            ::std::thread_local! {
                static SLOT: ::std::cell::RefCell<::std::option::Option<$ty>> =
                    const { ::std::cell::RefCell::new(::std::option::Option::None) };
            }
            $crate::task::LocalKey::of_slot(SLOT)
        };
    };
}

/// A key of a task-local value, declared by [`task_local!`](crate::task_local).
///
/// A key has a value only inside [`scope`](Self::scope) or [`sync_scope`](Self::sync_scope); there
/// is no initial value. Scopes nest: the value of the inner scope hides that of the outer one.
/// Tasks spawned inside a scope do not inherit its value.
///
/// ```
/// wakeful::task_local! {
///     static DEPTH: u32;
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// DEPTH.scope(1, async {
///     DEPTH.scope(2, async { assert_eq!(DEPTH.get(), 2) }).await;
///     assert_eq!(DEPTH.get(), 1);
/// })
/// .await;
/// assert!(DEPTH.try_get().is_err());
/// # });
/// ```
pub struct LocalKey<T: 'static> {
    slot: thread::LocalKey<RefCell<Option<T>>>,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn of_slot(slot: thread::LocalKey<RefCell<Option<T>>>) -> LocalKey<T> {
        LocalKey { slot }
    }

    /// Wraps a future so that `value` is in scope while the future is polled or dropped.
    ///
    /// # Panics
    /// The returned future panics if it is polled inside a [`with`](Self::with) of the same key.
    ///
    /// # Examples
    /// A spawned task does not inherit the value. Wrap its future in a scope of its own:
    ///
    /// ```
    /// wakeful::task_local! {
    ///     static REQUEST: u32;
    /// }
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// REQUEST.scope(7, async {
    ///     let without = wakeful::spawn(async { REQUEST.try_get().is_err() });
    ///     assert!(without.await.unwrap());
    ///
    ///     let with = wakeful::spawn(REQUEST.scope(REQUEST.get(), async { REQUEST.get() }));
    ///     assert_eq!(with.await.unwrap(), 7);
    /// })
    /// .await;
    /// # });
    /// ```
    pub fn scope<F: Future>(&'static self, value: T, f: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture { key: self, value: Some(value), future: Some(f), _pinned: PhantomPinned }
    }

    /// Runs a closure with `value` in scope.
    ///
    /// ```
    /// wakeful::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// let doubled = NUMBER.sync_scope(21, || NUMBER.get() * 2);
    /// assert_eq!(doubled, 42);
    /// ```
    ///
    /// # Panics
    /// Panics inside a [`with`](Self::with) of the same key.
    #[track_caller]
    pub fn sync_scope<F, R>(&'static self, value: T, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        let mut value = Some(value);
        match self.enter(&mut value) {
            Ok(_scope) => f(),
            Err(error) => error.panic("LocalKey::sync_scope"),
        }
    }

    /// Calls `f` with the value in scope.
    ///
    /// # Panics
    /// Panics if no value is in scope. [`try_with`](Self::try_with) returns an error instead.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(_) => no_value("with"),
        }
    }

    /// Calls `f` with the value in scope, if there is one.
    ///
    /// # Errors
    /// Returns an error if no value is in scope.
    ///
    /// # Examples
    ///
    /// ```
    /// wakeful::task_local! {
    ///     static USER: String;
    /// }
    ///
    /// let length = || USER.try_with(|user| user.len()).ok();
    /// assert_eq!(length(), None);
    /// assert_eq!(USER.sync_scope("ann".to_owned(), length), Some(3));
    /// ```
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        // A thread whose thread-locals are destroyed is in no scope. The borrow cannot fail:
        // `swap`, which borrows mutably, runs no user code meanwhile.
        let found = self.slot.try_with(|slot| slot.borrow().as_ref().map(f));
        found.ok().flatten().ok_or(AccessError { _private: () })
    }

    /// Swaps `value` into the slot until the returned scope is dropped.
    fn enter<'a>(&'static self, value: &'a mut Option<T>) -> Result<Scope<'a, T>, EnterError> {
        self.swap(value)?;
        Ok(Scope { key: self, outer: value })
    }

    fn swap(&'static self, value: &mut Option<T>) -> Result<(), EnterError> {
        let swapped = self.slot.try_with(|slot| {
            let mut slot = slot.try_borrow_mut().map_err(|_| EnterError::Borrowed)?;
            mem::swap(&mut *slot, value);
            Ok(())
        });
        swapped.unwrap_or(Err(EnterError::ThreadEnds))
    }
}

impl<T: Clone + 'static> LocalKey<T> {
    /// Returns a clone of the value in scope.
    ///
    /// # Panics
    /// Panics if no value is in scope. [`try_get`](Self::try_get) returns an error instead.
    #[track_caller]
    pub fn get(&'static self) -> T {
        match self.try_get() {
            Ok(value) => value,
            Err(_) => no_value("get"),
        }
    }

    /// Returns a clone of the value in scope, if there is one.
    ///
    /// # Errors
    /// Returns an error if no value is in scope.
    pub fn try_get(&'static self) -> Result<T, AccessError> {
        self.try_with(T::clone)
    }
}

#[cold]
#[track_caller]
fn no_value(method: &str) -> ! {
    panic!(
        "`LocalKey::{method}` called where the key has no value: cannot access a task-local storage \
         value without setting it first. Call it inside the key's `scope` or `sync_scope`, which \
         spawned tasks do not inherit, or use `LocalKey::try_{method}`"
    )
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// A guard that keeps a value in the key's slot and holds the slot's earlier contents.
///
/// Dropping it swaps them back.
struct Scope<'a, T: 'static> {
    key: &'static LocalKey<T>,
    outer: &'a mut Option<T>,
}

impl<T> Drop for Scope<'_, T> {
    fn drop(&mut self) {
        let swapped = self.key.swap(self.outer);
        // Borrows end with the calls of `with` that make them, and the thread-locals are not
        // destroyed while the thread runs code in the scope.
        debug_assert!(swapped.is_ok(), "a task-local scope could be entered but not left");
    }
}

/// A future with a task-local value, returned by [`LocalKey::scope`].
///
/// Dropping it drops the future with the value in scope, then the value.
///
/// ```
/// wakeful::task_local! {
///     static NUMBER: u32;
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// NUMBER.scope(1, async { assert_eq!(NUMBER.get(), 1) }).await;
/// # });
/// ```
pub struct TaskLocalFuture<T: 'static, F> {
    key: &'static LocalKey<T>,
    value: Option<T>,
    /// Structurally pinned; `None` once it has completed.
    future: Option<F>,
    // Never `Unpin`, even if the future is, so that no user code relies on that.
    _pinned: PhantomPinned,
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value out, or returns `None` if it has been taken before.
    ///
    /// This is useful after the future has completed. If it has not, the rest of it runs without a
    /// value.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// wakeful::task_local! {
    ///     static COUNT: Cell<u32>;
    /// }
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut counting = Box::pin(COUNT.scope(Cell::new(0), async {
    ///     COUNT.with(|count| count.set(count.get() + 1));
    /// }));
    /// counting.as_mut().await;
    /// assert_eq!(counting.as_mut().take_value().unwrap().get(), 1);
    /// # });
    /// ```
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        let (_, value, _) = self.project();
        value.take()
    }

    /// Projects to the fields, of which only the future is structurally pinned.
    fn project(
        self: Pin<&mut Self>,
    ) -> (&'static LocalKey<T>, &mut Option<T>, Pin<&mut Option<F>>) {
        // SAFETY: the mutable borrow serves only to project to fields and moves nothing out of
        // `self`.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: structural pinning of `future`. All mutable access to it goes through this
        // method, also in `Drop`, so the future is never moved, and dropped in place by `set`.
        // `Self` is never `Unpin`.
        (this.key, &mut this.value, unsafe { Pin::new_unchecked(&mut this.future) })
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let (key, value, mut future) = self.project();
        let _scope = match key.enter(value) {
            Ok(scope) => scope,
            Err(error) => error.panic("TaskLocalFuture::poll"),
        };
        let Some(running) = future.as_mut().as_pin_mut() else {
            panic!("`TaskLocalFuture` polled after completion");
        };
        let polled = running.poll(cx);
        if polled.is_ready() {
            // Drops the future now, while its destructor can still use the value.
            future.set(None);
        }
        polled
    }
}

impl<T: 'static, F> Drop for TaskLocalFuture<T, F> {
    fn drop(&mut self) {
        if !mem::needs_drop::<F>() || self.future.is_none() {
            return;
        }
        // SAFETY: `self` is being dropped, so it is not moved again before its memory is freed.
        let (key, value, mut future) = unsafe { Pin::new_unchecked(self) }.project();
        // If the scope cannot be entered (the thread is ending, or `with` borrows the slot), the
        // future is dropped without the value in scope.
        let _scope = key.enter(value).ok();
        future.set(None);
    }
}

impl<T: fmt::Debug + 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TaskLocalFuture");
        match &self.value {
            Some(value) => shown.field("value", value),
            // Taken by `take_value`, or in the slot during a poll.
            None => shown.field("value", &format_args!("<missing>")),
        };
        shown.finish()
    }
}

/// An error returned by [`LocalKey::try_with`] and [`LocalKey::try_get`] when no value is in scope.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError {
    _private: (),
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task-local value not set")
    }
}

impl std::error::Error for AccessError {}

/// The reasons why a scope cannot be entered.
enum EnterError {
    Borrowed,
    ThreadEnds,
}

impl EnterError {
    #[cold]
    #[track_caller]
    fn panic(&self, call: &str) -> ! {
        match self {
            EnterError::Borrowed => panic!(
                "`{call}` called inside a `LocalKey::with` of the same key: cannot enter a \
                 task-local scope while the task-local storage is borrowed. Let `with` return first"
            ),
            EnterError::ThreadEnds => panic!(
                "`{call}` called on a thread that is ending: cannot enter a task-local scope during \
                 or after destruction of the underlying thread-local. Call it earlier"
            ),
        }
    }
}
