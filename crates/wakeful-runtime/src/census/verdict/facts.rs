//! Finds what is wrong without a graph: blocked workers, tasks that spin or starve, locks that are
//! held across a long wait, and blocking pools whose jobs last.
//!
//! All of these may end by themselves, so none is certain.

use super::graph::{Index, Node};
use super::{
    CROWD, Draft, Extra, Grade, LONG, Link, Member, SPIN_POLLS, UNCHANGED_MIN, Verdict,
    VerdictKind, Why,
};
use crate::census::snapshot::{Actor, ActorKind, ActorState, Flavor, Snapshot};
use crate::census::sort::sort_by_key;
use wakeful_base::waiting::WaitKind;

pub(super) fn find(snapshot: &Snapshot, index: &Index, drafts: &mut Vec<Draft>) {
    blocked_workers(snapshot, index, drafts);
    turns(snapshot, drafts);
    long_holds(snapshot, index, drafts);
    full_pools(snapshot, drafts);
}

fn draft(snapshot: &Snapshot, kind: VerdictKind, links: Vec<Link>, extra: Extra) -> Draft {
    let actor = |link: &Link| &snapshot.actors[link.actor];
    let members = links.iter().map(|link| Member::new(actor(link), link.why)).collect();
    let grade = Grade::Likely;
    let (objects, text) = (Vec::new(), String::new());
    let verdict = Verdict { kind, grade, members, objects, affected: 0, text };
    Draft { verdict, links, extra }
}

/// Whether an earlier verdict has this actor in it.
fn is_explained(drafts: &[Draft], actor: usize) -> bool {
    drafts.iter().any(|draft| draft.links.iter().any(|link| link.actor == actor))
}

fn end(actor: Node) -> Link {
    Link { actor: actor as usize, why: Why::End }
}

fn blocked_workers(snapshot: &Snapshot, index: &Index, drafts: &mut Vec<Draft>) {
    for (at, runtime) in snapshot.runtimes.iter().enumerate() {
        let workers = || snapshot.workers.iter().filter(|worker| worker.runtime == runtime.id);
        let stuck = || workers().filter(|w| w.stuck_for.is_some_and(|time| time >= LONG));
        if stuck().next().is_none() {
            continue;
        }
        let tasks = stuck().filter_map(|worker| worker.task.and_then(|task| index.actor(task)));
        let mut links: Vec<Link> = tasks.map(end).collect();
        // Which of the workers a task is on says nothing, and varies.
        links.sort_by_key(|link| snapshot.actors[link.actor].id);
        if !links.is_empty() && links.iter().all(|link| is_explained(drafts, link.actor)) {
            continue;
        }
        let mut draft = draft(snapshot, VerdictKind::BlockedWorker, links, Extra::Runtime(at));
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
        let by_id = |link: &Link| snapshot.actors[link.actor].id;
        sort_by_key(&mut spinning, by_id);
        sort_by_key(&mut starved, by_id);
        if !spinning.is_empty() {
            let extra = Extra::Starved(starved.len());
            let affected = starved.len();
            let mut draft = draft(snapshot, VerdictKind::SpinningTask, spinning, extra);
            draft.verdict.affected = affected;
            drafts.push(draft);
        } else if !starved.is_empty() {
            drafts.push(draft(snapshot, VerdictKind::StarvedTask, starved, Extra::Runtime(at)));
        }
    }
}

/// What a waiting actor waits for, if that is only time, I/O, a signal or a process.
fn outside_wait(actor: &Actor) -> Option<(WaitKind, u64)> {
    use WaitKind::*;
    let is_outside = |kind: WaitKind| matches!(kind, Time | IoRead | IoWrite | Signal | Process);
    if actor.state != ActorState::Waiting {
        return None;
    }
    let waits = match &actor.leaves {
        Some(answer) => {
            let leaf = answer.leaves.first()?;
            let are_outside = answer.leaves.iter().all(|leaf| is_outside(leaf.kind));
            are_outside.then_some((leaf.kind, leaf.detail))
        }
        None => actor.last.map(|last| (last.kind, last.detail)),
    };
    waits.filter(|waits| is_outside(waits.0))
}

fn long_holds(snapshot: &Snapshot, index: &Index, drafts: &mut Vec<Draft>) {
    // Holder, kind, lock, waiter.
    let mut waits: Vec<(Node, WaitKind, u64, Node, bool)> = Vec::new();
    for (waiter, actor) in (0..).zip(&snapshot.actors) {
        if actor.state != ActorState::Waiting {
            continue;
        }
        for leaf in actor.leaves.iter().flat_map(|answer| &answer.leaves) {
            let Some(held) = &leaf.details.holder else { continue };
            let Some(holder) = index.holder(held).filter(|holder| *holder != waiter) else {
                continue;
            };
            if outside_wait(&snapshot.actors[holder as usize]).is_some() {
                waits.push((holder, leaf.kind, leaf.detail, waiter, held.is_granted));
            }
        }
    }
    sort_by_key(&mut waits, |wait| (wait.0, wait.2, wait.3));
    for same in waits.chunk_by(|a, b| (a.0, a.2) == (b.0, b.2)) {
        let (holder, kind, lock, _, is_granted) = same[0];
        let actor = &snapshot.actors[holder as usize];
        let times = same.iter().map(|wait| snapshot.actors[wait.3 as usize].unchanged_for);
        // The time of the longest wait. The holder has to have waited for as long.
        let waited = times.max().unwrap_or_default().min(actor.unchanged_for);
        if waited < if same.len() >= CROWD { UNCHANGED_MIN } else { LONG } {
            continue;
        }
        let Some((waits_for, detail)) = outside_wait(actor) else { continue };
        let why = Why::Waits {
            kind: waits_for,
            detail,
            is_granted,
            has_holder: true,
            has_own_waker: true,
        };
        let link = Link { actor: holder as usize, why };
        let mut draft = draft(snapshot, VerdictKind::HeldAcrossWait, vec![link], Extra::None);
        draft.verdict.objects.push((kind, lock));
        // Of those that wait alike, only some were asked.
        let unasked = snapshot.actors.iter().filter(|actor| {
            let last = actor.last.filter(|_| actor.leaves.is_none());
            last.is_some_and(|last| (last.kind, last.detail) == (kind, lock))
        });
        draft.verdict.affected = same.len() + unasked.count();
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
        let jobs = || {
            (0..).zip(&snapshot.actors).filter(|(_, actor)| {
                actor.kind == ActorKind::BlockingJob
                    && actor.runtime == runtime.id
                    && actor.state != ActorState::Queued
            })
        };
        let are_long = jobs().all(|(_, job)| job.unchanged_for >= LONG);
        if drafts.iter().any(is_explained) || !are_long || jobs().next().is_none() {
            continue;
        }
        let mut links: Vec<Link> = jobs().map(|(node, _)| end(node)).collect();
        sort_by_key(&mut links, |link| snapshot.actors[link.actor].id);
        let mut draft = draft(snapshot, VerdictKind::PoolExhausted, links, Extra::Runtime(at));
        draft.verdict.affected = blocking.queued;
        drafts.push(draft);
    }
}
