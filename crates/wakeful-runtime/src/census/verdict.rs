//! Finds the actors that cannot go on, and says why.
//!
//! An actor is **hopeless** if it waits, and everything that could wake it is hopeless or gone. The
//! hopeless actors are a greatest fixpoint: all actors, minus those that something can wake
//! (`graph.rs`). What an actor waits for is taken as an OR: a `join!` looks like a `select!`, so an
//! actor counts as hopeless only if each of its leaves is.
//!
//! The fixpoint is computed twice ([`Caution`](graph::Caution)):
//!
//! - **strict**, from facts that hold whatever the program does. An actor whose leaves are not all
//!   known may go on; a guard that can be moved may be anywhere; any actor may send to a channel.
//! - **lenient**, where a guard is with the task that acquired it, and a receiver with the task
//!   that received last. What is hopeless strictly is hopeless here too.
//!
//! The lenient graph explains: each hopeless actor points to one giver, so the pointers end in a
//! cycle or in a dead end, which is the verdict (`cores.rs`). A verdict is
//! [certain](Grade::Certain) if all its actors are hopeless strictly. The other actors that point
//! there are only counted.
//!
//! `facts.rs` adds what needs no graph: blocked workers, spinning and starved tasks, locks that are
//! held across a long wait. They are never certain: the code may return.

use super::snapshot::{Actor, ActorKind, Snapshot};
use super::sort::{Row, sort_by_key};

use std::panic::Location;
use std::time::Duration;
use wakeful_base::waiting::{Leaf, Stack, WaitKind};

mod cores;
mod explain;
mod facts;
mod graph;

pub(crate) use explain::{
    LISTED_MAX, Names, noun, push_actor, push_duration, push_runtime, push_wait,
};

/// An actor that was polled more recently than this may go on. Much longer than a census takes, so
/// that all waiting actors in a verdict were seen to wait at the same time; a passing notification
/// takes microseconds.
pub(crate) const UNCHANGED_MIN: Duration = Duration::from_millis(100);

/// "All asleep" is certain after this time. Longer, because it rests on the count of threads that
/// could do something, which the operating system and the program change at any time.
const ASLEEP_MIN: Duration = Duration::from_millis(300);

/// A lost waker is certain after this time, if another actor waits for the task: a program may end
/// a task that waits for nothing by shutting its runtime down.
const LOST_MIN: Duration = Duration::from_millis(300);

/// A task that no other actor waits for and that has lost its waker, a blocked worker, a starved
/// task, and a lock that is held across a wait are reported after this time.
const LONG: Duration = Duration::from_millis(300);

/// A lock with as many waiters is reported after [`UNCHANGED_MIN`].
const CROWD: usize = 16;

/// The polls of a task that never waits from which on it spins, rather than computes.
const SPIN_POLLS: u64 = 500;

/// Why actors cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum VerdictKind {
    /// A cycle through locks, or through more than one kind of thing.
    Deadlock,
    /// An actor waits for a lock that it holds.
    SelfDeadlock,
    /// A lock was granted to a future that its task does not poll, because the task waits, directly
    /// or not, for the same lock.
    Futurelock,
    /// Tasks wait for the end of each other.
    JoinCycle,
    /// Tasks wait for room in channels whose receivers wait for the same tasks.
    ChannelCycle,
    /// The holders of all permits of a semaphore wait for more of them.
    SemaphoreExhausted,
    /// All permits that are missing were forgotten.
    LeakedPermits,
    /// A task waits, and no waker of it exists.
    LostWaker,
    /// Actors wait for tasks of a runtime or `LocalSet` that no thread drives.
    NotDriven,
    /// Each thread of a blocking pool runs a job that waits for a job in the pool's queue.
    PoolExhausted,
    /// A barrier waits for more parties than can come.
    BarrierShort,
    /// A receiver waits, and its channel's senders belong to actors that cannot send.
    ForgottenSender,
    /// Every actor of the process waits for another one.
    AllAsleep,
    /// Threads do not return from polls.
    BlockedWorker,
    /// A task is polled again and again and never waits.
    SpinningTask,
    /// A task is in a queue for long.
    StarvedTask,
    /// Actors wait for a lock whose holder waits for time, I/O or another process.
    HeldAcrossWait,
}

impl VerdictKind {
    /// The name in dumps and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            VerdictKind::Deadlock => "deadlock",
            VerdictKind::SelfDeadlock => "self-deadlock",
            VerdictKind::Futurelock => "futurelock",
            VerdictKind::JoinCycle => "join cycle",
            VerdictKind::ChannelCycle => "channel cycle",
            VerdictKind::SemaphoreExhausted => "semaphore exhausted",
            VerdictKind::LeakedPermits => "leaked permits",
            VerdictKind::LostWaker => "lost waker",
            VerdictKind::NotDriven => "runtime not driven",
            VerdictKind::PoolExhausted => "blocking pool exhausted",
            VerdictKind::BarrierShort => "barrier short of parties",
            VerdictKind::ForgottenSender => "forgotten sender",
            VerdictKind::AllAsleep => "all asleep",
            VerdictKind::BlockedWorker => "blocked worker",
            VerdictKind::SpinningTask => "spinning task",
            VerdictKind::StarvedTask => "starved task",
            VerdictKind::HeldAcrossWait => "held across a long wait",
        }
    }
}

/// How sure a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Grade {
    /// The actors never go on by themselves.
    Certain,
    /// The actors may go on, for example if a guard was moved to another task.
    Likely,
}

