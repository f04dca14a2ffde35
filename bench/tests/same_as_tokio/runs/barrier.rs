use super::subject::sync::Barrier;
use crate::support::{Line, Log, Random, shown};

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let barrier: &'static Barrier = Box::leak(Box::new(Barrier::new(random.below(4))));
    let mut line = Line::new();
    let step = |id| {
        let leads = match random.below(5) {
            0..=2 => line.begin(id, async { barrier.wait().await.is_leader() }),
            3 => line.poll_one(&mut random),
            _ => {
                if random.one_in(3) {
                    line.give_up_one(&mut random);
                }
                None
            }
        };
        format!("{} | [{}]", shown(&leads), line.is_woken())
    };
    (0..40).map(step).collect()
}
