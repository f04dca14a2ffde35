//! Wakers to be called once a lock is released.
//!
//! A waker is somebody else's code, which must not run under our locks. So a waking side collects
//! wakers while it holds the lock, and calls them after.

use std::mem::MaybeUninit;
use std::task::Waker;

const CAPACITY: usize = 32;

/// A few wakers on the stack.
pub struct WakeList {
    wakers: [MaybeUninit<Waker>; CAPACITY],
    /// So many at the front are there.
    len: usize,
}

impl WakeList {
    /// An empty list.
    pub const fn new() -> Self {
        WakeList { wakers: [const { MaybeUninit::uninit() }; CAPACITY], len: 0 }
    }

    /// Whether one more fits.
    pub fn can_push(&self) -> bool {
        self.len < CAPACITY
    }

    /// Whether none is in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a waker.
    ///
    /// # Panics
    /// If it does not fit.
    pub fn push(&mut self, waker: Waker) {
        self.wakers[self.len].write(waker);
        self.len += 1;
    }

    /// Calls all wakers and empties the list.
    ///
    /// If one panics, the others are called all the same, and the first panic goes on after.
    pub fn wake_all(&mut self) {
        /// Calls those that are left, if one panics.
        struct Rest<'a>(&'a mut WakeList, usize);

        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                while let Some(waker) = self.next() {
                    waker.wake();
                }
            }
        }

        impl Rest<'_> {
            fn next(&mut self) -> Option<Waker> {
                if self.1 == self.0.len {
                    self.0.len = 0;
                    self.1 = 0;
                    return None;
                }
                self.1 += 1;
                // SAFETY: below `len` the wakers are there, and each is taken out once: the list is
                // empty before anybody can see it again.
                Some(unsafe { self.0.wakers[self.1 - 1].assume_init_read() })
            }
        }

        let mut rest = Rest(self, 0);
        while let Some(waker) = rest.next() {
            waker.wake();
        }
    }
}

impl Default for WakeList {
    fn default() -> Self {
        WakeList::new()
    }
}

impl Drop for WakeList {
    fn drop(&mut self) {
        for waker in &mut self.wakers[..self.len] {
            // SAFETY: below `len` the wakers are there.
            unsafe { waker.assume_init_drop() };
        }
    }
}

impl std::fmt::Debug for WakeList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WakeList").field("len", &self.len).finish()
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::*};
    use std::task::Wake;

    struct Count(AtomicUsize, usize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            if self.0.fetch_add(1, SeqCst) == self.1 {
                panic!("on purpose");
            }
        }
    }

    #[test]
    fn wakes_each_once_and_is_empty_after() {
        let count = Arc::new(Count(AtomicUsize::new(0), usize::MAX));
        let mut list = WakeList::new();
        for _ in 0..2 {
            while list.can_push() {
                list.push(count.clone().into());
            }
            list.wake_all();
        }
        assert_eq!(count.0.load(SeqCst), 2 * CAPACITY);
        list.push(count.clone().into());
        drop(list);
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn a_waker_that_panics_keeps_no_other_from_being_called() {
        let count = Arc::new(Count(AtomicUsize::new(0), 3));
        let mut list = WakeList::new();
        for _ in 0..10 {
            list.push(count.clone().into());
        }
        assert!(catch_unwind(AssertUnwindSafe(|| list.wake_all())).is_err());
        assert_eq!(count.0.load(SeqCst), 10);
        drop(list);
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
