//! `OnceCell`, `SetOnce` and `Barrier`.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use wakeful::sync::{Barrier, OnceCell, SetOnce};
use wakeful_torture::rng::Rng;

use crate::pool::Pool;
use crate::shared::{Shared, pause};
use crate::values::{Value, call_hostile};
use crate::world::discard;

/// One of each primitive. The set is replaced now and then, because they can be used only once.
#[derive(Clone)]
struct Set {
    cell: Arc<OnceCell<Value>>,
    set_once: Arc<SetOnce<Value>>,
    barrier: Arc<Barrier>,
}

impl Set {
    fn new(rng: &mut Rng) -> Set {
        Set {
            cell: Arc::new(OnceCell::new()),
            set_once: Arc::new(SetOnce::new()),
            barrier: Arc::new(Barrier::new(1 + rng.below(4))),
        }
    }
}

pub struct Once {
    set: Mutex<Option<Set>>,
}

impl Shared for Once {
    fn make(rng: &mut Rng) -> Self {
        Once { set: Mutex::new(Some(Set::new(rng))) }
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let Some(Set { cell, set_once, barrier }) = self.current() else { return };
        match rng.below(12) {
            0 if rng.chance(300) => self.replace(Some(Set::new(rng))),
            0 => discard(cell.set(Value::new())),
            1 | 2 => pool.add(async move {
                let init = || async {
                    let value = Value::new();
                    pause().await;
                    call_hostile(&value);
                    value
                };
                cell.get_or_init(init).await.look();
            }),
            3 | 4 => pool.add(async move {
                let init = || async {
                    pause().await;
                    Err::<Value, Value>(Value::new())
                };
                discard(cell.get_or_try_init(init).await.map(Value::look));
            }),
            5 => cell.get().into_iter().for_each(Value::look),
            6 if rng.chance(200) => discard(set_once.set(Value::new())),
            6..9 => pool.add(async move { set_once.wait().await.look() }),
            9 => set_once.get().into_iter().for_each(Value::look),
            _ => pool.add(async move { _ = barrier.wait().await }),
        }
    }

    fn clear(&self) {
        self.replace(None);
    }
}

impl Once {
    fn current(&self) -> Option<Set> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, next: Option<Set>) {
        let before = {
            let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *set, next)
        };
        if let Some(Set { cell, set_once, barrier }) = before {
            discard(cell);
            discard(set_once);
            discard(barrier);
        }
    }
}
