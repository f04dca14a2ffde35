//! Tasks that are ready to run, in two queues: `woken` for tasks woken by the driver or a timer,
//! `fifo` for all others. So a task that was woken does not wait behind a long `fifo` queue.
//!
//! 1. While both queues have tasks, they alternate.
//! 2. A task in `woken` never runs later than it would with a single FIFO queue: it also goes
//!    before every task that was queued in `fifo` after it. Alternation alone would not ensure
//!    this: if some tasks compute for long and are queued again and again, each task in `woken`
//!    would wait for one of them.
//!
//! No task starves. A task in `fifo` waits for the tasks before it, for as many tasks from `woken`,
//! and for those that were put into `woken` before it was queued.

use std::collections::VecDeque;

/// The tasks that are ready to run, in two queues.
pub(super) struct ReadyTasks<T> {
    fifo: VecDeque<T>,
    woken: VecDeque<WokenTask<T>>,
    /// How many tasks were popped from `fifo`, ever.
    fifo_popped: u64,
    last_was_woken: bool,
}

struct WokenTask<T> {
    task: T,
    /// How many tasks were pushed to `fifo` before this one was woken, ever.
    queued_before: u64,
}

impl<T> ReadyTasks<T> {
    pub(super) fn new() -> ReadyTasks<T> {
        ReadyTasks {
            fifo: VecDeque::with_capacity(64),
            woken: VecDeque::new(),
            fifo_popped: 0,
            last_was_woken: false,
        }
    }

    /// Returns the tasks, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.fifo.iter().chain(self.woken.iter().map(|woken| &woken.task))
    }

    /// Returns the number of tasks.
    pub(super) fn len(&self) -> usize {
        self.woken.len() + self.fifo.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fifo.is_empty() && self.woken.is_empty()
    }

    pub(super) fn is_fifo_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    pub(super) fn push(&mut self, task: T) {
        self.fifo.push_back(task);
    }

    pub(super) fn extend(&mut self, tasks: impl IntoIterator<Item = T>) {
        self.fifo.extend(tasks);
    }

    /// Queues a task that the driver or a timer has woken.
    pub(super) fn push_woken(&mut self, task: T) {
        let queued_before = self.fifo_popped + self.fifo.len() as u64;
        self.woken.push_back(WokenTask { task, queued_before });
    }

    /// Takes the next task to run.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        match self.woken.front() {
            Some(first) => {
                let is_older = first.queued_before <= self.fifo_popped;
                self.pop_alternating(is_older)
            }
            None => self.pop_fifo(),
        }
    }

    fn pop_alternating(&mut self, is_woken_older: bool) -> Option<T> {
        self.last_was_woken = is_woken_older || !self.last_was_woken;
        if self.last_was_woken {
            self.woken.pop_front().map(|woken| woken.task)
        } else {
            self.pop_fifo()
        }
    }

    fn pop_fifo(&mut self) -> Option<T> {
        let task = self.fifo.pop_front()?;
        self.fifo_popped += 1;
        Some(task)
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;
    use wakeful_base::rng::FastRng;

    #[test]
    fn the_two_queues_alternate() {
        let mut ready = ReadyTasks::new();
        ready.extend(["a", "b", "c"]);
        ready.push_woken("x");
        ready.push_woken("y");
        let order: Vec<_> = std::iter::from_fn(|| ready.pop()).collect();
        assert_eq!(order, ["x", "a", "y", "b", "c"]);
    }

    #[test]
    fn a_requeued_task_does_not_overtake_tasks_woken_before() {
        let mut ready = ReadyTasks::new();
        ready.push("blocks");
        (0..9).for_each(|_| ready.push_woken("ticks"));
        assert_eq!(ready.pop(), Some("ticks"));
        assert_eq!(ready.pop(), Some("blocks"));
        ready.push("blocks");
        (0..8).for_each(|_| assert_eq!(ready.pop(), Some("ticks")));
        assert_eq!(ready.pop(), Some("blocks"));
        assert!(ready.is_empty());
    }

    /// Checks the two rules of the module's documentation in random runs.
    #[test]
    fn woken_tasks_are_never_late_and_no_task_starves() {
        #[derive(Clone, Copy, PartialEq)]
        enum QueuedTask {
            Fifo(u32),
            Woken(u32),
        }

        let rng = FastRng::from_entropy();
        let seed = rng.next_u64();
        rng.reseed(seed);
        let (mut ready, mut by_age) = (ReadyTasks::new(), Vec::new());
        let mut consecutive_overtakes = 0;
        for number in 0..100_000 {
            // Phases in which the queues grow and phases in which they shrink.
            let pushes = if number / 100 % 2 == 0 { 3 } else { 1 };
            if rng.below(4) < pushes {
                let task = if rng.below(2) == 0 {
                    QueuedTask::Fifo(number)
                } else {
                    QueuedTask::Woken(number)
                };
                match task {
                    QueuedTask::Fifo(_) => ready.push(task),
                    QueuedTask::Woken(_) => ready.push_woken(task),
                }
                by_age.push(task);
                continue;
            }
            assert_eq!(ready.is_empty(), by_age.is_empty());
            let Some(task) = ready.pop() else { continue };
            let age = by_age.iter().position(|&other| other == task).expect("popped once");
            let overtaken = &by_age[..age];
            if let QueuedTask::Fifo(_) = task {
                assert!(
                    overtaken.is_empty(),
                    "a woken task would run later than with one queue, seed {seed}"
                );
            }
            assert!(
                overtaken.iter().all(|task| matches!(task, QueuedTask::Fifo(_))),
                "seed {seed}"
            );
            consecutive_overtakes =
                if overtaken.is_empty() { 0 } else { consecutive_overtakes + 1 };
            assert!(consecutive_overtakes <= 1, "the queues do not alternate, seed {seed}");
            by_age.remove(age);
        }
    }
}
