use super::place::drive;
use super::subject::sync::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
use crate::log::Log;
use crate::pending_futures::{PendingFutures, pick, take};
use crate::script::Script;
use crate::scripts::semaphore::Op;
use crate::wakers;
use std::sync::Arc;

enum Permit<'a> {
    Lent(SemaphorePermit<'a>),
    Own(OwnedSemaphorePermit),
}

#[derive(Debug, Hash)]
enum Refused {
    Closed,
    NoPermits,
}

type Acquired<'a> = Result<Permit<'a>, Refused>;

impl From<AcquireError> for Refused {
    fn from(_: AcquireError) -> Self {
        Refused::Closed
    }
}

impl From<TryAcquireError> for Refused {
    fn from(error: TryAcquireError) -> Self {
        match error {
            TryAcquireError::Closed => Refused::Closed,
            TryAcquireError::NoPermits => Refused::NoPermits,
        }
    }
}

impl Permit<'_> {
    fn count(&self) -> usize {
        match self {
            Permit::Lent(permit) => permit.num_permits(),
            Permit::Own(permit) => permit.num_permits(),
        }
    }

    fn forget(self) {
        match self {
            Permit::Lent(permit) => permit.forget(),
            Permit::Own(permit) => permit.forget(),
        }
    }

    fn split(&mut self, count: usize) -> Option<Self> {
        match self {
            Permit::Lent(permit) => permit.split(count).map(Permit::Lent),
            Permit::Own(permit) => permit.split(count).map(Permit::Own),
        }
    }

    /// Changes nothing if only one of them is owned.
    fn merge(&mut self, other: Self) -> Option<Self> {
        match (self, other) {
            (Permit::Lent(permit), Permit::Lent(other)) => permit.merge(other),
            (Permit::Own(permit), Permit::Own(other)) => permit.merge(other),
            (_, other) => return Some(other),
        }
        None
    }
}

struct Run<'a> {
    semaphore: &'a Arc<Semaphore>,
    futures: PendingFutures<'a, Acquired<'a>>,
    held: Vec<Permit<'a>>,
}

impl<'a> Run<'a> {
    fn acquire(&mut self, count: u8, waker: u8) -> Option<Acquired<'a>> {
        let acquire = self.semaphore.acquire_many(u32::from(count % 8));
        self.futures.begin(waker, async { Ok(Permit::Lent(acquire.await?)) })
    }

    fn keep(&mut self, acquired: Option<Acquired<'a>>, log: &mut Log) {
        log.note("acquired", &acquired.as_ref().map(|got| got.as_ref().map(Permit::count)));
        if let Some(Ok(permit)) = acquired {
            self.held.push(permit);
        }
    }

    fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn | Op::SpendBudget { .. } => {}
            Op::Acquire { count: 1, waker } => {
                let acquire = self.semaphore.acquire();
                let acquired =
                    self.futures.begin(waker, async { Ok(Permit::Lent(acquire.await?)) });
                self.keep(acquired, log);
            }
            Op::Acquire { count, waker } => {
                let acquired = self.acquire(count, waker);
                self.keep(acquired, log);
            }
            Op::AcquireOwned { count, waker } => {
                let acquire = self.semaphore.clone().acquire_many_owned(u32::from(count % 8));
                let acquired = self.futures.begin(waker, async { Ok(Permit::Own(acquire.await?)) });
                self.keep(acquired, log);
            }
            Op::AcquireOften { count } => {
                for _ in 0..30 + count % 16 {
                    let acquired = self.acquire(1, 1);
                    self.keep(acquired, log);
                }
            }
            Op::TryAcquire { count } => {
                let tried = self.semaphore.try_acquire_many(u32::from(count % 8));
                self.keep(Some(tried.map(Permit::Lent).map_err(Refused::from)), log);
            }
            Op::TryAcquireOwned { count } => {
                let tried = self.semaphore.clone().try_acquire_many_owned(u32::from(count % 8));
                self.keep(Some(tried.map(Permit::Own).map_err(Refused::from)), log);
            }
            Op::Poll { which, waker } => {
                let acquired = self.futures.poll(which, waker);
                self.keep(acquired, log);
            }
            Op::GiveUp { which } => log.note("given up", &self.futures.give_up(which)),
            Op::Release { which } => log.note("released", &take(&mut self.held, which).is_some()),
            Op::Forget { which } => {
                take(&mut self.held, which).into_iter().for_each(Permit::forget)
            }
            Op::Add { count } => self.semaphore.add_permits(usize::from(count % 16)),
            Op::ForgetPermits { count } => {
                log.note("forgotten", &self.semaphore.forget_permits(usize::from(count % 16)));
            }
            Op::Close => self.semaphore.close(),
            Op::Split { which, count } => {
                let permit = pick(&mut self.held, which);
                let part = permit.and_then(|permit| permit.split(usize::from(count % 8)));
                log.note("split", &part.as_ref().map(Permit::count));
                self.held.extend(part);
            }
            Op::Merge { which, with } => {
                let Some(mut first) = take(&mut self.held, which) else { return };
                let rest = take(&mut self.held, with).and_then(|second| first.merge(second));
                log.note("merged", &first.count());
                self.held.push(first);
                self.held.extend(rest);
            }
            Op::MergeForeign { which } => {
                let Some(Permit::Own(permit)) = pick(&mut self.held, which) else { return };
                let foreign = Arc::new(Semaphore::new(1)).try_acquire_owned();
                permit.merge(foreign.expect("the semaphore is new"));
            }
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let semaphore = Arc::new(Semaphore::new(usize::from(script.size % 16)));
    let reacting = semaphore.clone();
    wakers::react(move |kind| match kind % 5 {
        0 => reacting.add_permits(1),
        1 => drop(reacting.try_acquire()),
        2 => drop(reacting.forget_permits(1)),
        3 => reacting.close(),
        _ => reacting.try_acquire_many(2).into_iter().for_each(SemaphorePermit::forget),
    });
    let mut run =
        Run { semaphore: &semaphore, futures: PendingFutures::default(), held: Vec::new() };
    drive(script, log, |op, log| {
        run.step(op, log);
        log.note("permits", &(semaphore.available_permits(), semaphore.is_closed()));
        log.note("waiting", &(run.futures.len(), run.held.len()));
        log.note("references", &Arc::strong_count(&semaphore));
    });
    drop(run);
    log.note("permits left", &semaphore.available_permits());
}
