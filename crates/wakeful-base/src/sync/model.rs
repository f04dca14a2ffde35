//! The loom side of the switch.

use atomic::Ordering::*;
pub use loom::cell::UnsafeCell;
pub use loom::sync::{Arc, RwLockReadGuard, RwLockWriteGuard, atomic};
pub use loom::thread_local as loom_thread_local;
pub use loom::{hint, thread};
use std::ops::{Deref, DerefMut};

/// Loom takes `SeqCst` operations for `AcqRel` ones, and believes only fences.
pub fn seq_cst_for_loom() {
    atomic::fence(SeqCst);
}

/// loom's mutex in the shape of ours.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A new, unlocked mutex.
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, guard: self.0.lock().unwrap() }
    }

    /// What the lock protects.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap()
    }

    /// The protected value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap()
    }
}

/// Access to what a [`Mutex`] protects.
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

/// A mutex for those who take no for an answer.
///
/// Loom's own blocks in `try_lock` if another thread takes the lock at that moment.
#[derive(Debug)]
pub struct TryMutex<T> {
    held: atomic::AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: a mutex: who has set `held` has the value to himself.
unsafe impl<T: Send> Send for TryMutex<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for TryMutex<T> {}

impl<T> TryMutex<T> {
    /// A new, unlocked mutex.
    pub fn new(value: T) -> Self {
        TryMutex { held: atomic::AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes the lock if nobody holds it.
    pub fn try_lock(&self) -> Option<TryMutexGuard<'_, T>> {
        let taken = self.held.compare_exchange(false, true, Acquire, Relaxed);
        taken.is_ok().then(|| TryMutexGuard { mutex: self })
    }

    /// Waits for the lock.
    pub fn lock(&self) -> TryMutexGuard<'_, T> {
        loop {
            match self.try_lock() {
                Some(guard) => return guard,
                None => thread::yield_now(),
            }
        }
    }
}

/// Access to what a [`TryMutex`] protects.
#[derive(Debug)]
pub struct TryMutexGuard<'a, T> {
    mutex: &'a TryMutex<T>,
}

impl<T> Deref for TryMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: we have set `held`.
        self.mutex.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for TryMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed exclusively.
        self.mutex.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for TryMutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.held.store(false, Release);
    }
}

/// loom's reader-writer lock in the shape of ours.
#[derive(Debug, Default)]
pub struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// A new, unlocked lock.
    pub fn new(value: T) -> Self {
        RwLock(loom::sync::RwLock::new(value))
    }

    /// Waits until it may read.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap()
    }

    /// Waits until it may write.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap()
    }
}

/// loom's condition variable in the shape of ours.
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// A new condition variable.
    pub fn new() -> Self {
        Condvar(loom::sync::Condvar::new())
    }

    /// Releases the lock and waits for a notification.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let MutexGuard { mutex, guard } = guard;
        MutexGuard { mutex, guard: self.0.wait(guard).unwrap() }
    }

    /// Loom has no time: the timeout is taken to have elapsed as soon as the others had their turn.
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
