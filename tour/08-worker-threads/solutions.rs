//! Solutions to the exercises of step 8. `SOLUTIONS.md` explains them.
//!
//! A future that holds an `Rc` across an `.await` cannot be spawned:
//!
//! ```compile_fail
//! fn spawn(_: impl Future<Output = ()> + Send + 'static) {}
//!
//! spawn(async {
//!     let cup = std::rc::Rc::new("tea");
//!     std::future::ready(()).await;
//!     println!("{cup}");
//! });
//! ```
//!
//! If it is dropped before the `.await`, it can:
//!
//! ```
//! fn spawn(_: impl Future<Output = ()> + Send + 'static) {}
//!
//! spawn(async {
//!     {
//!         let cup = std::rc::Rc::new("tea");
//!         println!("{cup}");
//!     }
//!     std::future::ready(()).await;
//! });
//! ```
//!
//! 第 8 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。跨 `.await` 持有 `Rc` 的 future 不能 spawn；在 `.await`
//! 之前丢弃就可以。

#[cfg(test)]
use std::collections::VecDeque;

/// The queues of an executor whose workers have one each: which task is next?
#[cfg(test)]
struct Queues {
    global: VecDeque<u32>,
    local: Vec<VecDeque<u32>>,
    /// How many tasks each worker has taken.
    turns: Vec<u32>,
}

/// The global queue goes first once in so many turns. Without that, two tasks that keep waking each
/// other on one worker would keep it from the global queue forever.
#[cfg(test)]
const GLOBAL_INTERVAL: u32 = 8;

#[cfg(test)]
impl Queues {
    fn new(workers: usize) -> Queues {
        let local = vec![VecDeque::new(); workers];
        Queues { global: VecDeque::new(), local, turns: vec![0; workers] }
    }

    fn next(&mut self, worker: usize) -> Option<u32> {
        self.turns[worker] += 1;
        let global_first = self.turns[worker] % GLOBAL_INTERVAL == 0;
        let from_global = if global_first { self.global.pop_front() } else { None };
        from_global
            .or_else(|| self.local[worker].pop_front())
            .or_else(|| self.global.pop_front())
            .or_else(|| self.steal(worker))
    }

    /// Takes half of the first queue of another worker that has any: one to run, the rest to keep.
    /// With one at a time, the thief would be back soon.
    fn steal(&mut self, thief: usize) -> Option<u32> {
        let victim = (0..self.local.len()).find(|&other| !self.local[other].is_empty())?;
        let half = self.local[victim].len().div_ceil(2);
        let mut stolen: VecDeque<u32> = self.local[victim].drain(..half).collect();
        let first = stolen.pop_front();
        self.local[thief].extend(stolen);
        first
    }
}

#[test]
fn a_worker_takes_its_own_tasks_then_global_ones_then_those_of_others() {
    let mut queues = Queues::new(2);
    queues.local[0].extend([1]);
    queues.global.extend([2]);
    queues.local[1].extend([3, 4, 5]);
    let taken: Vec<u32> = (0..3).map_while(|_| queues.next(0)).collect();
    assert_eq!(taken, [1, 2, 3]);
    // Two of the three were stolen; one is left for its owner.
    assert_eq!((queues.next(0), queues.next(1)), (Some(4), Some(5)));
    assert_eq!(queues.next(1), None);
}

#[test]
fn a_worker_with_tasks_of_its_own_still_looks_into_the_global_queue() {
    let mut queues = Queues::new(1);
    queues.global.push_back(100);
    // Each task is woken again as soon as it has run: the local queue never gets empty.
    queues.local[0].extend([1, 2]);
    let turns = (1..).find(|_| {
        let task = queues.next(0).unwrap();
        queues.local[0].push_back(task);
        task == 100
    });
    assert_eq!(turns, Some(GLOBAL_INTERVAL));
}
