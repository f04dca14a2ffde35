use super::subject::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use crate::support::{Line, Log, Random, shown};
use std::sync::Arc;

enum Guard {
    Reader(OwnedRwLockReadGuard<usize>),
    Writer(OwnedRwLockWriteGuard<usize>),
}

impl Guard {
    /// Who wrote last.
    fn value(&self) -> usize {
        match self {
            Guard::Reader(guard) => **guard,
            Guard::Writer(guard) => **guard,
        }
    }

    fn downgrade(self) -> Guard {
        match self {
            Guard::Writer(guard) => Guard::Reader(guard.downgrade()),
            reader => reader,
        }
    }
}

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let lock = Arc::new(match random.below(4) {
        0 => RwLock::new(0),
        readers => RwLock::with_max_readers(0, readers as u32),
    });
    let (mut line, mut held): (Line<Guard>, Vec<Guard>) = (Line::new(), Vec::new());
    let step = |id| {
        let own = lock.clone();
        let taken = match random.below(10) {
            0 | 1 => line.begin(id, async { Guard::Reader(own.read_owned().await) }),
            2 => line.begin(id, async move {
                let mut guard = own.write_owned().await;
                *guard = id;
                Guard::Writer(guard)
            }),
            3 | 4 => line.poll_one(&mut random),
            5 => own.try_read_owned().ok().map(Guard::Reader),
            6 => own.try_write_owned().ok().map(Guard::Writer),
            7 => random.take(&mut held).map(Guard::downgrade),
            8 => {
                line.give_up_one(&mut random);
                None
            }
            _ => {
                drop(random.take(&mut held));
                None
            }
        };
        let outcome = shown(&taken.as_ref().map(Guard::value));
        held.extend(taken);
        format!("{outcome} | {lock:?} [{}]", line.woken())
    };
    (0..80).map(step).collect()
}
