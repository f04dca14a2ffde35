//! Finds what keeps hopeless actors from going on: a cycle, or a dead end.

use super::graph::{Caution, Graph, Index, LAST_NOTE, NO_LEAF, NONE, Node};
use super::{
    ASLEEP_MIN, Draft, Extra, Grade, LONG, LOST_MIN, Link, UNCHANGED_MIN, Verdict, VerdictKind,
    Why, leaf_of,
};
use crate::census::snapshot::{ActorState, Snapshot};
use crate::census::sort::{Row, sort_rows};
use std::time::Duration;
use wakeful_base::waiting::{LeafDetails, WaitKind};

/// What the pointers from some hopeless nodes end in.
struct Core {
    /// The nodes of the cycle, or the single node of a dead end.
    nodes: Vec<Node>,
    is_cycle: bool,
    /// The hopeless actors that point here, and are not in the cycle.
    affected: Vec<Node>,
}

/// Follows from each hopeless actor the pointer to one giver, until they end.
struct Pointers<'a> {
    snapshot: &'a Snapshot,
    index: &'a Index,
    strict: Graph<'a>,
    graph: Graph<'a>,
    /// The giver that each hopeless node points to, or `NONE`, and the leaf that explains it.
    next: Vec<(Node, u32)>,
}

pub(super) fn find(snapshot: &Snapshot, index: &Index) -> Vec<Draft> {
    let pointers = Pointers::new(snapshot, index);
    let cores = pointers.cores();
    let mut drafts = Vec::new();
    let mut asleep = None;
    for core in &cores {
        if core.nodes == [pointers.graph.any()] {
            asleep = Some(core);
        } else {
            drafts.extend(pointers.describe(core));
        }
    }
    // Those that wait for any actor wait for the actors of the other verdicts too. A task that has
    // lost its waker explains nothing, if no actor waits for it: it may be meant to wait forever.
    let is_explained = drafts.iter().any(|draft: &Draft| {
        draft.verdict.kind != VerdictKind::LostWaker || draft.verdict.affected > 0
    });
    if let (Some(core), false) = (asleep, is_explained) {
        drafts.extend(pointers.describe_asleep(core));
    }
    drafts
}

