//! Values that belong to a task instead of a thread.
//!
//! A key is a thread-local slot. What is in scope lies in the slot only while the code it is in scope
//! for runs: a [`TaskLocalFuture`] keeps the value beside the future, and swaps it with the slot's
//! contents at the beginning and at the end of each poll. So scopes nest, and a task takes its values
//! along from thread to thread.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// Declares keys of values that belong to a task, each a [`task::LocalKey`](crate::task::LocalKey).
///
/// Any number of statics without an initial value, with attributes and visibility as usual.
///
/// ```
/// wakeful::task_local! {
///     /// Who asked.
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

/// The key of a value that belongs to a task. Made by [`task_local!`](crate::task_local).
///
/// There is no initial value, and none that outlasts its scope: a value is there for the code that runs
/// inside of [`scope`](Self::scope) or [`sync_scope`](Self::sync_scope). Scopes nest, the inner one
/// hiding the outer. Tasks spawned inside of a scope do not inherit it.
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

    /// Runs a future with `value` in scope, whenever and wherever it is polled, and while it is dropped.
    ///
    /// # Panics
    /// The future, if it is polled inside of a [`with`](Self::with) of the same key.
    ///
    /// A spawned task inherits nothing; give it what it should have:
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
    /// Inside of a [`with`](Self::with) of the same key.
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
    /// If there is none; see [`try_with`](Self::try_with).
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
    /// ```
    /// wakeful::task_local! {
    ///     static USER: String;
    /// }
    ///
    /// let who = || USER.try_with(|user| user.len()).ok();
    /// assert_eq!(who(), None);
    /// assert_eq!(USER.sync_scope("ann".to_owned(), who), Some(3));
    /// ```
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        // A thread that has dropped its locals is in no scope any more. The borrow cannot fail: that to
        // write, in `swap`, runs no code but ours.
        let found = self.slot.try_with(|slot| slot.borrow().as_ref().map(f));
        found.ok().flatten().ok_or(AccessError { _private: () })
    }

    /// Puts `value` into the slot, until the scope is dropped.
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
    /// A clone of the value in scope.
    ///
    /// # Panics
    /// If there is none; see [`try_get`](Self::try_get).
    #[track_caller]
    pub fn get(&'static self) -> T {
        match self.try_get() {
            Ok(value) => value,
            Err(_) => no_value("get"),
        }
    }

    /// A clone of the value in scope, if there is one.
    pub fn try_get(&'static self) -> Result<T, AccessError> {
        self.try_with(T::clone)
    }
}

#[cold]
#[track_caller]
fn no_value(method: &str) -> ! {
    panic!(
        "`LocalKey::{method}` called where the key has no value: cannot access a task-local storage \
         value without setting it first. Call it inside of the key's `scope` or `sync_scope`, which \
         spawned tasks do not inherit, or use `LocalKey::try_{method}`"
    )
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Has a value in the key's slot, and what was there before beside it. Swaps them back when dropped.
struct Scope<'a, T: 'static> {
    key: &'static LocalKey<T>,
    outer: &'a mut Option<T>,
}

impl<T> Drop for Scope<'_, T> {
    fn drop(&mut self) {
        let swapped = self.key.swap(self.outer);
        // Borrows end with the calls of `with` that make them, and locals are not dropped under a
        // thread's running code.
        debug_assert!(swapped.is_ok(), "a task-local scope could be entered but not left");
    }
}

/// Future of [`LocalKey::scope`].
///
/// Holds the value while it is not polled.
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
    /// Pinned with the whole; none once it has ended.
    future: Option<F>,
    // Not even `Unpin` with a future that is, as users' code could otherwise come to rely on.
    _pinned: PhantomPinned,
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value out, unless that was done before.
    ///
    /// If the future has not ended yet, it goes on without.
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

    /// The key, the value and the future, of which only the last is pinned.
    fn project(
        self: Pin<&mut Self>,
    ) -> (&'static LocalKey<T>, &mut Option<T>, Pin<&mut Option<F>>) {
        // SAFETY: nothing is moved. The future stays pinned until it is dropped, in place; that no
        // method gives it out otherwise is for this file to keep.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
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
            // Its destructor, too, should find the value.
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
        // SAFETY: about to go, `self` is not moved any more.
        let (key, value, mut future) = unsafe { Pin::new_unchecked(self) }.project();
        // Where there is no entering, on a thread that ends say, it is dropped without.
        let _scope = key.enter(value).ok();
        future.set(None);
    }
}

impl<T: fmt::Debug + 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TaskLocalFuture");
        match &self.value {
            Some(value) => shown.field("value", value),
            // Taken out, or in the slot while we are polled.
            None => shown.field("value", &format_args!("<missing>")),
        };
        shown.finish()
    }
}

/// There is no value in scope. From [`LocalKey::try_with`].
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

/// Why a scope cannot be entered.
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
                "`{call}` called inside of a `LocalKey::with` of the same key: cannot enter a \
                 task-local scope while the task-local storage is borrowed. Let `with` return first"
            ),
            EnterError::ThreadEnds => panic!(
                "`{call}` called on a thread that is ending: cannot enter a task-local scope during \
                 or after destruction of the underlying thread-local. Call it earlier"
            ),
        }
    }
}
