//! Futures of runtimes whose tasks never leave their thread, for cases that are written for those whose tasks may.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that is used on the thread it was made on only, which every use checks.
pub struct ThreadBound<F> {
    future: F,
    home: usize,
}

impl<F> ThreadBound<F> {
    pub fn new(future: F) -> ThreadBound<F> {
        ThreadBound { future, home: this_thread() }
    }
}

// SAFETY: on another thread the future is neither polled nor dropped: both abort the process there, see
// `assert_at_home`. Moving its bytes is all that is left to do with it, and does not use it.
unsafe impl<F> Send for ThreadBound<F> {}

impl<F: Future> Future for ThreadBound<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        assert_at_home(self.home);
        // SAFETY: the future is pinned with the struct, nothing else gives access to it, and `Drop` does not move it.
        unsafe { self.map_unchecked_mut(|bound| &mut bound.future) }.poll(cx)
    }
}

impl<F> Drop for ThreadBound<F> {
    fn drop(&mut self) {
        assert_at_home(self.home);
    }
}

/// Ends the process at once: unwinding would drop the future where it must not be.
fn assert_at_home(home: usize) {
    if home != this_thread() {
        eprintln!("a future bound to one thread was used on another");
        std::process::abort();
    }
}

/// Tells threads that are alive apart: the address of something each of them has.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_apart() {
        let here = this_thread();
        assert_eq!(here, this_thread());
        let elsewhere = std::thread::spawn(this_thread).join().unwrap();
        assert_ne!(here, elsewhere);
    }
}
