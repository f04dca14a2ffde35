use super::subject::sync::{Notify, OnceCell};
use crate::support::{Line, Log, Random, shown};

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let cell: &'static OnceCell<usize> = Box::leak(Box::new(OnceCell::new()));
    let is_made: &'static Notify = Box::leak(Box::new(Notify::new()));
    let mut line = Line::new();
    let step = |id| {
        let outcome = match random.below(7) {
            0 | 1 => {
                let fails = !random.one_in(3);
                shown(&line.begin(
                    id,
                    cell.get_or_try_init(move || async move {
                        is_made.notified().await;
                        if fails { Err(id) } else { Ok(id) }
                    }),
                ))
            }
            2 | 3 => shown(&line.poll_one(&mut random)),
            4 => shown(&random.one_in(2).then(|| line.give_up_one(&mut random))),
            5 => shown(&is_made.notify_one()),
            _ => shown(&random.one_in(4).then(|| cell.set(id))),
        };
        format!("{outcome} | {cell:?} {} [{}]", cell.initialized(), line.is_woken())
    };
    (0..40).map(step).collect()
}
