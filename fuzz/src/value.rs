//! Values that are counted, so that a run shows when each was dropped and that none was dropped twice.

use std::cell::Cell;

thread_local! {
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// A value that channels and locks carry.
#[derive(Debug, Hash, PartialEq, Eq)]
pub struct Value(pub u64);

impl Value {
    /// Makes one.
    pub fn new(number: u64) -> Value {
        ALIVE.set(ALIVE.get() + 1);
        Value(number)
    }

    /// Counts those that are not dropped.
    pub fn alive() -> isize {
        ALIVE.get()
    }

    /// Starts over for a new run.
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
