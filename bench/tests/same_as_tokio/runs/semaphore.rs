use super::subject::sync::{AcquireError, Semaphore, SemaphorePermit};
use crate::support::{Line, Log, Random, shown};

type Acquired = Result<SemaphorePermit<'static>, AcquireError>;

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let semaphore: &'static Semaphore = Box::leak(Box::new(Semaphore::new(random.below(4))));
    let (mut line, mut held): (Line<Acquired>, Vec<SemaphorePermit>) = (Line::new(), Vec::new());
    let step = |id| {
        let mut keep = |acquired: Option<Acquired>| {
            let outcome = shown(&acquired.as_ref().map(|acquired| acquired.is_ok()));
            held.extend(acquired.and_then(Result::ok));
            outcome
        };
        let outcome = match random.below(13) {
            0 | 1 => keep(line.begin(id, semaphore.acquire_many(random.below(4) as u32))),
            2 | 3 => keep(line.poll_one(&mut random)),
            4 => {
                let tried = semaphore.try_acquire_many(random.below(4) as u32);
                let outcome = shown(&tried.as_ref().map(SemaphorePermit::num_permits));
                held.extend(tried.ok());
                outcome
            }
            5 => shown(&line.give_up_one(&mut random)),
            6 | 7 => shown(&random.take(&mut held).map(drop)),
            8 => shown(&random.take(&mut held).map(SemaphorePermit::forget)),
            9 => shown(&semaphore.add_permits(random.below(3))),
            10 => shown(&semaphore.forget_permits(random.below(3))),
            11 if random.one_in(6) => shown(&semaphore.close()),
            12 => {
                let n = random.below(3);
                let part = random.pick(&mut held).and_then(|permit| permit.split(n));
                let outcome = shown(&part.as_ref().map(SemaphorePermit::num_permits));
                held.extend(part);
                if let (true, Some(mut first)) = (held.len() > 1, held.pop()) {
                    held.pop().into_iter().for_each(|second| first.merge(second));
                    held.push(first);
                }
                outcome
            }
            _ => String::new(),
        };
        let (permits, closed) = (semaphore.available_permits(), semaphore.is_closed());
        format!("{outcome} | {permits} {closed} [{}]", line.woken())
    };
    (0..80).map(step).collect()
}
