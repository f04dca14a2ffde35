//! `Mutex` and `RwLock`. Both must be unlocked in the end, whatever panics.

use std::sync::Arc;
use wakeful::sync::{
    Mutex, OwnedMappedMutexGuard, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    RwLock,
};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, pause};
use crate::values::{Value, call_hostile};
use crate::world::finding;

type Pair = (Value, Value);

pub struct Locks {
    mutex: Arc<Mutex<Pair>>,
    guards: Basket<OwnedMutexGuard<Pair>>,
    mapped: Basket<OwnedMappedMutexGuard<Pair, Value>>,
    rwlock: Arc<RwLock<Pair>>,
    readers: Basket<OwnedRwLockReadGuard<Pair>>,
    writers: Basket<OwnedRwLockWriteGuard<Pair>>,
}

impl Shared for Locks {
    fn make(_: &mut Rng) -> Self {
        let pair = || (Value::new(), Value::new());
        Locks {
            mutex: Arc::new(Mutex::new(pair())),
            guards: Basket::default(),
            mapped: Basket::default(),
            rwlock: Arc::new(RwLock::with_max_readers(pair(), 3)),
            readers: Basket::default(),
            writers: Basket::default(),
        }
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.chance(500) {
            true => self.mutex(pool, rng),
            false => self.rwlock(pool, rng),
        }
    }

    fn clear(&self) {
        self.mapped.clear();
        self.guards.clear();
        self.readers.clear();
        self.writers.clear();
        if Arc::strong_count(&self.mutex) == 1 && self.mutex.try_lock().is_err() {
            finding("the Mutex is locked, but no guard exists".into());
        }
        if Arc::strong_count(&self.rwlock) == 1 && self.rwlock.try_write().is_err() {
            finding("the RwLock is locked, but no guard exists".into());
        }
    }
}

impl Locks {
    fn mutex(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let (shared, mutex) = (self.clone(), self.mutex.clone());
        match rng.below(9) {
            0 => {
                if let Ok(guard) = mutex.try_lock_owned() {
                    self.guards.put(guard);
                }
            }
            1 | 2 => pool.add(async move { shared.guards.put(mutex.lock_owned().await) }),
            3 => pool.add(async move {
                let mut guard = mutex.lock().await;
                pause().await;
                guard.0 = Value::new();
            }),
            4 => self.guards.with(rng, |guard| guard.1 = Value::new()),
            5 => {
                if let Some(guard) = self.guards.take(rng) {
                    let mapped = OwnedMutexGuard::map(guard, |pair| {
                        call_hostile(&pair.0);
                        &mut pair.1
                    });
                    self.mapped.put(mapped);
                }
            }
            6 => self.mapped.drop_one(rng),
            7 => self.mapped.with(rng, |value| **value = Value::new()),
            _ => self.guards.drop_one(rng),
        }
    }

    fn rwlock(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let (shared, rwlock) = (self.clone(), self.rwlock.clone());
        match rng.below(12) {
            0 => {
                if let Ok(guard) = rwlock.try_read_owned() {
                    self.readers.put(guard);
                }
            }
            1 => {
                if let Ok(guard) = rwlock.try_write_owned() {
                    self.writers.put(guard);
                }
            }
            2 | 3 => pool.add(async move { shared.readers.put(rwlock.read_owned().await) }),
            4 | 5 => pool.add(async move { shared.writers.put(rwlock.write_owned().await) }),
            6 => pool.add(async move {
                let guard = rwlock.read().await;
                pause().await;
                call_hostile(&guard.0);
            }),
            7 => {
                if let Some(guard) = self.writers.take(rng) {
                    self.readers.put(guard.downgrade());
                }
            }
            8 => self.writers.with(rng, |guard| guard.0 = Value::new()),
            9 => {
                if let Some(guard) = self.writers.take(rng) {
                    let mapped = OwnedRwLockWriteGuard::map(guard, |pair| {
                        call_hostile(&pair.0);
                        &mut pair.1
                    });
                    drop(mapped);
                }
            }
            10 => self.readers.drop_one(rng),
            _ => self.writers.drop_one(rng),
        }
    }
}
