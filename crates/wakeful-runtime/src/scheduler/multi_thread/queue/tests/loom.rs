//! Models of the owner and thieves. Under loom the rings are small, with two slots at first, and a
//! thief takes at most two entries.

use super::*;
use crate::testing::{Entries, model};
use std::sync::Arc;
use wakeful_base::sync::thread;

/// Starts a thread that steals up to `times`, and empties its own queue each time.
fn thief(victim: Arc<RunQueue>, times: usize) -> thread::JoinHandle<Vec<Runnable>> {
    thread::spawn(move || {
        let (own, mut owner) = run_queue();
        let mut got = Vec::new();
        for _ in 0..times {
            let stolen = victim.steal_into(&own, &mut owner);
            got.extend(stolen.map(|(first, _)| first));
            got.extend(std::iter::from_fn(|| owner.pop(&own)));
        }
        got
    })
}

fn queue_of<const N: usize>(entries: [Runnable; N]) -> (Arc<RunQueue>, QueueOwner) {
    let (queue, mut owner) = run_queue();
    for entry in entries {
        owner.push(&queue, entry);
    }
    (Arc::new(queue), owner)
}

/// Checks that the owner and the `threads` have taken all entries, each once.
fn assert_each_taken_once<const N: usize>(
    made: Arc<Entries>,
    (queue, mut owner): (Arc<RunQueue>, QueueOwner),
    mut got: Vec<Runnable>,
    threads: [thread::JoinHandle<Vec<Runnable>>; N],
) {
    for thread in threads {
        got.extend(thread.join().unwrap());
    }
    got.extend(std::iter::from_fn(|| owner.pop(&queue)));
    assert!(queue.is_empty());
    made.assert_all(got);
}

#[test]
fn owner_and_thief_take_each_entry_once() {
    model(|| {
        let made = Entries::new();
        let (queue, mut owner) = queue_of(made.make_many::<2>());
        let thieves = [thief(queue.clone(), 1)];
        let mut got = Vec::from_iter(owner.pop(&queue));
        owner.push(&queue, made.make());
        got.extend(owner.pop(&queue));
        assert_each_taken_once(made, (queue, owner), got, thieves);
    });
}

#[test]
fn owner_and_two_thieves_take_each_entry_once() {
    model(|| {
        let made = Entries::new();
        let (queue, mut owner) = queue_of(made.make_many::<3>());
        let thieves = [thief(queue.clone(), 1), thief(queue.clone(), 1)];
        let got = Vec::from_iter(owner.pop(&queue));
        assert_each_taken_once(made, (queue, owner), got, thieves);
    });
}

#[test]
fn a_thief_reads_while_the_ring_grows() {
    model(|| {
        let made = Entries::new();
        let (queue, mut owner) = queue_of(made.make_many::<2>());
        let thieves = [thief(queue.clone(), 2)];
        owner.push(&queue, made.make());
        owner.push(&queue, made.make());
        assert_each_taken_once(made, (queue, owner), Vec::new(), thieves);
    });
}

#[test]
fn a_thief_reads_while_slots_are_reused() {
    model(|| {
        let made = Entries::new();
        let (queue, mut owner) = queue_of(made.make_many::<2>());
        let thieves = [thief(queue.clone(), 1)];
        let mut got = Vec::new();
        // The ring has two slots: each push goes to a slot that the thief may still be reading.
        for _ in 0..2 {
            got.extend(owner.pop(&queue));
            owner.push(&queue, made.make());
        }
        assert!(owner.old_rings.len() <= 1, "at most two entries besides the ones taken");
        assert_each_taken_once(made, (queue, owner), got, thieves);
    });
}

#[test]
fn a_thief_is_stolen_from() {
    model(|| {
        let made = Entries::new();
        let (queue, owner) = queue_of(made.make_many::<3>());
        let (middle, mut middle_owner) = run_queue();
        let middle = Arc::new(middle);
        let thieves = [thief(middle.clone(), 1)];
        let first = queue.steal_into(&middle, &mut middle_owner);
        let mut got = Vec::from_iter(first.map(|(first, _)| first));
        got.extend(middle_owner.pop(&middle));
        let [rest] = thieves.map(|thief| thief.join().unwrap());
        got.extend(rest);
        got.extend(std::iter::from_fn(|| middle_owner.pop(&middle)));
        assert_each_taken_once(made, (queue, owner), got, []);
    });
}
