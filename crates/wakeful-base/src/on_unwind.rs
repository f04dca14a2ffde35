//! Guards that finish an operation when a panic unwinds through it.

use crate::catch_panic::contain_panic;

/// Calls its function when dropped.
///
/// For a call that may panic: code after the call forgets the guard, so the function is called only
/// during unwinding.
#[derive(Debug)]
pub struct OnUnwind<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnUnwind<F> {
    fn drop(&mut self) {
        // A second panic during unwinding would abort the process.
        contain_panic(&mut self.0);
    }
}

/// Calls `f` with `value`, and returns `value`.
///
/// For a value whose drop is user code and that outlives a call of other user code. If `f` panics,
/// `value` is dropped during the unwinding, and a panic of that drop is contained: the first panic
/// reaches the caller.
pub fn hold_during<T>(value: T, f: impl FnOnce(&mut T)) -> T {
    struct Held<T>(Option<T>);
    impl<T> Drop for Held<T> {
        fn drop(&mut self) {
            if let Some(value) = self.0.take() {
                contain_panic(|| drop(value));
            }
        }
    }
    let mut held = Held(Some(value));
    held.0.as_mut().map(f);
    held.0.take().expect("the value is taken only here, or during unwinding")
}

/// Drops all values that `next` returns. If a drop panics, the remaining values are dropped before
/// the panic continues.
///
/// `next` itself must not panic.
pub fn drop_all<T>(next: impl FnMut() -> Option<T>) {
    struct Rest<T, N: FnMut() -> Option<T>>(N);
    impl<T, N: FnMut() -> Option<T>> Drop for Rest<T, N> {
        fn drop(&mut self) {
            while let Some(value) = (self.0)() {
                contain_panic(|| drop(value));
            }
        }
    }
    let mut rest = Rest(next);
    while let Some(value) = (rest.0)() {
        drop(value);
    }
}
