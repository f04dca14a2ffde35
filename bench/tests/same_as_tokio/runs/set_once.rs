use super::subject::sync::SetOnce;
use crate::support::{Line, Log, Random, shown};

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let cell: &'static SetOnce<usize> = Box::leak(Box::new(SetOnce::new()));
    let mut line = Line::new();
    let step = |id| {
        let outcome = match random.below(5) {
            0 | 1 => shown(&line.begin(id, cell.wait())),
            2 => shown(&line.poll_one(&mut random)),
            3 => shown(&line.give_up_one(&mut random)),
            _ => shown(&random.one_in(3).then(|| cell.set(id))),
        };
        format!("{outcome} | {cell:?} {} [{}]", cell.initialized(), line.woken())
    };
    (0..20).map(step).collect()
}
