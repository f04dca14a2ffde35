//! The fixpoint on random snapshots, against a slow one that is written down differently.

use super::builder::*;
use crate::census::snapshot::*;
use crate::census::verdict::graph::{Caution, Graph, Index};
use crate::census::verdict::{Grade, Names, Verdict, VerdictKind, find};
use std::time::Duration;
use wakeful_base::waiting::{Holder, Leaf, WaitKind};

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

fn random_leaf(random: &mut Random, actors: u64) -> Leaf {
    let other = 1 + random.below(actors + 1);
    let object = A + random.below(3);
    let holder = Some(Holder {
        id_low: if random.chance(10) { 0 } else { other as u32 },
        is_thread: random.chance(10),
        is_granted: random.chance(20),
        is_owned: random.chance(20),
    });
    let mut leaf = match random.below(12) {
        0 | 1 => join(other),
        2 | 3 => with(leaf(WaitKind::Mutex, object), |it| it.holder = holder),
        4 => {
            with(leaf(WaitKind::RwLockRead, object), |it| it.holder = holder.filter(|h| h.is_owned))
        }
        5 => leaf(WaitKind::RwLockWrite, object),
        6 => permits(object, 1 + random.below(2)),
        7 => send(object, other),
        8 => receive(object, 1),
        9 => leaf(WaitKind::Notify, object),
        10 if random.chance(20) => time(),
        10 => join(other),
        _ => with(leaf(WaitKind::Mutex, object), |it| it.holder = Some(held_by(other))),
    };
    leaf.has_own_waker = !random.chance(5);
    leaf.details.waiting = Some(1 + random.below(3));
    leaf
}

fn random_snapshot(random: &mut Random) -> Snapshot {
    let count = 1 + random.below(8);
    let mut actors = Vec::new();
    for id in 1..=count {
        let mut actor = match random.below(12) {
            0 => running(id),
            1 => queued(id),
            _ => {
                let first = random_leaf(random, count);
                match random.chance(25) {
                    true => task(id, [first, random_leaf(random, count)]),
                    false => task(id, [first]),
                }
            }
        };
        if random.chance(5) {
            actor.wakers = actor.wakers.map(|wakers| wakers + 1);
        }
        if random.chance(5) {
            actor.wakers = None;
        }
        if random.chance(5) {
            actor.unchanged_for = Duration::from_millis(10);
        }
        if random.chance(20) {
            actor = local(actor);
        }
        actors.push(actor);
    }
    let mut snapshot = match random.chance(50) {
        true => world(actors),
        false => {
            let mut permits = Vec::new();
            for _ in 0..random.below(4) {
                let by = random.below(count + 2);
                let mut held = held(A + random.below(3), by, 1);
                held.is_forgotten = random.chance(20);
                held.may_have_moved = random.chance(20);
                permits.push(held);
            }
            watched(actors, permits)
        }
    };
    let mut set = runtime(SET, Flavor::LocalSet);
    set.is_driven = random.chance(50);
    snapshot.runtimes.push(set);
    if random.chance(20) {
        snapshot.runtimes[0].flavor = Flavor::CurrentThread;
        snapshot.runtimes[0].is_driven = random.chance(50);
    }
    snapshot.user_threads = usize::from(random.chance(20));
    snapshot
}

