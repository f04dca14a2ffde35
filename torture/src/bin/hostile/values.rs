//! Values whose clone and drop panic.

use crate::world::{self, Act, Counted};

/// What the memory of a live value holds, and of a dropped one.
const ALIVE: u64 = 0xa11f_e000_a11f_e000;
const DROPPED: u64 = 0xdead_0000_dead_0000;

/// Tells a live value from one that was dropped. Its memory is of its own, so that AddressSanitizer
/// sees a use after the drop.
#[derive(Debug)]
struct Life {
    mark: Box<u64>,
    _counted: Counted,
}

impl Life {
    fn new() -> Life {
        Life { mark: Box::new(ALIVE), _counted: Counted::value() }
    }

    fn check(&self) {
        if *self.mark != ALIVE {
            world::finding(format!("a value was used that is not alive (mark {:#x})", *self.mark));
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.check();
        *self.mark = DROPPED;
    }
}

/// A value whose clone and drop panic, or come back to the primitive that calls them.
#[derive(Debug)]
pub struct Value {
    life: Life,
}

impl Value {
    pub fn new() -> Value {
        Value { life: Life::new() }
    }

    /// Reads it.
    pub fn look(&self) {
        self.life.check();
    }
}

impl Clone for Value {
    fn clone(&self) -> Value {
        self.look();
        world::maybe_panic(Act::ValueClone);
        Value::new()
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.look();
        world::maybe_mischief();
        // The field is dropped after this, whether it panics or not.
        world::maybe_panic(Act::ValueDrop);
    }
}

/// Uses a value that a closure or a future has captured, and panics, or not.
pub fn call_hostile(value: &Value) {
    value.look();
    world::maybe_panic(Act::Call);
}
