//! Finds what is wrong without a graph: blocked workers, tasks that spin or starve, locks that are
//! held across a long wait, and blocking pools whose jobs last.
//!
//! All of these may end by themselves, so none is certain.

use super::graph::{Index, Node};
use super::{CROWD, Draft, Extra, LONG, Link, SPIN_POLLS, UNCHANGED_MIN, VerdictKind, Why};
use crate::census::snapshot::{Actor, ActorKind, ActorState, Flavor, Snapshot};
use crate::census::sort::{Row, sort_by_key, sort_rows};
use std::time::Duration;
use wakeful_base::waiting::WaitKind;

pub(super) fn find(snapshot: &Snapshot, index: &Index, drafts: &mut Vec<Draft>) {
    blocked_workers(snapshot, index, drafts);
    turns(snapshot, drafts);
    long_holds(snapshot, index, drafts);
    full_pools(snapshot, drafts);
}

/// Whether an earlier verdict has this actor in it.
fn is_explained(drafts: &[Draft], actor: usize) -> bool {
    drafts.iter().any(|draft| draft.links.iter().any(|link| link.actor == actor))
}

fn end(actor: Node) -> Link {
    Link { actor: actor as usize, why: Why::End }
}

/// Sorts links by the ids of their actors.
#[inline(never)]
fn sort_links(snapshot: &Snapshot, links: &mut [Link]) {
    sort_by_key(links, |link| snapshot.actors[link.actor].id);
}

fn blocked_workers(snapshot: &Snapshot, index: &Index, drafts: &mut Vec<Draft>) {
    for (at, runtime) in snapshot.runtimes.iter().enumerate() {
        let mut links = Vec::new();
        let mut has_stuck = false;
        for worker in snapshot.workers.iter().filter(|worker| worker.runtime == runtime.id) {
            if worker.stuck_for.is_some_and(|time| time >= LONG) {
                has_stuck = true;
                if let Some(task) = worker.task.and_then(|task| index.actor(task)) {
                    links.push(end(task));
                }
            }
        }
        if !has_stuck {
            continue;
        }
        // Which of the workers a task is on says nothing, and varies.
        sort_links(snapshot, &mut links);
        if !links.is_empty() && links.iter().all(|link| is_explained(drafts, link.actor)) {
            continue;
        }
        let mut draft = Draft::new(snapshot, VerdictKind::BlockedWorker, links, Extra::Runtime(at));
        let is_behind =
            |actor: &&Actor| actor.runtime == runtime.id && actor.state == ActorState::Queued;
        draft.verdict.affected = snapshot.actors.iter().filter(is_behind).count();
        drafts.push(draft);
    }
}

/// Finds tasks that never wait, and tasks that get no turn.
fn turns(snapshot: &Snapshot, drafts: &mut Vec<Draft>) {
    for (at, runtime) in snapshot.runtimes.iter().enumerate() {
        // A worker that does not return from a poll explains the tasks behind it.
        let is_stuck = snapshot.workers.iter().any(|worker| {
            worker.runtime == runtime.id && worker.stuck_for.is_some_and(|t| t >= UNCHANGED_MIN)
        });
        let is_at_rest = !runtime.is_driven && runtime.flavor != Flavor::MultiThread;
        if is_stuck || is_at_rest {
            continue;
        }
        let (mut spinning, mut starved) = (Vec::new(), Vec::new());
        for (node, actor) in (0..).zip(&snapshot.actors) {
            if actor.runtime != runtime.id || actor.kind == ActorKind::BlockingJob {
                continue;
            }
            if actor.busy_for >= UNCHANGED_MIN && actor.polls >= SPIN_POLLS {
                spinning.push(end(node));
            }
            if actor.state == ActorState::Queued && actor.unchanged_for >= LONG {
                starved.push(end(node));
            }
        }
        sort_links(snapshot, &mut spinning);
        sort_links(snapshot, &mut starved);
        if !spinning.is_empty() {
            let extra = Extra::Starved(starved.len());
            let affected = starved.len();
            let mut draft = Draft::new(snapshot, VerdictKind::SpinningTask, spinning, extra);
            draft.verdict.affected = affected;
            drafts.push(draft);
        } else if !starved.is_empty() {
            drafts.push(Draft::new(
                snapshot,
                VerdictKind::StarvedTask,
                starved,
                Extra::Runtime(at),
            ));
        }
    }
}