impl<'a> Pointers<'a> {
    fn new(snapshot: &'a Snapshot, index: &'a Index) -> Pointers<'a> {
        let strict = Graph::new(snapshot, index, Caution::Strict);
        let graph = Graph::new(snapshot, index, Caution::Lenient);
        let mut next = vec![(NONE, NO_LEAF); graph.nodes()];
        let any = graph.any();
        for edge in &graph.edges {
            // An actor that something may wake, but no thread polls, waits for the driver only.
            if !graph.is_hopeless(edge.waiter) || !graph.is_hopeless(edge.giver) {
                continue;
            }
            let place = &mut next[edge.waiter as usize];
            // A specific giver says more than any actor. After that the order of the polls counts.
            let id = |node: Node| snapshot.actors.get(node as usize).map(|actor| actor.id);
            let rank = |giver: Node, leaf: u32| (giver == any, leaf, id(giver), giver);
            if place.0 == NONE || rank(edge.giver, edge.leaf) < rank(place.0, place.1) {
                *place = (edge.giver, edge.leaf);
            }
        }
        // "Any" ends each search. The wake node of an actor has the actor's leaves.
        next[any as usize] = (NONE, NO_LEAF);
        let wakes = graph.wakes();
        for actor in 0..snapshot.actors.len() {
            if next[actor].0 != NONE && next[actor].0 >= wakes {
                next[actor] = next[next[actor].0 as usize];
            }
        }
        Pointers { snapshot, index, strict, graph, next }
    }

    fn actors(&self) -> Node {
        self.snapshot.actors.len() as Node
    }

    fn id(&self, node: Node) -> u64 {
        self.snapshot.actors[node as usize].id
    }

    fn cores(&self) -> Vec<Core> {
        const UNSEEN: u32 = u32::MAX;
        const ON_PATH: u32 = u32::MAX - 1;

        let mut cores: Vec<Core> = Vec::new();
        let mut core_of = vec![UNSEEN; self.graph.nodes()];
        let mut path = Vec::new();
        // In the order of ids, so that equal snapshots give equal verdicts.
        let mut actors: Vec<Row> = Vec::new();
        for node in 0..self.actors() {
            if self.graph.is_hopeless(node) {
                actors.push([self.id(node), node.into(), 0, 0]);
            }
        }
        sort_rows(&mut actors);
        for [_, first, ..] in actors {
            let first = first as Node;
            path.clear();
            let mut node = first;
            let core = loop {
                match core_of[node as usize] {
                    UNSEEN => {}
                    ON_PATH => {
                        let start = path.iter().position(|other| *other == node).unwrap_or(0);
                        let nodes = path.split_off(start);
                        break self.add_core(&mut cores, &mut core_of, nodes, true);
                    }
                    core => break core,
                }
                core_of[node as usize] = ON_PATH;
                path.push(node);
                let next = self.next[node as usize].0;
                if next == NONE {
                    path.pop();
                    break self.add_core(&mut cores, &mut core_of, vec![node], false);
                }
                node = next;
            };
            for node in &path {
                core_of[*node as usize] = core;
                if *node < self.actors() {
                    cores[core as usize].affected.push(*node);
                }
            }
        }
        cores
    }

    fn add_core(
        &self,
        cores: &mut Vec<Core>,
        core_of: &mut [u32],
        mut nodes: Vec<Node>,
        is_cycle: bool,
    ) -> u32 {
        let number = cores.len() as u32;
        for node in &nodes {
            core_of[*node as usize] = number;
        }
        // A cycle begins at its lowest id.
        let key = |node: &Node| if *node < self.actors() { self.id(*node) } else { u64::MAX };
        let first = (0..nodes.len()).min_by_key(|at| key(&nodes[*at])).unwrap_or(0);
        let mut rest = nodes.split_off(first);
        rest.append(&mut nodes);
        cores.push(Core { nodes: rest, is_cycle, affected: Vec::new() });
        number
    }

    /// Why an actor waits for the node that it points to.
    #[inline(never)]
    fn why(&self, node: Node) -> Why {
        let actor = &self.snapshot.actors[node as usize];
        let (next, leaf) = self.next[node as usize];
        if next == NONE {
            return Why::NoWaker;
        }
        if leaf == NO_LEAF && self.is_drive(next) {
            return Why::NotDriven;
        }
        let answer = actor.leaves.as_ref();
        match leaf {
            NO_LEAF if next < self.actors() => Why::InBlockOn,
            NO_LEAF => Why::InPoolQueue,
            LAST_NOTE => {
                let (kind, detail) =
                    actor.last.map_or((WaitKind::Unknown, 0), |last| (last.kind, last.detail));
                Why::Waits {
                    kind,
                    detail,
                    is_granted: false,
                    has_holder: true,
                    has_own_waker: true,
                }
            }
            leaf => {
                let leaf = answer.and_then(|answer| answer.leaves.get(leaf as usize));
                leaf.map_or(Why::End, |leaf| Why::Waits {
                    kind: leaf.kind,
                    detail: leaf.detail,
                    is_granted: leaf.details.holder.is_some_and(|holder| holder.is_granted),
                    has_holder: leaf.details.holder.is_some(),
                    has_own_waker: leaf.has_own_waker,
                })
            }
        }
    }

    fn is_drive(&self, node: Node) -> bool {
        (self.graph.drive(0)..self.graph.pool(0)).contains(&node)
    }

    fn is_pool(&self, node: Node) -> bool {
        (self.graph.pool(0)..self.graph.object(0)).contains(&node)
    }

    fn object_of(&self, node: Node) -> Option<u64> {
        let at = node.checked_sub(self.graph.object(0))?;
        self.index.objects.get(at as usize).copied()
    }

    /// The time for which all of these actors have waited, leaving out those that are in queues.
    #[inline(never)]
    fn unchanged_for(&self, actors: &[Node]) -> Duration {
        let mut shortest = Duration::MAX;
        for actor in actors.iter().map(|node| &self.snapshot.actors[*node as usize]) {
            if actor.state != ActorState::Queued {
                shortest = shortest.min(actor.unchanged_for);
            }
        }
        shortest
    }

    #[inline(never)]
    fn links(&self, actors: &[Node]) -> Vec<Link> {
        let mut links = Vec::with_capacity(actors.len());
        for &node in actors {
            links.push(Link { actor: node as usize, why: self.why(node) });
        }
        links
    }

    fn are_threads(&self, actors: &[Node]) -> bool {
        actors.iter().any(|node| self.snapshot.actors[*node as usize].is_thread())
    }

    fn describe(&self, core: &Core) -> Option<Draft> {
        let mut actors = select(&core.nodes, &|node| node < self.actors());
        let first = |test: &dyn Fn(Node) -> bool| select(&core.nodes, test).first().copied();
        let drive = first(&|node| self.is_drive(node));
        let pool = first(&|node| self.is_pool(node));
        let object = first(&|node| self.object_of(node).is_some());
        let mut extra = Extra::None;
        if let Some(node) = drive.or(pool) {
            let first = if drive.is_some() { self.graph.drive(0) } else { self.graph.pool(0) };
            extra = Extra::Runtime((node - first) as usize);
        }
        // All that hold the cycle's semaphore belong to it, and those that wait at a dead end.
        let is_member = |node: Node| match (object, drive) {
            (Some(object), _) if core.is_cycle => self.holds(node, object),
            (Some(object), _) => self.next[node as usize].0 == object,
            (None, Some(drive)) if !core.is_cycle => self.next[node as usize].0 == drive,
            _ => false,
        };
        let affected = select(&core.affected, &|node| !is_member(node));
        actors.append(&mut select(&core.affected, &is_member));
        let links = self.links(&actors);
        let kind = match (drive, pool) {
            (Some(_), _) => VerdictKind::NotDriven,
            (_, Some(_)) => VerdictKind::PoolExhausted,
            _ if core.is_cycle => kind_of_cycle(&links),
            _ if object.is_some() => {
                extra = Extra::Forgotten(self.forgotten(object.and_then(|o| self.object_of(o))?));
                VerdictKind::LeakedPermits
            }
            _ => VerdictKind::LostWaker,
        };
        let unchanged = self.unchanged_for(&actors);
        let is_strict = actors.iter().all(|node| self.strict.is_hopeless(*node));
        let (likely_after, certain_after) = match kind {
            // `block_on(pending())` is how programs drive a runtime for good.
            VerdictKind::LostWaker if self.are_threads(&actors) => return None,
            VerdictKind::LostWaker if affected.is_empty() => (LONG, Duration::MAX),
            VerdictKind::LostWaker => (UNCHANGED_MIN, LOST_MIN),
            VerdictKind::NotDriven => {
                // A runtime or set at rest is fine, unless something else waits for it.
                if !core.is_cycle && affected.is_empty() && !self.are_threads(&actors) {
                    return None;
                }
                (if is_strict { UNCHANGED_MIN } else { ASLEEP_MIN }, ASLEEP_MIN)
            }
            _ if core.is_cycle => (UNCHANGED_MIN, UNCHANGED_MIN),
            _ => (UNCHANGED_MIN, ASLEEP_MIN),
        };
        // Of a runtime that is not driven, the times of those that wait for it count.
        let unchanged = match kind {
            VerdictKind::NotDriven => unchanged.min(self.unchanged_for(&affected)),
            _ => unchanged,
        };
        if unchanged < likely_after {
            return None;
        }
        let is_certain = is_strict && unchanged >= certain_after;
        Some(self.draft(kind, links, affected.len(), is_certain, extra))
    }

    /// Completes a draft.
    #[inline(never)]
    fn draft(
        &self,
        kind: VerdictKind,
        links: Vec<Link>,
        affected: usize,
        is_certain: bool,
        extra: Extra,
    ) -> Draft {
        let mut draft = Draft::new(self.snapshot, kind, links, extra);
        let Verdict { members, objects, .. } = &mut draft.verdict;
        for object in members.iter().filter_map(|member| member.waits) {
            if object.0 != WaitKind::Task && !objects.iter().any(|other| other.1 == object.1) {
                objects.push(object);
            }
        }
        if is_certain {
            draft.verdict.grade = Grade::Certain;
        }
        draft.verdict.affected = affected;
        draft
    }

    fn holds(&self, actor: Node, object: Node) -> bool {
        let object = self.object_of(object);
        let id = self.id(actor);
        self.snapshot.holdings.permits.iter().any(|held| {
            Some(held.object) == object && held.by == id && held.count > 0 && !held.is_forgotten
        })
    }

    #[inline(never)]
    fn forgotten(&self, object: u64) -> u64 {
        let permits = self.snapshot.holdings.permits.iter();
        permits.filter(|held| held.object == object && held.is_forgotten).map(|h| h.count).sum()
    }

    /// Describes a process in which each actor waits for any other one.
    fn describe_asleep(&self, core: &Core) -> Option<Draft> {
        let direct = |node: Node| self.root_of(node) == node;
        // What the program itself waits for comes first: a pool of idle tasks is no mistake.
        let mut roots: Vec<Node> = Vec::new();
        for node in &core.affected {
            let actor = &self.snapshot.actors[*node as usize];
            if actor.is_thread() {
                let root = self.root_of(*node);
                if !roots.contains(&root) {
                    roots.push(root);
                }
            }
        }
        if roots.is_empty() {
            roots = select(&core.affected, &direct);
        }
        let find = |test: &dyn Fn(WaitKind, &LeafDetails) -> bool| {
            select(&roots, &|node| self.details(node).is_some_and(|(kind, it)| test(kind, &it)))
        };
        let barriers = find(&|kind, it| {
            kind == WaitKind::Barrier && it.waiting.zip(it.limit).is_some_and(|(n, max)| n < max)
        });
        let receivers = find(&|kind, it| kind == WaitKind::MpscRecv && it.senders != Some(0));
        let leaks = find(&|kind, _| kind == WaitKind::Semaphore);
        let leaks = select(&leaks, &|node| {
            self.object_waited_for(node).is_some_and(|object| self.forgotten(object) > 0)
        });
        // A task of a runtime or set could go on, if that were driven. It is in its queue, or the
        // program waits for it.
        let ready = select(&core.affected, &|node| {
            let is_queued = self.snapshot.actors[node as usize].state == ActorState::Queued;
            (is_queued || roots.contains(&node)) && self.is_drive(self.next[node as usize].0)
        });
        let (kind, members, extra) = if let Some(ready) = ready.first() {
            let drive = self.next[*ready as usize].0;
            let at = (drive - self.graph.drive(0)) as usize;
            let is_there = |node: Node| self.next[node as usize].0 == drive;
            let mut tasks = select(&core.affected, &is_there);
            tasks.append(&mut select(&roots, &|node| !is_there(node)));
            (VerdictKind::NotDriven, tasks, Extra::Runtime(at))
        } else if let Some(first) = leaks.first() {
            let object = self.object_waited_for(*first)?;
            (VerdictKind::LeakedPermits, leaks, Extra::Forgotten(self.forgotten(object)))
        } else if let Some(first) = barriers.first() {
            let (_, it) = self.details(*first)?;
            let (waiting, limit) = it.waiting.zip(it.limit)?;
            let barrier = self.object_waited_for(*first);
            let at_it = select(&core.affected, &|node| self.object_waited_for(node) == barrier);
            (VerdictKind::BarrierShort, at_it, Extra::Parties(waiting, limit))
        } else if !receivers.is_empty() && receivers.len() == roots.len() {
            (VerdictKind::ForgottenSender, receivers, Extra::None)
        } else if !find(&|kind, _| is_lock(kind)).is_empty() {
            // Each of these locks and receivers is with one of the actors, all of which wait.
            let at_locks = |node| self.details(node).is_some_and(|(kind, _)| is_lock(kind));
            let waiters = select(&core.affected, &|node| direct(node) && at_locks(node));
            let are_all = |kind| {
                waiters.iter().all(|node| self.details(*node).is_some_and(|it| it.0 == kind))
            };
            let kind = if are_all(WaitKind::Semaphore) {
                VerdictKind::SemaphoreExhausted
            } else if waiters.len() > 1 && are_all(WaitKind::MpscSend) {
                VerdictKind::ChannelCycle
            } else {
                VerdictKind::Deadlock
            };
            (kind, waiters, Extra::UnknownHolders)
        } else {
            (VerdictKind::AllAsleep, roots, Extra::None)
        };
        let affected = core.affected.len() - members.len();
        let links = self.links(&members);
        // All that wait for any actor have to have been seen to wait together.
        let unchanged = self.unchanged_for(&Vec::from_iter(0..self.actors()));
        let is_strict = self.strict.is_hopeless(self.strict.any());
        Some(self.draft(kind, links, affected, is_strict && unchanged >= ASLEEP_MIN, extra))
    }

    /// Follows the pointers from an actor to the last actor before "any".
    fn root_of(&self, node: Node) -> Node {
        let (mut last, mut node) = (node, node);
        while node != self.graph.any() && node != NONE {
            if node < self.actors() {
                last = node;
            }
            node = self.next[node as usize].0;
        }
        last
    }

    fn object_waited_for(&self, node: Node) -> Option<u64> {
        match self.why(node) {
            Why::Waits { detail, .. } => Some(detail),
            _ => None,
        }
    }

    /// What an actor waits for, with the leaf's details.
    #[inline(never)]
    fn details(&self, node: Node) -> Option<(WaitKind, LeafDetails)> {
        let Why::Waits { kind, detail, .. } = self.why(node) else { return None };
        let actor = &self.snapshot.actors[node as usize];
        debug_assert_eq!(actor.state, ActorState::Waiting, "only a waiting actor has leaves");
        let leaf = leaf_of(actor, kind, detail);
        Some((kind, leaf.map_or_else(LeafDetails::default, |leaf| leaf.details)))
    }
}

