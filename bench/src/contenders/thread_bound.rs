//! Futures of runtimes whose tasks never leave their thread, wrapped for cases that require `Send`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that may only be used on the thread that created it. Each use checks this.
pub struct ThreadBound<F> {
    future: F,
    home: usize,
}

impl<F> ThreadBound<F> {
    pub fn new(future: F) -> ThreadBound<F> {
        ThreadBound { future, home: this_thread() }
    }
}

// SAFETY: moving the value to another thread moves only its bytes. The future cannot be used there:
// `poll` and `drop` abort the process if `this_thread` differs from the thread that created it, and
// the future is not accessible otherwise.
unsafe impl<F> Send for ThreadBound<F> {}

impl<F: Future> Future for ThreadBound<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        assert_at_home(self.home);
        // SAFETY: the future is structurally pinned: nothing moves it out of the struct, `Drop`
        // does not touch it, and the struct is not `Unpin` unless the future is.
        unsafe { self.map_unchecked_mut(|bound| &mut bound.future) }.poll(cx)
    }
}

impl<F> Drop for ThreadBound<F> {
    fn drop(&mut self) {
        assert_at_home(self.home);
    }
}

/// Aborts the process on a wrong thread. A panic would drop the future there when unwinding.
fn assert_at_home(home: usize) {
    if home != this_thread() {
        eprintln!("`ThreadBound`: the future was used outside the thread that created it");
        std::process::abort();
    }
}

/// Returns an identifier that no other running thread has: the address of a thread-local.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_different_identifiers() {
        let here = this_thread();
        assert_eq!(here, this_thread());
        let elsewhere = std::thread::spawn(this_thread).join().unwrap();
        assert_ne!(here, elsewhere);
    }
}