/// What a waiting actor waits for, if that is only time, I/O, a signal or a process.
#[inline(never)]
fn outside_wait(actor: &Actor) -> Option<(WaitKind, u64)> {
    use WaitKind::*;
    let is_outside = |kind: WaitKind| matches!(kind, Time | IoRead | IoWrite | Signal | Process);
    if actor.state != ActorState::Waiting {
        return None;
    }
    let waits = if actor.leaves.is_some() {
        let leaf = actor.leaves().first()?;
        (leaf.kind, leaf.detail)
    } else {
        actor.last()?
    };
    let are_outside = actor.leaves().iter().all(|leaf| is_outside(leaf.kind));
    (are_outside && is_outside(waits.0)).then_some(waits)
}

fn long_holds(snapshot: &Snapshot, index: &Index, drafts: &mut Vec<Draft>) {
    // Holder, lock, waiter, and the number of the waiter's leaf.
    let mut waits: Vec<Row> = Vec::new();
    for (waiter, actor) in (0..).zip(&snapshot.actors) {
        if actor.state != ActorState::Waiting {
            continue;
        }
        for (number, leaf) in (0..).zip(actor.leaves()) {
            let Some(held) = &leaf.details.holder else { continue };
            let Some(holder) = index.holder(held) else { continue };
            if holder != waiter && outside_wait(&snapshot.actors[holder as usize]).is_some() {
                waits.push([holder.into(), leaf.detail, waiter.into(), number]);
            }
        }
    }
    sort_rows(&mut waits);
    for same in waits.chunk_by(|a, b| a[..2] == b[..2]) {
        let [holder, lock, waiter, leaf] = same[0];
        let actor = &snapshot.actors[holder as usize];
        // The time of the longest wait. The holder has to have waited for as long.
        let mut waited = Duration::ZERO;
        for wait in same {
            waited = waited.max(snapshot.actors[wait[2] as usize].unchanged_for);
        }
        let limit = if same.len() >= CROWD { UNCHANGED_MIN } else { LONG };
        if waited.min(actor.unchanged_for) < limit {
            continue;
        }
        let Some((waits_for, detail)) = outside_wait(actor) else { continue };
        let leaf = &snapshot.actors[waiter as usize].leaves()[leaf as usize];
        let kind = leaf.kind;
        let why = Why::Waits {
            kind: waits_for,
            detail,
            is_granted: leaf.details.holder.is_some_and(|holder| holder.is_granted),
            has_holder: true,
            has_own_waker: true,
        };
        let link = Link { actor: holder as usize, why };
        let mut draft = Draft::new(snapshot, VerdictKind::HeldAcrossWait, vec![link], Extra::None);
        draft.verdict.objects.push((kind, lock));
        // Of those that wait alike, only some were asked.
        draft.verdict.affected = same.len();
        for actor in snapshot.actors.iter().filter(|actor| actor.leaves.is_none()) {
            draft.verdict.affected += usize::from(actor.last() == Some((kind, lock)));
        }
        drafts.push(draft);
    }
}

fn full_pools(snapshot: &Snapshot, drafts: &mut Vec<Draft>) {
    for (at, runtime) in snapshot.runtimes.iter().enumerate() {
        let blocking = runtime.blocking;
        if blocking.queued == 0 || blocking.busy < blocking.threads_max {
            continue;
        }
        let is_explained = |draft: &Draft| {
            draft.verdict.kind == VerdictKind::PoolExhausted
                && matches!(draft.extra, Extra::Runtime(other) if other == at)
        };
        let (mut links, mut are_long) = (Vec::new(), true);
        for (node, actor) in (0..).zip(&snapshot.actors) {
            if actor.kind == ActorKind::BlockingJob
                && actor.runtime == runtime.id
                && actor.state != ActorState::Queued
            {
                links.push(end(node));
                are_long &= actor.unchanged_for >= LONG;
            }
        }
        if drafts.iter().any(is_explained) || !are_long || links.is_empty() {
            continue;
        }
        sort_links(snapshot, &mut links);
        let mut draft = Draft::new(snapshot, VerdictKind::PoolExhausted, links, Extra::Runtime(at));
        draft.verdict.affected = blocking.queued;
        drafts.push(draft);
    }
}
