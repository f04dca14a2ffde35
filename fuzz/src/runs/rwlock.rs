use super::place::drive;
use super::subject::sync::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
use crate::log::Log;
use crate::pending_futures::{PendingFutures, take};
use crate::script::Script;
use crate::scripts::rwlock::Op;
use crate::value::Value;
use crate::wakers;
use std::sync::Arc;

enum Guard<'a> {
    Read(RwLockReadGuard<'a, Value>),
    Write(RwLockWriteGuard<'a, Value>),
    MappedRead(RwLockReadGuard<'a, u64>),
    MappedWrite(RwLockMappedWriteGuard<'a, u64>),
    OwnRead(OwnedRwLockReadGuard<Value>),
    OwnWrite(OwnedRwLockWriteGuard<Value>),
    OwnMappedRead(OwnedRwLockReadGuard<Value, u64>),
    OwnMappedWrite(OwnedRwLockMappedWriteGuard<Value, u64>),
}

use Guard::{
    MappedRead, MappedWrite, OwnMappedRead, OwnMappedWrite, OwnRead, OwnWrite, Read, Write,
};

impl Guard<'_> {
    fn number(&self) -> u64 {
        match self {
            Read(guard) => guard.0,
            Write(guard) => guard.0,
            MappedRead(guard) => **guard,
            MappedWrite(guard) => **guard,
            OwnRead(guard) => guard.0,
            OwnWrite(guard) => guard.0,
            OwnMappedRead(guard) => **guard,
            OwnMappedWrite(guard) => **guard,
        }
    }

    fn downgrade(self) -> Self {
        match self {
            Write(guard) => Read(guard.downgrade()),
            OwnWrite(guard) => OwnRead(guard.downgrade()),
            other => other,
        }
    }

    fn try_downgrade(self, fails: bool) -> Self {
        match self {
            Write(guard) if fails => {
                let map = RwLockWriteGuard::try_downgrade_map(guard, |_| None::<&u64>);
                map.map_or_else(Write, MappedRead)
            }
            OwnWrite(guard) if fails => {
                let map = OwnedRwLockWriteGuard::try_downgrade_map(guard, |_| None::<&u64>);
                map.map_or_else(OwnWrite, OwnMappedRead)
            }
            Write(guard) => MappedRead(RwLockWriteGuard::downgrade_map(guard, |value| &value.0)),
            OwnWrite(guard) => {
                OwnMappedRead(OwnedRwLockWriteGuard::downgrade_map(guard, |value| &value.0))
            }
            other => other,
        }
    }

    fn map(self) -> Self {
        match self {
            Read(guard) => MappedRead(RwLockReadGuard::map(guard, |value| &value.0)),
            Write(guard) => MappedWrite(RwLockWriteGuard::map(guard, |value| &mut value.0)),
            MappedRead(guard) => MappedRead(RwLockReadGuard::map(guard, |number| number)),
            MappedWrite(guard) => MappedWrite(RwLockMappedWriteGuard::map(guard, |number| number)),
            OwnRead(guard) => OwnMappedRead(OwnedRwLockReadGuard::map(guard, |value| &value.0)),
            OwnWrite(guard) => {
                OwnMappedWrite(OwnedRwLockWriteGuard::map(guard, |value| &mut value.0))
            }
            other => other,
        }
    }

    fn try_map(self, fails: bool) -> Self {
        match self {
            Read(guard) => RwLockReadGuard::try_map(guard, |value| (!fails).then_some(&value.0))
                .map_or_else(Read, MappedRead),
            Write(guard) => {
                RwLockWriteGuard::try_map(guard, |value| (!fails).then_some(&mut value.0))
                    .map_or_else(Write, MappedWrite)
            }
            OwnRead(guard) => {
                OwnedRwLockReadGuard::try_map(guard, |value| (!fails).then_some(&value.0))
                    .map_or_else(OwnRead, OwnMappedRead)
            }
            OwnWrite(guard) => {
                OwnedRwLockWriteGuard::try_map(guard, |value| (!fails).then_some(&mut value.0))
                    .map_or_else(OwnWrite, OwnMappedWrite)
            }
            other => other,
        }
    }
}

fn written(mut guard: RwLockWriteGuard<'_, Value>, number: u64) -> Guard<'_> {
    guard.0 = number;
    Write(guard)
}

fn written_owned<'a>(mut guard: OwnedRwLockWriteGuard<Value>, number: u64) -> Guard<'a> {
    guard.0 = number;
    OwnWrite(guard)
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let lock = Arc::new(match script.size {
        0 => RwLock::new(Value::new(0)),
        readers => RwLock::with_max_readers(Value::new(0), u32::from(readers)),
    });
    let reacting = lock.clone();
    wakers::react(move |kind| match kind % 2 {
        0 => drop(reacting.try_write().map(|mut guard| guard.0 += 100)),
        _ => drop(reacting.try_read()),
    });
    let (mut futures, mut held): (PendingFutures<'_, Guard<'_>>, Vec<Guard<'_>>) =
        (PendingFutures::default(), Vec::new());
    let mut number = 0;
    drive(script, log, |op, log| {
        number += 1;
        let own = || lock.clone();
        let taken = match op {
            Op::Turn | Op::SpendBudget { .. } => None,
            Op::Read { waker } => futures.begin(waker, async { Read(lock.read().await) }),
            Op::ReadOwned { waker } => {
                let read = own().read_owned();
                futures.begin(waker, async { OwnRead(read.await) })
            }
            Op::Write { waker } => {
                let write = lock.write();
                futures.begin(waker, async move { written(write.await, number) })
            }
            Op::WriteOwned { waker } => {
                let write = own().write_owned();
                futures.begin(waker, async move { written_owned(write.await, number) })
            }
            Op::TryRead => lock.try_read().ok().map(Read),
            Op::TryReadOwned => own().try_read_owned().ok().map(OwnRead),
            Op::TryWrite => lock.try_write().ok().map(|guard| written(guard, number)),
            Op::TryWriteOwned => {
                own().try_write_owned().ok().map(|guard| written_owned(guard, number))
            }
            Op::Poll { which, waker } => futures.poll(which, waker),
            Op::GiveUp { which } => {
                log.note("given up", &futures.give_up(which));
                None
            }
            Op::Unlock { which } => {
                drop(take(&mut held, which));
                None
            }
            Op::Downgrade { which } => take(&mut held, which).map(Guard::downgrade),
            Op::TryDowngrade { which, fails } => {
                take(&mut held, which).map(|guard| guard.try_downgrade(fails % 2 == 1))
            }
            Op::Map { which } => take(&mut held, which).map(Guard::map),
            Op::TryMap { which, fails } => {
                take(&mut held, which).map(|guard| guard.try_map(fails % 2 == 1))
            }
        };
        log.note("locked", &taken.as_ref().map(Guard::number));
        held.extend(taken);
        log.note("waiting", &(futures.len(), held.len(), Arc::strong_count(&lock)));
    });
}