/// The hopeless actors, by repeated passes over all of them.
fn naive(snapshot: &Snapshot, caution: Caution) -> Vec<bool> {
    let strict = caution == Caution::Strict;
    let at = |id: u64| snapshot.actors.iter().position(|actor| actor.id == id);
    let mut hopeless = vec![true; snapshot.actors.len()];
    loop {
        let any = snapshot.user_threads > 0 || hopeless.iter().any(|hopeless| !hopeless);
        let may_wake = |id: u64| at(id).is_some_and(|at| !hopeless[at]);
        let drives = |runtime: u64| {
            let runtime = snapshot.runtimes.iter().find(|other| other.id == runtime).unwrap();
            let is_lenient_rest = runtime.flavor == Flavor::CurrentThread && !strict;
            match runtime.flavor {
                Flavor::MultiThread => true,
                _ if runtime.is_driven => true,
                _ => any && !is_lenient_rest,
            }
        };
        let permits = |object: u64| {
            let held = snapshot.holdings.permits.iter().filter(move |held| held.object == object);
            held.clone().next().map(|_| {
                held.clone().any(|held| match (held.is_forgotten, at(held.by)) {
                    (true, _) => strict && any,
                    (false, None) => any,
                    (false, Some(_)) if held.may_have_moved && strict => any,
                    (false, Some(_)) => may_wake(held.by),
                })
            })
        };
        let leaves = || {
            let of = |actor: &'_ Actor| actor.leaves.clone().map_or(Vec::new(), |it| it.leaves);
            let all = snapshot.actors.iter().map(move |actor| (actor.id, of(actor)));
            all.flat_map(|(id, leaves)| leaves.into_iter().map(move |leaf| (id, leaf)))
        };
        let gets_more = |object: u64| {
            leaves().any(|(id, leaf)| {
                (leaf.kind, leaf.detail) == (WaitKind::Semaphore, object)
                    && leaf.details.wanted != Some(1)
                    && may_wake(id)
            })
        };
        let behind_writers = |object: u64| {
            let queued =
                leaves().filter(|(_, leaf)| leaf.detail == object && leaf.details.holder.is_none());
            let queued: Vec<_> = queued.collect();
            let writers = queued.iter().filter(|(_, leaf)| leaf.kind == WaitKind::RwLockWrite);
            let is_known = |(_, leaf): &(u64, Leaf)| {
                leaf.details.waiting.is_some_and(|count| count <= queued.len() as u64)
            };
            let is_sure = !strict || queued.iter().all(is_known);
            let is_clear = writers.clone().count() > 0 && is_sure;
            writers.clone().any(|(id, _)| may_wake(*id)) || any && !is_clear
        };
        let gives = |leaf: &Leaf| -> (bool, bool) {
            let specific = |may: bool| (may, false);
            match leaf.kind {
                WaitKind::Time => specific(true),
                WaitKind::Task => specific(at(leaf.detail).is_none() || may_wake(leaf.detail)),
                WaitKind::MpscSend if !strict => {
                    match leaf.details.receiver.filter(|id| at(*id).is_some()) {
                        Some(receiver) => specific(may_wake(receiver)),
                        None => (any, true),
                    }
                }
                _ => match leaf.details.holder {
                    Some(holder) if holder.is_owned && strict => (any, true),
                    Some(holder) if holder.is_thread => (any, true),
                    Some(holder) => match at(u64::from(holder.id_low)) {
                        Some(_) => specific(may_wake(u64::from(holder.id_low))),
                        None => (any, true),
                    },
                    None if leaf.kind == WaitKind::RwLockRead => {
                        specific(behind_writers(leaf.detail))
                    }
                    None => {
                        let counts = leaf.kind == WaitKind::RwLockWrite
                            || leaf.kind == WaitKind::Semaphore && !strict;
                        match permits(leaf.detail).filter(|_| counts) {
                            Some(may) => specific(may || gets_more(leaf.detail)),
                            None => (any, true),
                        }
                    }
                },
            }
        };
        let may_go_on = |actor: &Actor| {
            let is_driven = drives(actor.runtime);
            if actor.state == ActorState::Running {
                return true;
            }
            if actor.unchanged_for < Duration::from_millis(100) {
                return is_driven;
            }
            if actor.state == ActorState::Queued {
                return is_driven;
            }
            if actor.wakers == Some(0) {
                return false;
            }
            let leaves = &actor.leaves.as_ref().unwrap().leaves;
            let own = leaves.iter().filter(|leaf| leaf.has_own_waker).count();
            let is_exact = own > 0 && actor.wakers == Some(own);
            if strict && !is_exact || own == 0 && actor.wakers.is_none() {
                return is_driven;
            }
            let unknown = !is_exact && actor.wakers.is_some_and(|wakers| wakers > own.max(1));
            let wakes = |leaf: &Leaf| {
                let (may, from_any) = gives(leaf);
                may || from_any && unknown
            };
            is_driven && leaves.iter().any(wakes)
        };
        let next: Vec<bool> = snapshot
            .actors
            .iter()
            .zip(&hopeless)
            .map(|(actor, was)| *was && !may_go_on(actor))
            .collect();
        if next == hopeless {
            return hopeless;
        }
        hopeless = next;
    }
}

