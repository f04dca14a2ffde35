//! Values whose clone and drop panic, or call the primitive that holds them.

use crate::world::{self, Act, Counted};

/// The memory of a live value, and of a dropped one.
const ALIVE: u64 = 0xa11f_e000_a11f_e000;
const DROPPED: u64 = 0xdead_0000_dead_0000;

/// Tells a live value from a dropped one. The mark has its own allocation, so that AddressSanitizer
/// detects a use after the drop.
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
            world::finding(format!("a dropped value was used (mark {:#x})", *self.mark));
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.check();
        *self.mark = DROPPED;
    }
}

/// A value whose clone and drop may panic, and whose drop may call the primitive that drops it.
#[derive(Debug)]
pub struct Value {
    life: Life,
}

impl Value {
    pub fn new() -> Value {
        Value { life: Life::new() }
    }

    /// Checks that the value is alive.
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
        // The field is dropped after this call, even if it panics.
        world::maybe_panic(Act::ValueDrop);
    }
}

/// Checks a captured value, then may panic. Closures and futures of the scenarios call it.
pub fn call_hostile(value: &Value) {
    value.look();
    world::maybe_panic(Act::Call);
}
