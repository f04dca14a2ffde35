//! Values that are counted, to show when each is dropped, and that none is dropped twice.

use std::cell::Cell;

thread_local! {
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// A value for channels and locks.
#[derive(Debug, Hash, PartialEq, Eq)]
pub struct Value(pub u64);

impl Value {
    /// Creates a value.
    pub fn new(number: u64) -> Value {
        ALIVE.set(ALIVE.get() + 1);
        Value(number)
    }

    /// Returns how many values are alive.
    pub fn alive() -> isize {
        ALIVE.get()
    }

    /// Resets the count for a new run.
    pub fn reset() {
        ALIVE.set(0);
    }
}

impl Clone for Value {
    fn clone(&self) -> Value {
        Value::new(self.0)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}
