//! A collection of handles that all parties of a scenario share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use wakeful_torture::rng::Rng;

use crate::world::{attempt, discard};

/// How many things it holds. Putting more drops them.
const CAPACITY: usize = 16;

/// Holds a few things of one kind. The lock is not held while a thing is used or dropped.
#[derive(Debug)]
pub struct Basket<T>(Mutex<Vec<T>>);

impl<T> Default for Basket<T> {
    fn default() -> Self {
        Basket(Mutex::new(Vec::new()))
    }
}

impl<T> Basket<T> {
    pub fn put(&self, thing: T) {
        let mut things = self.lock();
        if things.len() < CAPACITY {
            things.push(thing);
        } else {
            drop(things);
            discard(thing);
        }
    }

    pub fn take(&self, rng: &mut Rng) -> Option<T> {
        let mut things = self.lock();
        if things.is_empty() {
            return None;
        }
        let at = rng.below(things.len());
        Some(things.swap_remove(at))
    }

    /// Takes a thing, calls `f` with it, and puts it back even if `f` panics.
    pub fn with(&self, rng: &mut Rng, f: impl FnOnce(&mut T)) {
        if let Some(mut thing) = self.take(rng) {
            attempt(|| f(&mut thing));
            self.put(thing);
        }
    }

    /// Takes a thing and drops it.
    pub fn drop_one(&self, rng: &mut Rng) {
        if let Some(thing) = self.take(rng) {
            discard(thing);
        }
    }

    /// Drops all things. A drop may put another one in, which is dropped too.
    pub fn clear(&self) {
        while let Some(thing) = { self.lock().pop() } {
            discard(thing);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
