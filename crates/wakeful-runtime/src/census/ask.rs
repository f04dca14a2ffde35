//! Asks actors that wait for their leaves.

use super::collect::{Ask, Observer, Patience};
use super::snapshot::{Actor, ActorKind, ActorState, Flavor, Snapshot};
use super::sort::{Row, sort_numbers, sort_rows};
use super::walk::{LOOK_INTERVAL, Walk};
use std::mem::take;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::threads::{self, BlockOn, ThreadRecord};
use wakeful_base::waiting::{self, Asking, Leaves, WaitKind, Waits};
use wakeful_task::Phase;

/// The limit on asked actors. Each costs a poll and a stack, some 10 µs.
const ASKED_MAX: usize = 2000;

/// The limit on asked actors that were spawned at the same place and wait for the same thing.
const ASKED_PER_GROUP_MAX: usize = 16;

impl Observer {
    /// Asks actors that have stood still, and adds their leaves to the snapshot.
    pub(super) fn ask(
        &mut self,
        snapshot: &mut Snapshot,
        walk: &Walk,
        which: Ask<'_>,
        patience: Patience,
    ) {
        let chosen = choose(snapshot, which);
        if chosen.is_empty() {
            return;
        }
        let asking = Asking::begin();
        drop(waiting::take_answers());
        for found in &walk.tasks {
            if is_chosen(&chosen, found.id()) {
                found.task.ask();
            }
        }
        let mut records = threads::all();
        records.retain(|record| is_chosen(&chosen, record.slot().id()));
        for record in &records {
            record.ask();
        }
        let mut answers = Vec::new();
        let until = Instant::now() + patience.answers;
        while answers.len() < chosen.len() && Instant::now() < until {
            thread::sleep(LOOK_INTERVAL);
            answers.append(&mut waiting::take_answers());
            for record in &records {
                if let Some(leaves) = record.take_answer() {
                    answers.push((record.slot().id(), leaves));
                }
            }
        }
        drop(asking);
        self.refresh(snapshot, walk, &records, &chosen, &answers);
        for (id, leaves) in &mut answers {
            let Some(actor) = actor_mut(snapshot, *id) else { continue };
            if actor.state == ActorState::Waiting {
                if let Some(seen) = self.seen_mut(*id) {
                    seen.answer = Some(leaves.clone());
                }
                actor.leaves = Some(take(leaves));
            } else if which == Ask::Moving {
                snapshot.passing.push((*id, take(leaves)));
            }
        }
    }

    /// Takes the state of asked actors anew: an answer may have let one go on.
    fn refresh(
        &mut self,
        snapshot: &mut Snapshot,
        walk: &Walk,
        records: &[Arc<ThreadRecord>],
        chosen: &[u64],
        answers: &[(u64, Leaves)],
    ) {
        let now = Instant::now();
        for found in &walk.tasks {
            if is_chosen(chosen, found.id()) {
                let is_idle = found.task.phase() == Phase::Idle;
                let wakers = Some(found.wakers());
                let waits = found.task.slot().look().filter(|_| is_idle);
                self.refresh_actor(snapshot, found.id(), waits, wakers, now, answers);
            }
        }
        for record in records {
            let is_idle = record.block_on() == BlockOn::Pending;
            let wakers = record.wakers();
            let waits = record.slot().look().filter(|_| is_idle);
            self.refresh_actor(snapshot, record.slot().id(), waits, wakers, now, answers);
        }
    }

    /// Notes what an asked actor waits for now, if it does.
    fn refresh_actor(
        &mut self,
        snapshot: &mut Snapshot,
        id: u64,
        waits: Option<Waits>,
        wakers: Option<usize>,
        now: Instant,
        answers: &[(u64, Leaves)],
    ) {
        let Some(actor) = actor_mut(snapshot, id) else { return };
        actor.leaves = None;
        let Some(waits) = waits else {
            actor.state = ActorState::Queued;
            actor.unchanged_for = Duration::ZERO;
            return;
        };
        (actor.last, actor.wakers) = (Some(waits), wakers);
        let Some(seen) = self.seen_mut(id) else { return };
        // The poll that was asked for does not count, if it has changed nothing. With several
        // leaves another one may be the last: `join!` and `select!` change the order.
        let answer = answers.iter().find(|answer| answer.0 == id);
        let leaves = answer.map_or(&[][..], |answer| &answer.1.leaves);
        let last = (waits.kind, waits.detail);
        if seen.last != last && !leaves.iter().any(|it| (it.kind, it.detail) == seen.last) {
            seen.since = now;
        }
        seen.last = last;
        seen.answer = None;
        actor.unchanged_for = now - seen.since;
    }
}