/// Whether a particular actor has to do something, which may be known.
fn is_lock(kind: WaitKind) -> bool {
    use WaitKind::*;
    matches!(kind, Mutex | RwLockRead | RwLockWrite | OnceCell | Semaphore | MpscSend)
}

/// Returns the nodes that pass the test.
#[inline(never)]
fn select(nodes: &[Node], test: &dyn Fn(Node) -> bool) -> Vec<Node> {
    let mut selected = Vec::new();
    for &node in nodes {
        if test(node) {
            selected.push(node);
        }
    }
    selected
}

fn kind_of_cycle(links: &[Link]) -> VerdictKind {
    let waits = || {
        links.iter().filter_map(|link| match link.why {
            Why::Waits { kind, is_granted, .. } => Some((kind, is_granted)),
            _ => None,
        })
    };
    let all = |kinds: &[WaitKind]| waits().all(|(kind, _)| kinds.contains(&kind));
    if waits().any(|(_, is_granted)| is_granted) {
        VerdictKind::Futurelock
    } else if all(&[WaitKind::Task]) {
        VerdictKind::JoinCycle
    } else if all(&[WaitKind::MpscSend]) {
        VerdictKind::ChannelCycle
    } else if all(&[WaitKind::Semaphore]) {
        VerdictKind::SemaphoreExhausted
    } else if waits().count() == 1 {
        VerdictKind::SelfDeadlock
    } else {
        VerdictKind::Deadlock
    }
}
