//! Semaphores. No permit may be lost, whatever panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use wakeful::sync::{OwnedSemaphorePermit, Semaphore};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, pause};
use crate::world::{discard, finding};

pub struct Permits {
    semaphore: Arc<Semaphore>,
    held: Basket<OwnedSemaphorePermit>,
    /// All permits, including those that are held.
    exist: AtomicUsize,
}

impl Shared for Permits {
    fn make(rng: &mut Rng) -> Self {
        let exist = rng.below(5);
        let semaphore = Arc::new(Semaphore::new(exist));
        Permits { semaphore, held: Basket::default(), exist: AtomicUsize::new(exist) }
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let many = rng.below(4);
        match rng.below(16) {
            0 => {
                self.exist.fetch_add(many, SeqCst);
                self.semaphore.add_permits(many);
            }
            1 => {
                let forgotten = self.semaphore.forget_permits(many);
                self.exist.fetch_sub(forgotten, SeqCst);
            }
            2 => {
                if let Ok(permit) = self.semaphore.clone().try_acquire_owned() {
                    self.held.put(permit);
                }
            }
            3..6 => {
                let (shared, semaphore) = (self.clone(), self.semaphore.clone());
                pool.add(async move {
                    if let Ok(permit) = semaphore.acquire_many_owned(many as u32).await {
                        shared.held.put(permit);
                    }
                });
            }
            6..8 => {
                let semaphore = self.semaphore.clone();
                pool.add(async move {
                    let permit = semaphore.acquire_many(many as u32).await;
                    pause().await;
                    drop(permit);
                });
            }
            8..12 => self.held.drop_one(rng),
            12 => self.forget(rng),
            13 => {
                let (Some(mut one), Some(other)) = (self.held.take(rng), self.held.take(rng))
                else {
                    return;
                };
                one.merge(other);
                self.held.put(one);
            }
            14 => self.held.with(rng, |permit| {
                permit.split(1).into_iter().for_each(|part| self.held.put(part));
            }),
            _ if rng.chance(20) => self.semaphore.close(),
            _ => discard(self.semaphore.try_acquire_many(many as u32)),
        }
    }

    fn clear(&self) {
        self.held.clear();
        let (free, exist) = (self.semaphore.available_permits(), self.exist.load(SeqCst));
        // Otherwise futures that other parties have not dropped yet may hold permits.
        if Arc::strong_count(&self.semaphore) == 1 && free != exist {
            finding(format!("{exist} permits should be free, and {free} are"));
        }
    }
}

impl Permits {
    fn forget(&self, rng: &mut Rng) {
        if rng.chance(300)
            && let Some(permit) = self.held.take(rng)
        {
            self.exist.fetch_sub(permit.num_permits(), SeqCst);
            permit.forget();
        }
    }
}