fn is_chosen(chosen: &[u64], id: u64) -> bool {
    chosen.binary_search(&id).is_ok()
}

fn actor_mut(snapshot: &mut Snapshot, id: u64) -> Option<&mut Actor> {
    let at = snapshot.actors.binary_search_by_key(&id, |actor| actor.id).ok()?;
    snapshot.actors.get_mut(at)
}

/// Returns the ids of the actors to ask, sorted.
fn choose(snapshot: &Snapshot, which: Ask<'_>) -> Vec<u64> {
    let mut suspects: Vec<Row> = Vec::new();
    for actor in &snapshot.actors {
        let has_waited = actor.state == ActorState::Waiting && actor.unchanged_for > Duration::ZERO;
        let is_wanted = match which {
            Ask::None => false,
            Ask::Suspects => has_waited && actor.leaves.is_none() && waits_for_others(actor),
            Ask::These(ids) => has_waited && ids.contains(&actor.id),
            Ask::All | Ask::Spread(_) => has_waited,
            Ask::Moving => true,
        };
        // A task without a waker has lost it. A poll might set it going, and hide that.
        let may_be_polled = actor.state != ActorState::Waiting || actor.wakers != Some(0);
        if is_wanted && may_be_polled && can_be_polled(snapshot, actor) {
            let [site, kind, detail] = group_of(actor);
            suspects.push([site, kind, detail, actor.id]);
        }
    }
    if let Ask::Spread(limit) = which {
        // In the order of the ids, as the actors are.
        let (len, limit) = (suspects.len(), limit.min(suspects.len()));
        return (0..limit).map(|at| suspects[at * len / limit][3]).collect();
    }
    sort_rows(&mut suspects);
    let mut chosen = Vec::new();
    let (mut group, mut in_group) = ([0; 3], 0);
    for [site, kind, detail, id] in suspects {
        if group != [site, kind, detail] {
            (group, in_group) = ([site, kind, detail], 0);
        }
        in_group += 1;
        if in_group <= ASKED_PER_GROUP_MAX && chosen.len() < ASKED_MAX {
            chosen.push(id);
        }
    }
    sort_numbers(&mut chosen);
    chosen
}

/// Returns whether some thread would poll an actor that was woken.
fn can_be_polled(snapshot: &Snapshot, actor: &Actor) -> bool {
    let runtime = snapshot.runtimes.iter().find(|runtime| runtime.id == actor.runtime);
    let Some(runtime) = runtime else { return actor.kind != ActorKind::BlockingJob };
    // Its only thread does not return from a poll.
    let is_stuck = runtime.flavor == Flavor::CurrentThread
        && snapshot.workers.iter().any(|worker| worker.runtime == runtime.id);
    match actor.kind {
        ActorKind::Thread { .. } => !is_stuck,
        ActorKind::BlockingJob => false,
        ActorKind::Task | ActorKind::LocalTask => !is_stuck && runtime.is_driven,
    }
}

/// Returns whether an actor waits for something that other tasks have to do.
fn waits_for_others(actor: &Actor) -> bool {
    use WaitKind::*;
    let Some(last) = actor.last else { return true };
    !matches!(last.kind, Time | IoRead | IoWrite | Signal | Process)
}

/// Actors of the same group wait at the same place of the program for the same thing.
fn group_of(actor: &Actor) -> [u64; 3] {
    let site = actor.site.map_or(0, |site| std::ptr::from_ref(site).addr());
    let (kind, detail) = actor.last().unwrap_or((WaitKind::Unknown, 0));
    // Each deadline is another.
    let detail = if kind == WaitKind::Time { 0 } else { detail };
    [site as u64, kind as u64, detail]
}
