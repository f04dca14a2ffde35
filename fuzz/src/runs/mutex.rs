use super::place::drive;
use super::subject::sync::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
};
use crate::log::Log;
use crate::pending_futures::{PendingFutures, pick, take};
use crate::script::Script;
use crate::scripts::mutex::Op;
use crate::value::Value;
use crate::wakers;
use std::sync::Arc;

enum Guard<'a> {
    Lent(MutexGuard<'a, Value>),
    Own(OwnedMutexGuard<Value>),
    MappedLent(MappedMutexGuard<'a, u64>),
    MappedOwn(OwnedMappedMutexGuard<Value, u64>),
}

impl Guard<'_> {
    fn number(&mut self) -> &mut u64 {
        match self {
            Guard::Lent(guard) => &mut guard.0,
            Guard::Own(guard) => &mut guard.0,
            Guard::MappedLent(guard) => guard,
            Guard::MappedOwn(guard) => guard,
        }
    }

    fn map(self) -> Self {
        match self {
            Guard::Lent(guard) => Guard::MappedLent(MutexGuard::map(guard, |value| &mut value.0)),
            Guard::Own(guard) => {
                Guard::MappedOwn(OwnedMutexGuard::map(guard, |value| &mut value.0))
            }
            Guard::MappedLent(guard) => Guard::MappedLent(MappedMutexGuard::map(guard, |n| n)),
            Guard::MappedOwn(guard) => Guard::MappedOwn(OwnedMappedMutexGuard::map(guard, |n| n)),
        }
    }

    fn try_map(self, fails: bool) -> Self {
        match self {
            Guard::Lent(guard) => {
                MutexGuard::try_map(guard, |value| (!fails).then_some(&mut value.0))
                    .map_or_else(Guard::Lent, Guard::MappedLent)
            }
            Guard::Own(guard) => {
                OwnedMutexGuard::try_map(guard, |value| (!fails).then_some(&mut value.0))
                    .map_or_else(Guard::Own, Guard::MappedOwn)
            }
            Guard::MappedLent(guard) => Guard::MappedLent(
                MappedMutexGuard::try_map(guard, |n| (!fails).then_some(n))
                    .unwrap_or_else(|same| same),
            ),
            Guard::MappedOwn(guard) => Guard::MappedOwn(
                OwnedMappedMutexGuard::try_map(guard, |n| (!fails).then_some(n))
                    .unwrap_or_else(|same| same),
            ),
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let mutex = Arc::new(Mutex::new(Value::new(0)));
    let reacting = mutex.clone();
    wakers::react(move |_| drop(reacting.try_lock().map(|mut guard| guard.0 += 100)));
    let (mut futures, mut held): (PendingFutures<'_, Guard<'_>>, Vec<Guard<'_>>) =
        (PendingFutures::default(), Vec::new());
    let mut number = 0;
    drive(script, log, |op, log| {
        number += 1;
        let taken = match op {
            Op::Turn | Op::SpendBudget { .. } => None,
            Op::Lock { waker } => futures.begin(waker, async { Guard::Lent(mutex.lock().await) }),
            Op::LockOwned { waker } => {
                let lock = mutex.clone().lock_owned();
                futures.begin(waker, async { Guard::Own(lock.await) })
            }
            Op::TryLock => mutex.try_lock().ok().map(Guard::Lent),
            Op::TryLockOwned => mutex.clone().try_lock_owned().ok().map(Guard::Own),
            Op::Poll { which, waker } => futures.poll(which, waker),
            Op::GiveUp { which } => {
                log.note("given up", &futures.give_up(which));
                None
            }
            Op::Unlock { which } => {
                drop(take(&mut held, which));
                None
            }
            Op::Map { which } => take(&mut held, which).map(Guard::map),
            Op::TryMap { which, fails } => {
                take(&mut held, which).map(|guard| guard.try_map(fails % 2 == 1))
            }
            Op::Write { which } => {
                pick(&mut held, which).into_iter().for_each(|guard| *guard.number() = number);
                None
            }
        };
        log.note("locked", &taken.is_some());
        held.extend(taken);
        log.note("value", &held.first_mut().map(|guard| *guard.number()));
        log.note("waiting", &(futures.len(), held.len(), Arc::strong_count(&mutex)));
    });
}
