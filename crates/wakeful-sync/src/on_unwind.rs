//! Finishes what a waker's panic would leave half done.

use wakeful_base::catch_panic::contain_panic;

/// Calls its function when dropped: in an unwinding, since those who get past the call that may panic
/// forget the guard.
pub(crate) struct OnUnwind<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnUnwind<F> {
    fn drop(&mut self) {
        // A second panic during the first would abort the program.
        contain_panic(&mut self.0);
    }
}

/// Drops all values that `next` returns. If a drop panics, the others are dropped before the panic goes on.
///
/// `next` itself must not panic.
pub(crate) fn drop_all<T>(next: impl FnMut() -> Option<T>) {
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
