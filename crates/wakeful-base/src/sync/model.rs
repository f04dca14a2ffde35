//! The loom side of the switch.

use atomic::Ordering::*;
pub use loom::cell::UnsafeCell;
pub use loom::sync::{Arc, RwLockReadGuard, RwLockWriteGuard, atomic};
pub use loom::thread_local as loom_thread_local;
pub use loom::{hint, thread};
use std::ops::{Deref, DerefMut};

/// Issues a `SeqCst` fence.
///
/// Loom treats `SeqCst` operations as `AcqRel`; it implements only `SeqCst` fences.
pub fn seq_cst_for_loom() {
    atomic::fence(SeqCst);
}

/// Loom's mutex with the interface of `real.rs`.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Locks the mutex, blocking until it is free.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, guard: self.0.lock().unwrap() }
    }

    /// Returns the protected value without locking.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap()
    }

    /// Consumes the mutex and returns the protected value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap()
    }
}

/// A guard that gives access to the value of a [`Mutex`].
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    guard: loom::sync::MutexGuard<'a, T>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// A mutex with a `try_lock` that never blocks.
///
/// Loom's own `try_lock` blocks if another thread takes the lock at that moment.
#[derive(Debug)]
pub struct TryMutex<T> {
    held: atomic::AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: a mutex moves its value between threads one at a time, which `T: Send` permits.
unsafe impl<T: Send> Send for TryMutex<T> {}
// SAFETY: only the thread that has set `held` accesses the value, and `held` is set by an acquiring
// compare-and-swap and cleared by a releasing store.
unsafe impl<T: Send> Sync for TryMutex<T> {}

impl<T> TryMutex<T> {
    /// Creates an unlocked mutex.
    pub fn new(value: T) -> Self {
        TryMutex { held: atomic::AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Locks the mutex if it is free.
    pub fn try_lock(&self) -> Option<TryMutexGuard<'_, T>> {
        let taken = self.held.compare_exchange(false, true, Acquire, Relaxed);
        taken.is_ok().then(|| TryMutexGuard { mutex: self })
    }

    /// Locks the mutex, yielding until it is free.
    pub fn lock(&self) -> TryMutexGuard<'_, T> {
        loop {
            match self.try_lock() {
                Some(guard) => return guard,
                None => thread::yield_now(),
            }
        }
    }
}

/// A guard that gives access to the value of a [`TryMutex`].
#[derive(Debug)]
pub struct TryMutexGuard<'a, T> {
    mutex: &'a TryMutex<T>,
}

impl<T> Deref for TryMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard's thread has set `held`.
        self.mutex.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for TryMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard's thread has set `held`, and the guard is borrowed exclusively.
        self.mutex.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for TryMutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.held.store(false, Release);
    }
}

/// Loom's reader-writer lock with the interface of `real.rs`.
#[derive(Debug, Default)]
pub struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates an unlocked lock.
    pub fn new(value: T) -> Self {
        RwLock(loom::sync::RwLock::new(value))
    }

    /// Locks for shared access, blocking until that is possible.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap()
    }

    /// Locks for exclusive access, blocking until that is possible.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap()
    }
}

/// Loom's condition variable with the interface of `real.rs`.
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// Creates a condition variable.
    pub fn new() -> Self {
        Condvar(loom::sync::Condvar::new())
    }

    /// Unlocks the mutex, waits for a notification, and locks the mutex again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let MutexGuard { mutex, guard } = guard;
        MutexGuard { mutex, guard: self.0.wait(guard).unwrap() }
    }

    /// Does the same as [`wait`](Self::wait), with a timeout.
    ///
    /// Loom has no time, so the timeout is modelled as elapsing once other threads have had a
    /// chance to run.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _timeout: std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let mutex = guard.mutex;
        drop(guard);
        loom::thread::yield_now();
        (mutex.lock(), true)
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
