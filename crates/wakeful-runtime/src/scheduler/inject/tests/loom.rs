//! Models of producers, consumers and the closing of the queue: each entry is popped once or
//! returned once.

use super::*;
use crate::testing::{Entries, model};
use std::sync::Arc;
use wakeful_base::sync::thread;

/// Pushes an entry, and returns it if the queue was closed.
fn producer(queue: &Arc<InjectionQueue>, entry: Runnable) -> thread::JoinHandle<Vec<Runnable>> {
    let queue = queue.clone();
    thread::spawn(move || Vec::from_iter(queue.push(entry).err().map(|Closed(entry)| entry)))
}

fn consumer(queue: &Arc<InjectionQueue>, limit: usize) -> thread::JoinHandle<Vec<Runnable>> {
    let queue = queue.clone();
    thread::spawn(move || {
        let mut got = Vec::new();
        queue.pop_many(|_| limit, |entry| got.push(entry));
        got
    })
}

fn join_all<const N: usize>(threads: [thread::JoinHandle<Vec<Runnable>>; N]) -> Vec<Runnable> {
    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn producers_race_with_a_consumer_and_close() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        let threads = [
            producer(&queue, made.make()),
            producer(&queue, made.make()),
            consumer(&queue, usize::MAX),
        ];
        let mut got = Vec::new();
        queue.close(|entry| got.push(entry));
        got.extend(join_all(threads));
        assert!(queue.is_empty() && queue.pop().is_none());
        made.assert_all(got);
    });
}

#[test]
fn two_consumers_take_nothing_twice() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        for entry in made.make_many::<2>() {
            queue.push(entry).unwrap();
        }
        let threads =
            [consumer(&queue, 1), consumer(&queue, usize::MAX), producer(&queue, made.make())];
        let mut got = join_all(threads);
        got.extend(std::iter::from_fn(|| queue.pop()));
        assert!(queue.is_empty());
        made.assert_all(got);
    });
}

#[test]
fn one_producers_entries_come_out_in_order() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        let [first, second] = made.make_many();
        let order = [first.id(), second.id()];
        let pushes = queue.clone();
        let producer = thread::spawn(move || {
            pushes.push(first).unwrap();
            pushes.push(second).unwrap();
        });
        let mut got = Vec::from_iter(queue.pop());
        producer.join().unwrap();
        got.extend(std::iter::from_fn(|| queue.pop()));
        assert_eq!(got.iter().map(|entry| entry.id()).collect::<Vec<_>>(), order);
        made.assert_all(got);
    });
}

/// A producer moves the stack to the list, between a consumer, another producer and a close.
#[test]
fn a_transfer_races_with_a_consumer_and_a_producer() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        let entries = made.make_many::<{ TRANSFER_EVERY as usize }>();
        let order = entries.each_ref().map(|entry| entry.id());
        let pushes = queue.clone();
        let transfers = thread::spawn(move || {
            entries.into_iter().for_each(|entry| pushes.push(entry).unwrap());
        });
        let threads = [producer(&queue, made.make()), consumer(&queue, 1)];
        transfers.join().unwrap();
        let mut got = join_all(threads);
        got.extend(std::iter::from_fn(|| queue.pop()));
        assert!(queue.is_empty());
        let in_order = got.iter().map(|entry| entry.id()).filter(|id| order.contains(id));
        assert_eq!(in_order.collect::<Vec<_>>(), order);
        made.assert_all(got);
    });
}

#[test]
fn a_transfer_races_with_a_close() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        let entries = made.make_many::<{ TRANSFER_EVERY as usize }>();
        let pushes = queue.clone();
        let transfers = thread::spawn(move || {
            let refused = entries.into_iter().map(|entry| pushes.push(entry).err());
            refused.flatten().map(|Closed(entry)| entry).collect::<Vec<_>>()
        });
        let mut got = Vec::new();
        queue.close(|entry| got.push(entry));
        got.extend(transfers.join().unwrap());
        assert!(queue.is_empty() && queue.len() == 0);
        made.assert_all(got);
    });
}

/// A queue that has entries never looks empty, whichever thread moves them.
#[test]
fn a_queue_does_not_look_empty_during_a_transfer() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        let [first, second] = made.make_many();
        queue.push(first).unwrap();
        let pushes = queue.clone();
        let transfers = thread::spawn(move || {
            pushes.push(second).unwrap();
            pushes.transfer();
        });
        assert!(!queue.is_empty());
        transfers.join().unwrap();
        assert!(!queue.is_empty());
        made.assert_all(std::iter::from_fn(|| queue.pop()));
    });
}

#[test]
fn len_races_with_a_producer_and_a_consumer() {
    model(|| {
        let (made, queue) = (Entries::new(), Arc::new(InjectionQueue::new()));
        queue.push(made.make()).unwrap();
        let threads = [producer(&queue, made.make()), consumer(&queue, 1)];
        let len = queue.len();
        let mut got = join_all(threads);
        assert!(len <= 2, "{len} entries of two");
        got.extend(std::iter::from_fn(|| queue.pop()));
        made.assert_all(got);
    });
}
