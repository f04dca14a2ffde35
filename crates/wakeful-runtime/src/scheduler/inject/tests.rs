use super::*;
use crate::testing::{Entries, stress_time};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use wakeful_base::FastRng;
use wakeful_task::Id;

fn ids(entries: &[Runnable]) -> Vec<Id> {
    entries.iter().map(|entry| entry.id()).collect()
}

#[test]
fn entries_come_out_in_order_of_arrival() {
    let (made, queue) = (Entries::new(), InjectionQueue::new());
    let (mut model, mut got) = (VecDeque::new(), Vec::new());
    let rng = FastRng::from_seed(7);
    for _ in 0..2000 {
        match rng.below(4) {
            0 | 1 => {
                let entry = made.make();
                model.push_back(entry.id());
                queue.push(entry).unwrap();
            }
            2 => {
                let popped = queue.pop();
                assert_eq!(popped.as_ref().map(|entry| entry.id()), model.pop_front());
                got.extend(popped);
            }
            _ => {
                let (before, limit) = (got.len(), rng.below(5) as usize);
                queue.pop_many(|len| len.min(limit), |entry| got.push(entry));
                let popped = ids(&got[before..]);
                assert!(popped.len() <= limit);
                assert_eq!(popped, model.drain(..popped.len()).collect::<Vec<_>>());
            }
        }
        assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
    }
    queue.close(|entry| got.push(entry));
    made.assert_all(got);
}

#[test]
fn the_limit_gets_the_length_of_the_list() {
    let (made, queue) = (Entries::new(), InjectionQueue::new());
    for entry in made.make_many::<5>() {
        queue.push(entry).unwrap();
    }
    let mut got = Vec::new();
    let half = |len| {
        assert_eq!(len, 5);
        len / 2
    };
    queue.pop_many(half, |entry| got.push(entry));
    assert_eq!((got.len(), queue.len()), (2, 3));
    queue.pop_many(|_| usize::MAX, |entry| got.push(entry));
    assert!(queue.is_empty());
    made.assert_all(got);
}

/// Returns the number of entries that no thread has moved to the list yet.
fn stack_len(queue: &InjectionQueue) -> u32 {
    let (mut len, mut at) = (0, queue.stack.load(Acquire));
    while let Some(task) = TaskRef::new(at) {
        len += 1;
        // SAFETY: the test's only thread has pushed the entries and pops none meanwhile.
        at = unsafe { task.as_ref() }.queue_next().load(Relaxed);
    }
    len
}

/// A consumer after a burst of pushes does not walk all entries while it holds the lock.
#[test]
fn a_burst_leaves_few_entries_to_move() {
    let (made, queue) = (Entries::new(), InjectionQueue::new());
    for pushed in 1..=10_000 {
        queue.push(made.make()).unwrap();
        assert!(stack_len(&queue) < TRANSFER_EVERY, "after {pushed} pushes");
    }
    let mut got = Vec::new();
    queue.pop_many(|_| 10, |entry| got.push(entry));
    assert_eq!((got.len(), queue.len()), (10, 9990));
    assert_eq!(stack_len(&queue), 0, "they are counted once");
    queue.pop_many(|_| usize::MAX, |entry| got.push(entry));
    let order = ids(&got);
    assert!(order.is_sorted(), "first in, first out");
    made.assert_all(got);
}

#[test]
fn a_producer_that_finds_the_lock_taken_moves_the_stack_later() {
    let (made, queue) = (Entries::new(), InjectionQueue::new());
    let consumer = queue.fifo.lock();
    for _ in 0..2 * TRANSFER_EVERY {
        queue.push(made.make()).unwrap();
    }
    assert_eq!(stack_len(&queue), 2 * TRANSFER_EVERY);
    drop(consumer);
    queue.push(made.make()).unwrap();
    assert_eq!(stack_len(&queue), 0);
    made.assert_all(std::iter::from_fn(|| queue.pop()));
}

#[test]
fn a_closed_queue_gives_entries_back() {
    let (made, queue) = (Entries::new(), InjectionQueue::new());
    let [first, second, third] = made.make_many();
    let in_queue = [first.id(), second.id()];
    let mut got = Vec::new();
    for entry in [first, second] {
        queue.push(entry).unwrap();
    }
    // Some entries are in the list already, one is still in the stack.
    queue.pop_many(|_| 0, |_| unreachable!("the limit is zero"));
    queue.close(|entry| got.push(entry));
    assert_eq!(ids(&got), in_queue);
    let Err(Closed(back)) = queue.push(third) else { panic!("a closed queue accepted an entry") };
    got.push(back);
    assert_eq!(queue.len(), 0);
    assert!(queue.is_empty() && queue.pop().is_none());
    queue.close(|_| unreachable!("the queue is closed and empty"));
    made.assert_all(got);
}

#[test]
fn stress_every_entry_comes_out_once() {
    const PRODUCERS: usize = 3;
    const IN_QUEUE_MAX: usize = 500;
    let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
    let (in_queue, popped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let closed = Arc::new(AtomicBool::new(false));
    let producer = |_| {
        let (made, queue, in_queue) = (made.clone(), queue.clone(), in_queue.clone());
        thread::spawn(move || {
            loop {
                while in_queue.load(Relaxed) > IN_QUEUE_MAX {
                    thread::yield_now();
                }
                in_queue.fetch_add(1, Relaxed);
                if let Err(Closed(back)) = queue.push(made.make()) {
                    return back;
                }
            }
        })
    };
    let consumer = |odd: usize| {
        let (queue, closed) = (queue.clone(), closed.clone());
        let (in_queue, popped) = (in_queue.clone(), popped.clone());
        thread::spawn(move || {
            while !closed.load(Acquire) {
                queue.pop_many(
                    |len| len / 2 + odd,
                    |entry| {
                        // A second time would be a use after free, and end a task that has ended.
                        entry.cancel().complete();
                        popped.fetch_add(1, Relaxed);
                        in_queue.fetch_sub(1, Relaxed);
                    },
                );
                assert!(queue.len() <= IN_QUEUE_MAX + PRODUCERS);
            }
        })
    };
    let producers: Vec<_> = (0..PRODUCERS).map(producer).collect();
    let consumers: Vec<_> = (0..2).map(consumer).collect();
    thread::sleep(stress_time());
    let mut left = Vec::new();
    queue.close(|entry| left.push(entry));
    // After the close no consumer takes entries, and waiting producers may go on.
    in_queue.store(0, Relaxed);
    closed.store(true, Release);
    left.extend(producers.into_iter().map(|producer| producer.join().unwrap()));
    for consumer in consumers {
        consumer.join().unwrap();
    }
    let popped = popped.load(Relaxed);
    assert!(popped > 1000, "{popped} entries: too few for a stress test");
    for entry in left {
        entry.cancel().complete();
    }
    made.assert_none_left();
}
