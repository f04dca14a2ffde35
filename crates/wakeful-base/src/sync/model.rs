//! The loom side of the switch.

pub use loom::cell::UnsafeCell;
pub use loom::sync::{Arc, MutexGuard, atomic};
pub use loom::thread_local as loom_thread_local;
pub use loom::{hint, thread};

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
        self.0.lock().unwrap()
    }

    /// Takes the lock if nobody holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
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
        self.0.wait(guard).unwrap()
    }

    /// Loom has no time: the timeout is taken to have elapsed at once.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _timeout: std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        loom::thread::yield_now();
        (guard, true)
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
