//! Builds snapshots.

use crate::census::snapshot::*;
use crate::census::verdict::{Findings, Grade, LONG, Names, VerdictKind, find};
use std::time::Duration;
use wakeful_base::threads::THREAD_ID;
use wakeful_base::waiting::{Holder, Leaf, LeafDetails, Leaves, Stack, WaitKind};

/// The id of the thread that runs `main`.
pub(crate) const MAIN: u64 = THREAD_ID | 1;
/// The kernel's id of it.
pub(crate) const MAIN_OS: u32 = 100;

/// Addresses of locks and channels.
pub(crate) const A: u64 = 0xa0;
pub(crate) const B: u64 = 0xb0;
pub(crate) const C: u64 = 0xc0;

/// The runtime that all tasks belong to.
pub(crate) const RUNTIME: u64 = 1;
/// A `LocalSet`.
pub(crate) const SET: u64 = 2;

pub(crate) fn runtime(id: u64, flavor: Flavor) -> RuntimeState {
    RuntimeState {
        id,
        name: None,
        flavor,
        is_driven: true,
        thread: None,
        queued: 0,
        blocking: BlockingState { busy: 0, threads_max: 512, queued: 0 },
    }
}

fn actor(id: u64, kind: ActorKind, state: ActorState) -> Actor {
    Actor {
        id,
        kind,
        runtime: RUNTIME,
        site: None,
        type_name: "",
        state,
        last: None,
        unchanged_for: Duration::from_secs(5),
        leaves: None,
        wakers: Some(0),
        has_join_handle: true,
        polls: 0,
        busy_for: Duration::ZERO,
        thread: None,
        name: None,
        record: None,
        age: None,
    }
}

/// A task that waits, with one waker per leaf.
pub(crate) fn task<const N: usize>(id: u64, leaves: [Leaf; N]) -> Actor {
    Actor {
        wakers: Some(leaves.iter().filter(|leaf| leaf.has_own_waker).count()),
        leaves: Some(Leaves { leaves: leaves.to_vec(), is_truncated: false }),
        ..actor(id, ActorKind::Task, ActorState::Waiting)
    }
}

/// The main thread, which waits in `block_on`.
pub(crate) fn main_waits<const N: usize>(leaves: [Leaf; N]) -> Actor {
    Actor {
        kind: ActorKind::Thread { job: None },
        thread: Some((MAIN_OS, "main".into())),
        ..task(MAIN, leaves)
    }
}

pub(crate) fn running(id: u64) -> Actor {
    Actor {
        thread: Some((200, "worker".into())),
        ..actor(id, ActorKind::Task, ActorState::Running)
    }
}

/// A task that has been in a queue for less than what counts as starved.
pub(crate) fn queued(id: u64) -> Actor {
    let unchanged_for = LONG - Duration::from_millis(1);
    Actor { unchanged_for, ..actor(id, ActorKind::Task, ActorState::Queued) }
}

pub(crate) fn job(id: u64, state: ActorState) -> Actor {
    actor(id, ActorKind::BlockingJob, state)
}

/// A task of the set.
pub(crate) fn local(actor: Actor) -> Actor {
    Actor { kind: ActorKind::LocalTask, runtime: SET, ..actor }
}

pub(crate) fn leaf(kind: WaitKind, detail: u64) -> Leaf {
    let stack = Stack::capture();
    Leaf { kind, detail, has_own_waker: true, details: LeafDetails::default(), stack }
}

/// Changes the details of a leaf.
pub(crate) fn with(mut leaf: Leaf, change: impl FnOnce(&mut LeafDetails)) -> Leaf {
    change(&mut leaf.details);
    leaf
}

pub(crate) fn held_by(id: u64) -> Holder {
    let is_thread = id & THREAD_ID != 0;
    Holder { id_low: id as u32, is_thread, is_granted: false, is_owned: false }
}

/// A leaf that waits for a mutex.
pub(crate) fn mutex(address: u64, holder: u64) -> Leaf {
    with(leaf(WaitKind::Mutex, address), |it| it.holder = Some(held_by(holder)))
}

pub(crate) fn granted(address: u64, to: u64) -> Leaf {
    with(leaf(WaitKind::Mutex, address), |it| {
        it.holder = Some(Holder { is_granted: true, ..held_by(to) });
    })
}

pub(crate) fn join(id: u64) -> Leaf {
    leaf(WaitKind::Task, id)
}

pub(crate) fn send(address: u64, receiver: u64) -> Leaf {
    with(leaf(WaitKind::MpscSend, address), |it| {
        (it.receiver, it.available, it.limit) = (Some(receiver), Some(0), Some(1));
    })
}

pub(crate) fn receive(address: u64, senders: u64) -> Leaf {
    with(leaf(WaitKind::MpscRecv, address), |it| it.senders = Some(senders))
}

pub(crate) fn permits(address: u64, wanted: u64) -> Leaf {
    with(leaf(WaitKind::Semaphore, address), |it| {
        (it.wanted, it.available) = (Some(wanted), Some(0));
    })
}

pub(crate) fn time() -> Leaf {
    leaf(WaitKind::Time, 1_000_000)
}

pub(crate) fn held(object: u64, by: u64, count: u64) -> HeldPermits {
    HeldPermits { object, by, count, is_forgotten: false, may_have_moved: false }
}

/// A process with one multi-thread runtime, and no thread but `main`, which is in `block_on`.
pub(crate) fn world(actors: Vec<Actor>) -> Snapshot {
    Snapshot {
        runtimes: vec![runtime(RUNTIME, Flavor::MultiThread)],
        actors,
        took: Duration::from_millis(500),
        ..Snapshot::default()
    }
}

/// The same, watched from the start.
pub(crate) fn watched(actors: Vec<Actor>, permits: Vec<HeldPermits>) -> Snapshot {
    let refilled = Some(Vec::new());
    let holdings = Holdings { are_complete: true, permits, refilled, ..Holdings::default() };
    Snapshot { holdings, ..world(actors) }
}

/// What a test expects of a verdict: its kind, grade, members, and how many more are affected.
pub(crate) type Expected<'a> = (VerdictKind, Grade, &'a [u64], usize);

#[track_caller]
pub(crate) fn assert_found(snapshot: &Snapshot, expected: &[Expected<'_>]) -> Findings {
    let findings = find(snapshot, Names::default());
    let found: Vec<(VerdictKind, Grade, Vec<u64>, usize)> = findings
        .verdicts
        .iter()
        .map(|v| (v.kind, v.grade, v.members.iter().map(|m| m.id).collect(), v.affected))
        .collect();
    let expected: Vec<_> = expected.iter().map(|e| (e.0, e.1, e.2.to_vec(), e.3)).collect();
    assert_eq!(found, expected, "{findings:#?}");
    findings
}

#[track_caller]
pub(crate) fn assert_nothing(snapshot: &Snapshot) {
    assert_found(snapshot, &[]);
}