impl Grade {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Grade::Certain => "certain",
            Grade::Likely => "likely",
        }
    }
}

/// An actor of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) id: u64,
    pub(crate) kind: ActorKind,
    pub(crate) site: Option<&'static Location<'static>>,
    /// What it waits for that belongs to the verdict.
    pub(crate) waits: Option<(WaitKind, u64)>,
    /// Where it waits for that, if it was asked.
    pub(crate) stack: Option<Stack>,
}

impl Member {
    fn new(actor: &Actor, why: Why) -> Member {
        let (id, site) = (actor.id, actor.site);
        let mut member = Member { id, kind: actor.kind, site, waits: None, stack: None };
        if let Why::Waits { kind, detail, .. } = why {
            member.waits = Some((kind, detail));
            member.stack = leaf_of(actor, kind, detail).map(|leaf| leaf.stack);
        }
        member
    }
}

/// Returns the leaf at which an actor waits for this.
#[inline(never)]
fn leaf_of(actor: &Actor, kind: WaitKind, detail: u64) -> Option<&Leaf> {
    actor.leaves().iter().find(|leaf| (leaf.kind, leaf.detail) == (kind, detail))
}

/// One reason why actors cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) kind: VerdictKind,
    pub(crate) grade: Grade,
    /// The actors, in the order in which they wait for each other.
    pub(crate) members: Vec<Member>,
    /// The locks, channels and so on, with what the members wait for at them.
    pub(crate) objects: Vec<(WaitKind, u64)>,
    /// How many other actors wait for the members.
    pub(crate) affected: usize,
    /// What is wrong and what to do about it, in one line.
    pub(crate) text: String,
}

impl Verdict {
    /// Returns whether both say the same of the same actors and objects.
    ///
    /// A certain verdict should be found in two censuses before it is reported by itself:
    /// a task that makes progress in the very poll that the census asked for answers with leaves
    /// that it has dropped already.
    pub(crate) fn is_same_as(&self, other: &Verdict) -> bool {
        self.kind == other.kind
            && self.objects == other.objects
            && self.members.len() == other.members.len()
            && self.members.iter().zip(&other.members).all(|(a, b)| a.id == b.id)
    }
}

/// What was found in a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The verdicts: certain ones first, then those that affect most actors.
    pub(crate) verdicts: Vec<Verdict>,
    /// The names that the verdicts' texts use for objects.
    pub(crate) names: Names,
}

/// Finds the reasons why actors of the snapshot cannot go on. Objects that are not in `names` get a
/// name.
pub(crate) fn find(snapshot: &Snapshot, names: Names) -> Findings {
    let index = graph::Index::new(snapshot);
    let mut drafts = cores::find(snapshot, &index);
    facts::find(snapshot, &index, &mut drafts);
    sort_by_key(&mut drafts, |draft| -> Row {
        let verdict = &draft.verdict;
        let actors = verdict.members.len() + verdict.affected;
        let first = verdict.members.first().map_or(0, |member| member.id);
        [verdict.grade as u64, !(actors as u64), verdict.kind as u64, first]
    });
    let mut findings = Findings { verdicts: Vec::with_capacity(drafts.len()), names };
    for draft in drafts {
        let verdict = draft.finish(snapshot, &index, &mut findings.names);
        findings.verdicts.push(verdict);
    }
    findings
}

/// A verdict without its text: names of objects are given out in the order of the sorted verdicts.
struct Draft {
    verdict: Verdict,
    /// The links of the cycle or chain, as indices of actors. One per member, where there are any.
    links: Vec<Link>,
    /// What else the text says.
    extra: Extra,
}

impl Draft {
    /// Begins a draft, of which the links are members.
    #[inline(never)]
    fn new(snapshot: &Snapshot, kind: VerdictKind, links: Vec<Link>, extra: Extra) -> Draft {
        let mut members = Vec::with_capacity(links.len());
        for link in &links {
            members.push(Member::new(&snapshot.actors[link.actor], link.why));
        }
        let (grade, objects, text) = (Grade::Likely, Vec::new(), String::new());
        let verdict = Verdict { kind, grade, members, objects, affected: 0, text };
        Draft { verdict, links, extra }
    }
}

/// What a verdict's text says besides the links.
enum Extra {
    None,
    /// Index of the runtime that is not driven, or whose pool or worker is concerned.
    Runtime(usize),
    /// The semaphore's forgotten permits.
    Forgotten(u64),
    /// How many parties are at a barrier, and how many it needs.
    Parties(u64, u64),
    /// All actors wait, some of them for locks whose holders are not recorded.
    UnknownHolders,
    /// The tasks that do not get a turn.
    Starved(usize),
}

/// Why a member of a verdict waits for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    /// The index of the actor.
    actor: usize,
    why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It waits at an object or for a task.
    Waits {
        kind: WaitKind,
        detail: u64,
        /// The lock was granted to the next member, and it has not polled the future that has it.
        is_granted: bool,
        /// The lock is held. Otherwise a reader is queued behind a writer.
        has_holder: bool,
        has_own_waker: bool,
    },
    /// It runs, and its thread is in the `block_on` of the next member.
    InBlockOn,
    /// No thread drives its runtime.
    NotDriven,
    /// It is in the queue of a blocking pool.
    InPoolQueue,
    /// No waker of it exists.
    NoWaker,
    /// Nothing: it is the end of a chain.
    End,
}

#[cfg(all(test, not(wakeful_loom)))]
pub(super) mod tests;