fn fast(snapshot: &Snapshot, caution: Caution) -> Vec<bool> {
    let index = Index::new(snapshot);
    let graph = Graph::new(snapshot, &index, caution);
    (0..snapshot.actors.len() as u32).map(|node| graph.is_hopeless(node)).collect()
}

#[test]
fn agrees_with_the_naive_fixpoint() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut hopeless, mut all) = (0, 0);
    for round in 0..20_000 {
        let snapshot = random_snapshot(&mut random);
        let strict = fast(&snapshot, Caution::Strict);
        let lenient = fast(&snapshot, Caution::Lenient);
        assert_eq!(strict, naive(&snapshot, Caution::Strict), "round {round}: {snapshot:#?}");
        assert_eq!(lenient, naive(&snapshot, Caution::Lenient), "round {round}: {snapshot:#?}");
        for (strict, lenient) in strict.iter().zip(&lenient) {
            assert!(!strict || *lenient, "round {round}: {snapshot:#?}");
        }
        hopeless += strict.iter().filter(|hopeless| **hopeless).count();
        all += strict.len();
    }
    // Neither is rare.
    assert!(hopeless > all / 10 && hopeless < all / 2, "{hopeless} of {all}");
}

#[test]
fn no_verdict_on_actors_that_a_running_one_could_wake() {
    let mut random = Random(0xd1b5_4a32_d192_ed03);
    for round in 0..20_000 {
        let mut snapshot = random_snapshot(&mut random);
        // Each actor also waits for a task that runs.
        for actor in &mut snapshot.actors {
            actor.runtime = RUNTIME;
            actor.kind = ActorKind::Task;
            if let Some(answer) = &mut actor.leaves {
                answer.leaves.push(join(100));
                actor.wakers = actor.wakers.map(|wakers| wakers + 1);
            }
        }
        snapshot.actors.push(running(100));
        snapshot.runtimes[0] = runtime(RUNTIME, Flavor::MultiThread);
        let found = find(&snapshot, Names::default()).verdicts;
        let lost = |kind| kind == VerdictKind::LostWaker;
        assert!(found.iter().all(|verdict| lost(verdict.kind)), "round {round}: {found:#?}");
    }
}

#[test]
fn a_certain_verdict_has_strictly_hopeless_members_only() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut certain = 0;
    for round in 0..20_000 {
        let snapshot = random_snapshot(&mut random);
        let strict = fast(&snapshot, Caution::Strict);
        for verdict in find(&snapshot, Names::default()).verdicts {
            assert!(!verdict.text.is_empty());
            if verdict.grade == Grade::Certain {
                certain += 1;
                for member in &verdict.members {
                    let at = snapshot.actors.iter().position(|actor| actor.id == member.id);
                    assert!(strict[at.unwrap()], "round {round}: {verdict:#?} {snapshot:#?}");
                }
            }
        }
    }
    assert!(certain > 1_000, "{certain}");
}

#[test]
fn equal_snapshots_in_another_order_give_equal_verdicts() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..5_000 {
        let snapshot = random_snapshot(&mut random);
        let mut reversed = snapshot.clone();
        reversed.actors.reverse();
        let summary = |snapshot: &Snapshot| {
            let verdicts = find(snapshot, Names::default()).verdicts;
            let ids = |v: &Verdict| v.members.iter().map(|member| member.id).collect::<Vec<_>>();
            verdicts.iter().map(|v| (v.grade, v.kind, ids(v), v.affected)).collect::<Vec<_>>()
        };
        assert_eq!(summary(&snapshot), summary(&reversed), "{snapshot:#?}");
    }
}
