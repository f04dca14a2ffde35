use super::*;
use crate::testing::{Entries, stress_time};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use wakeful_base::FastRng;
use wakeful_task::Id;

/// A simple model of the queue.
#[derive(Default)]
struct Model(VecDeque<Id>);

impl Model {
    fn steal_into(&mut self, thief: &mut Model) -> Option<(Id, usize)> {
        let count = self.0.len().div_ceil(2).min(STEAL_MAX);
        thief.0.extend(self.0.drain(..count));
        (count > 0).then(|| (thief.0.pop_back().unwrap(), count))
    }
}

fn id(entry: &Runnable) -> Id {
    entry.id()
}

#[test]
fn behaves_like_a_simple_queue() {
    let made = Entries::new();
    let mut queues = [run_queue(), run_queue()];
    let mut models = [Model::default(), Model::default()];
    let (mut got, mut most) = (Vec::new(), 0);
    let rng = FastRng::from_seed(11);
    for round in 0..20_000 {
        let side = rng.below(2) as usize;
        let (queue, owner) = &mut queues[side];
        let model = &mut models[side];
        // In phases, so that the queue becomes long enough to grow, and empty again.
        let pushes = if round / 2000 % 2 == 0 { 14 } else { 4 };
        match rng.below(20) {
            n if n < pushes => {
                let entry = made.make();
                model.0.push_back(entry.id());
                owner.push(queue, entry);
            }
            17 => {
                let mut many: Vec<_> = (0..rng.below(5)).map(|_| made.make()).collect();
                model.0.extend(many.iter().map(id));
                owner.push_all(queue, &mut many);
            }
            18 | 19 => {
                let [(left, left_owner), (right, right_owner)] = &mut queues;
                let [left_model, right_model] = &mut models;
                let (stolen, expected) = if side == 0 {
                    (right.steal_into(left, left_owner), right_model.steal_into(left_model))
                } else {
                    (left.steal_into(right, right_owner), left_model.steal_into(right_model))
                };
                assert_eq!(stolen.as_ref().map(|(first, count)| (id(first), *count)), expected);
                got.extend(stolen.map(|(first, _)| first));
            }
            _ => {
                let popped = owner.pop(queue);
                assert_eq!(popped.as_ref().map(id), model.0.pop_front());
                got.extend(popped);
            }
        }
        for ((queue, _), model) in queues.iter().zip(&models) {
            assert_eq!(queue.len(), model.0.len());
            assert_eq!(queue.is_empty(), model.0.is_empty());
            most = most.max(queue.len());
        }
    }
    assert!(most > 2 * CAPACITY_MIN, "grew twice: {most} entries");
    for (queue, owner) in &mut queues {
        got.extend(std::iter::from_fn(|| owner.pop(queue)));
    }
    made.assert_all(got);
}

#[test]
fn a_ring_grows_only_when_it_is_full() {
    let made = Entries::new();
    let (queue, mut owner) = run_queue();
    let mut got = Vec::new();
    // Goes round the ring, never with more entries than fit.
    for _ in 0..4 * CAPACITY_MIN {
        owner.push(&queue, made.make());
        got.extend(owner.pop(&queue));
    }
    for _ in 0..CAPACITY_MIN {
        owner.push(&queue, made.make());
    }
    assert_eq!((queue.len(), owner.old_rings.len()), (CAPACITY_MIN, 0));
    owner.push(&queue, made.make());
    assert_eq!((owner.old_rings.len(), owner.ring().slots.len()), (1, 2 * CAPACITY_MIN));
    got.extend(std::iter::from_fn(|| owner.pop(&queue)));
    made.assert_all(got);
}

#[test]
fn a_thief_makes_room_for_all_it_takes() {
    let made = Entries::new();
    let [(victim, mut victim_owner), (own, mut owner)] = [run_queue(), run_queue()];
    for _ in 0..CAPACITY_MIN - 1 {
        owner.push(&own, made.make());
    }
    for _ in 0..4 * STEAL_MAX {
        victim_owner.push(&victim, made.make());
    }
    let (first, count) = victim.steal_into(&own, &mut owner).unwrap();
    assert_eq!((count, own.len()), (STEAL_MAX, CAPACITY_MIN - 1 + STEAL_MAX - 1));
    let mut got = vec![first];
    got.extend(std::iter::from_fn(|| owner.pop(&own)));
    got.extend(std::iter::from_fn(|| victim_owner.pop(&victim)));
    made.assert_all(got);
}

/// Ends the task of an entry. A second time would be a use after free, and end a task that has
/// ended.
fn end_task(entry: Runnable, ended: &AtomicUsize) {
    entry.cancel().complete();
    ended.fetch_add(1, Relaxed);
}

#[test]
fn stress_every_entry_is_taken_once() {
    let made = Entries::new();
    let (queue, mut owner) = run_queue();
    let (queue, ended) = (Arc::new(queue), Arc::new(AtomicUsize::new(0)));
    let stop = Arc::new(AtomicBool::new(false));
    let thief = |_| {
        let (queue, ended, stop) = (queue.clone(), ended.clone(), stop.clone());
        thread::spawn(move || {
            let (own, mut owner) = run_queue();
            let mut steals = 0;
            while !stop.load(Acquire) {
                if let Some((first, _)) = queue.steal_into(&own, &mut owner) {
                    steals += 1;
                    end_task(first, &ended);
                    while let Some(entry) = owner.pop(&own) {
                        end_task(entry, &ended);
                    }
                }
            }
            steals
        })
    };
    let thieves: Vec<_> = (0..3).map(thief).collect();
    let (rng, mut pushed) = (FastRng::from_seed(5), 0);
    let deadline = std::time::Instant::now() + stress_time();
    while std::time::Instant::now() < deadline {
        // Bursts, some of them larger than the ring.
        for _ in 0..1 << rng.below(11) {
            owner.push(&queue, made.make());
            pushed += 1;
        }
        for _ in 0..1 << rng.below(11) {
            let Some(entry) = owner.pop(&queue) else { break };
            end_task(entry, &ended);
        }
    }
    while let Some(entry) = owner.pop(&queue) {
        end_task(entry, &ended);
    }
    stop.store(true, Release);
    let steals: usize = thieves.into_iter().map(|thief| thief.join().unwrap()).sum();
    assert!(
        pushed > 10_000 && steals > 100,
        "{pushed} entries and {steals} steals: too few for a stress test"
    );
    assert_eq!(ended.load(Relaxed), pushed);
    made.assert_none_left();
}
