//! Which actor could wake which, and the actors that nothing can wake.
//!
//! The nodes are the actors and what stands between them:
//!
//! | node | is alive if | edges to it from |
//! |---|---|---|
//! | actor | it runs, or something may wake it | the givers of its leaves |
//! | wake | something may wake the actor | as above, for actors that are not driven by a thread |
//! | any | some actor may go on | all actors |
//! | drive | a thread may drive the runtime | the actors that keep its threads, or any |
//! | pool | a thread of the pool may take a job | the jobs that run |
//! | object | permits of it may be given back | the actors that hold permits |
//! | queue | a queued writer may get out of the way | the actors that wait for the write lock |
//!
//! A node becomes alive through the first of its edges. An actor with a wake node needs two: that
//! one and its runtime's drive node. The nodes that are not reached are hopeless.

use super::UNCHANGED_MIN;
use crate::census::snapshot::{Actor, ActorKind, ActorState, Flavor, RuntimeState, Snapshot};
use crate::census::sort::{Row, find_row, rows_from, sort_by_key, sort_numbers, sort_rows};
use wakeful_base::threads::THREAD_ID;
use wakeful_base::waiting::{Holder, Leaf, LeafDetails, WaitKind};

/// Which facts count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caution {
    /// Only those that hold whatever the program does.
    Strict,
    /// Those too that hold in most programs.
    Lenient,
}

pub(super) type Node = u32;

/// Stands for "none".
pub(super) const NONE: Node = Node::MAX;

/// Tables to find actors and objects by their ids.
pub(super) struct Index {
    by_id: Vec<Row>,
    /// By [`low_id`].
    by_low: Vec<Row>,
    /// The jobs that run, with the actor of the `block_on` that their thread is in.
    threads_of_jobs: Vec<Row>,
    /// Waiting `block_on`s by the kernel's id of their thread.
    by_thread: Vec<Row>,
    runtimes: Vec<Row>,
    /// The semaphores and locks of which holders are recorded.
    pub(super) objects: Vec<u64>,
    /// The rwlocks at which readers wait that no writer holds.
    queues: Vec<u64>,
    /// The leaves that name a holder: the lock, the holder's id, the actor, the number of the leaf.
    holders: Vec<Row>,
}

impl Index {
    pub(super) fn new(snapshot: &Snapshot) -> Index {
        let mut index = Index {
            by_id: Vec::with_capacity(snapshot.actors.len()),
            by_low: Vec::with_capacity(snapshot.actors.len()),
            threads_of_jobs: Vec::new(),
            by_thread: Vec::new(),
            runtimes: Vec::new(),
            objects: Vec::new(),
            queues: Vec::new(),
            holders: Vec::new(),
        };
        for (node, actor) in (0..).zip(&snapshot.actors) {
            index.by_id.push([actor.id, node, 0, 0]);
            index.by_low.push([low_id(actor.id & THREAD_ID != 0, actor.id as u32), node, 0, 0]);
            if let (ActorKind::Thread { job }, ActorState::Waiting) = (actor.kind, actor.state) {
                if let Some(job) = job {
                    index.threads_of_jobs.push([job, node, 0, 0]);
                }
                if let Some(thread) = &actor.thread {
                    index.by_thread.push([thread.0.into(), node, 0, 0]);
                }
            }
            for (number, leaf) in (0..).zip(actor.leaves()) {
                if let Some(holder) = &leaf.details.holder {
                    index.holders.push([leaf.detail, holder.id_low.into(), node, number]);
                } else if leaf.kind == WaitKind::RwLockRead {
                    // No writer holds the lock, so one is queued before the reader.
                    index.queues.push(leaf.detail);
                }
            }
        }
        for (node, runtime) in (0..).zip(&snapshot.runtimes) {
            index.runtimes.push([runtime.id, node, 0, 0]);
        }
        if snapshot.holdings.are_complete {
            for held in snapshot.holdings.permits.iter().filter(|held| held.count > 0) {
                index.objects.push(held.object);
            }
        }
        for table in [
            &mut index.by_id,
            &mut index.by_low,
            &mut index.threads_of_jobs,
            &mut index.by_thread,
            &mut index.runtimes,
            &mut index.holders,
        ] {
            sort_rows(table);
        }
        sort_numbers(&mut index.objects);
        sort_numbers(&mut index.queues);
        index
    }

    /// Returns the actor with this id.
    #[inline(never)]
    pub(super) fn actor(&self, id: u64) -> Option<Node> {
        get(&self.by_id, id)
    }

    /// Returns the actor that holds a lock, if that is clear.
    #[inline(never)]
    pub(super) fn holder(&self, holder: &Holder) -> Option<Node> {
        if holder.id_low == 0 {
            return None;
        }
        let key = low_id(holder.is_thread, holder.id_low);
        let [first, rest @ ..] = rows_from(&self.by_low, key) else { return None };
        // Two that live at the same time may have the same lower half.
        let is_alone = rest.first().is_none_or(|second| second[0] != key);
        (first[0] == key && is_alone).then_some(first[1] as Node)
    }

    /// Returns a holder of this lock that an asked actor has named.
    fn named_holder(&self, snapshot: &Snapshot, lock: u64) -> Option<Holder> {
        let [_, _, actor, leaf] = find_row(&self.holders, lock)?;
        snapshot.actors[*actor as usize].leaves()[*leaf as usize].details.holder
    }

    #[inline(never)]
    pub(super) fn runtime(&self, id: u64) -> Option<Node> {
        get(&self.runtimes, id)
    }

    fn object(&self, object: u64) -> Option<usize> {
        self.objects.binary_search(&object).ok()
    }

    /// Returns the `block_on` that a running actor is in.
    fn block_on_of(&self, actor: &Actor) -> Option<Node> {
        match (actor.kind, &actor.thread) {
            (ActorKind::Thread { .. }, _) => None,
            (ActorKind::BlockingJob, _) => get(&self.threads_of_jobs, actor.id),
            (_, Some(thread)) => get(&self.by_thread, thread.0.into()),
            (_, None) => None,
        }
    }
}

/// What a lock keeps of its holder's id.
fn low_id(is_thread: bool, low: u32) -> u64 {
    u64::from(is_thread) << 32 | u64::from(low)
}

fn get(table: &[Row], key: u64) -> Option<Node> {
    find_row(table, key).map(|row| row[1] as Node)
}

/// That a giver may wake a waiter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) giver: Node,
    pub(super) waiter: Node,
    /// The number of the waiter's leaf, or [`NO_LEAF`].
    pub(super) leaf: u32,
}

/// An edge that no leaf explains.
pub(super) const NO_LEAF: u32 = u32::MAX;
/// An edge from the holder of permits.
const HOLDS: u32 = 0;
/// An edge that the last note explains.
pub(super) const LAST_NOTE: u32 = u32::MAX - 1;

/// What an actor waits for.
#[derive(Debug, Clone, Copy)]
enum Wait<'a> {
    /// It runs, or what it waits for is not known.
    Free,
    /// No waker of it exists.
    NoWaker,
    /// The leaves that count, with their numbers.
    Leaves {
        leaves: &'a [Leaf],
        /// There are more wakers than leaves, so only specific givers count.
        has_unknown_wakers: bool,
    },
    LastNote(WaitKind, u64),
    /// It runs, and its thread is in this `block_on`.
    InBlockOn(Node),
    /// It is in the queue of its runtime.
    Queued,
    /// It is a job in the queue of its runtime's blocking pool.
    InPoolQueue,
}

/// What could wake the waiter of a leaf.
enum Givers {
    /// The driver, or something unknown.
    Outside,
    /// Any other actor.
    Any,
    /// These nodes were added.
    Specific,
}

pub(super) struct Graph<'a> {
    snapshot: &'a Snapshot,
    index: &'a Index,
    caution: Caution,
    /// Sorted by giver.
    pub(super) edges: Vec<Edge>,
    /// How many more edges a node needs to become alive.
    needs: Vec<u8>,
    alive: Vec<bool>,
    /// Nodes that are alive from the start.
    seeds: Vec<Node>,
    /// Whether some thread drives the runtime whatever its tasks do, by its index.
    is_driven: Vec<bool>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, index: &'a Index, caution: Caution) -> Graph<'a> {
        let objects = index.objects.len() + index.queues.len();
        let fixed = snapshot.actors.len() + 1 + 2 * snapshot.runtimes.len() + objects;
        let mut graph = Graph {
            snapshot,
            index,
            caution,
            edges: Vec::new(),
            needs: vec![1; fixed],
            alive: Vec::new(),
            seeds: Vec::new(),
            is_driven: Vec::with_capacity(snapshot.runtimes.len()),
        };
        graph.add_world();
        for runtime in 0..snapshot.runtimes.len() {
            graph.add_drive(runtime);
            graph.add_pool(runtime);
        }
        graph.add_objects();
        graph.add_queues();
        for node in 0..snapshot.actors.len() {
            graph.add_actor(node);
        }
        graph.spread();
        graph
    }

    fn is_strict(&self) -> bool {
        self.caution == Caution::Strict
    }

    pub(super) fn any(&self) -> Node {
        self.snapshot.actors.len() as Node
    }

    pub(super) fn drive(&self, runtime: usize) -> Node {
        self.any() + 1 + runtime as Node
    }

    pub(super) fn pool(&self, runtime: usize) -> Node {
        self.drive(self.snapshot.runtimes.len()) + runtime as Node
    }

    pub(super) fn object(&self, object: usize) -> Node {
        self.pool(self.snapshot.runtimes.len()) + object as Node
    }

    /// The nodes from here on are queues, and then the wake nodes of actors.
    fn queue(&self, queue: usize) -> Node {
        self.object(self.index.objects.len()) + queue as Node
    }

    /// The first wake node.
    pub(super) fn wakes(&self) -> Node {
        self.queue(self.index.queues.len())
    }

    pub(super) fn nodes(&self) -> usize {
        self.needs.len()
    }

    pub(super) fn is_hopeless(&self, node: Node) -> bool {
        !self.alive[node as usize]
    }

    #[inline(never)]
    fn edge(&mut self, giver: Node, waiter: Node, leaf: u32) {
        self.edges.push(Edge { giver, waiter, leaf });
    }

    /// Adds what may act and is no actor.
    fn add_world(&mut self) {
        let snapshot = self.snapshot;
        if snapshot.user_threads > 0 || snapshot.is_incomplete {
            self.seeds.push(self.any());
        }
    }

    /// Adds what drives a runtime.
    fn add_drive(&mut self, at: usize) {
        let runtime = &self.snapshot.runtimes[at];
        let node = self.drive(at);
        let any = self.any();
        if runtime.queued > 0 {
            // The tasks that are only counted can go on if the runtime is driven.
            self.edge(node, any, NO_LEAF);
        }
        let blocking = self.blocking_tasks(runtime);
        let is_served = runtime.is_driven || runtime.flavor == Flavor::MultiThread;
        let is_driven = is_served && blocking.is_empty();
        self.is_driven.push(is_driven);
        if is_driven {
            self.seeds.push(node);
        }
        if is_served {
            for task in blocking {
                self.edge(task, node, NO_LEAF);
            }
            return;
        }
        match (runtime.flavor, runtime.thread) {
            (Flavor::LocalSet, Some(thread)) => {
                let mut is_thread_known = false;
                for (giver, actor) in (0..).zip(&self.snapshot.actors) {
                    if actor.runtime != runtime.id && self.may_poll_sets_of(actor, thread) {
                        is_thread_known |= actor.kind != ActorKind::LocalTask;
                        self.edge(giver, node, NO_LEAF);
                    }
                }
                if !is_thread_known {
                    self.edge(any, node, NO_LEAF);
                }
            }
            // A user's thread may drive it in a moment. But if it has not for long, and something
            // waits for that, this is worth a word.
            (Flavor::CurrentThread, _) if !self.is_strict() => {}
            _ => self.edge(any, node, NO_LEAF),
        }
    }

    /// Whether an actor may be on a thread, and poll the `LocalSet`s of it.
    fn may_poll_sets_of(&self, actor: &Actor, thread: u32) -> bool {
        let is_there = actor.thread.as_ref().is_some_and(|own| own.0 == thread);
        match actor.kind {
            ActorKind::Thread { .. } => is_there,
            ActorKind::LocalTask => {
                let set = self.index.runtime(actor.runtime);
                let set = set.map(|set| &self.snapshot.runtimes[set as usize]);
                set.is_none_or(|set| set.thread.is_none_or(|own| own == thread))
            }
            ActorKind::Task | ActorKind::BlockingJob => {
                is_there && actor.state == ActorState::Running
            }
        }
    }

    /// Returns the tasks that block the thread of a runtime, or nothing if it goes on. A
    /// multi-thread runtime hands blocked workers off.
    fn blocking_tasks(&self, runtime: &RuntimeState) -> Vec<Node> {
        let mut tasks = Vec::new();
        if runtime.flavor != Flavor::CurrentThread {
            return tasks;
        }
        for worker in self.snapshot.workers.iter().filter(|worker| worker.runtime == runtime.id) {
            let is_stuck = worker.stuck_for.is_some_and(|time| time >= UNCHANGED_MIN);
            match worker.task.and_then(|task| self.index.actor(task)) {
                Some(task) if is_stuck => tasks.push(task),
                _ => return Vec::new(),
            }
        }
        tasks
    }

    /// Adds the jobs that keep the threads of a blocking pool.
    fn add_pool(&mut self, at: usize) {
        let runtime = &self.snapshot.runtimes[at];
        let blocking = runtime.blocking;
        if blocking.queued == 0 {
            return;
        }
        let node = self.pool(at);
        let (mut running, mut queued) = (0, 0);
        for (job, actor) in (0..).zip(&self.snapshot.actors) {
            if actor.kind == ActorKind::BlockingJob && actor.runtime == runtime.id {
                if actor.state == ActorState::Queued {
                    queued += 1;
                } else {
                    running += 1;
                    self.edge(job, node, NO_LEAF);
                }
            }
        }
        if running < blocking.threads_max {
            // A thread is free, or runs something that is not known.
            self.seeds.push(node);
        }
        if queued < blocking.queued {
            let any = self.any();
            self.edge(node, any, NO_LEAF);
        }
    }

    /// Adds the holders of permits and read locks.
    fn add_objects(&mut self) {
        let snapshot = self.snapshot;
        if !snapshot.holdings.are_complete {
            return;
        }
        let any = self.any();
        for held in snapshot.holdings.permits.iter().filter(|held| held.count > 0) {
            let Some(object) = self.index.object(held.object) else { continue };
            let node = self.object(object);
            if held.is_forgotten {
                let refilled = &snapshot.holdings.refilled;
                if self.is_strict() || refilled.as_ref().is_none_or(|r| r.contains(&held.object)) {
                    self.edge(any, node, NO_LEAF);
                }
                continue;
            }
            match self.index.actor(held.by) {
                Some(holder) if !(held.may_have_moved && self.is_strict()) => {
                    self.edge(holder, node, HOLDS);
                }
                _ => self.edge(any, node, NO_LEAF),
            }
        }
    }

    /// Adds those that wait at the same things, and make others wait by that.
    fn add_queues(&mut self) {
        let any = self.any();
        // Per queue: how many leaves are known, how many there are, and whether one is a writer.
        let mut counts = vec![(0, Some(0), false); self.index.queues.len()];
        for (node, actor) in (0..).zip(&self.snapshot.actors) {
            // Of those that were not asked, the last note says where they wait, or have waited.
            if let (None, Some(last)) = (&actor.leaves, actor.last) {
                if let Ok(queue) = self.index.queues.binary_search(&last.detail) {
                    counts[queue].0 += 1;
                    if last.kind == WaitKind::RwLockWrite {
                        counts[queue].2 = true;
                        self.edge(node, self.queue(queue), HOLDS);
                    }
                }
            }
            for leaf in actor.leaves().iter().filter(|leaf| leaf.details.holder.is_none()) {
                if let Ok(queue) = self.index.queues.binary_search(&leaf.detail) {
                    let (known, all, has_writer) = &mut counts[queue];
                    *known += 1;
                    *all = all.zip(leaf.details.waiting).map(|(all, n)| n.max(all));
                    if leaf.kind == WaitKind::RwLockWrite {
                        *has_writer = true;
                        self.edge(node, self.queue(queue), HOLDS);
                    }
                }
                if leaf.kind == WaitKind::Semaphore && leaf.details.wanted != Some(1) {
                    // It may have got some of the permits that it wants. They go to the next waiter
                    // if it gives up.
                    if let Some(object) = self.index.object(leaf.detail) {
                        self.edge(node, self.object(object), NO_LEAF);
                    }
                }
            }
        }
        for (queue, (known, all, has_writer)) in counts.into_iter().enumerate() {
            let is_complete = all.is_some_and(|all| all <= known);
            if !has_writer || self.is_strict() && !is_complete {
                self.edge(any, self.queue(queue), NO_LEAF);
            }
        }
    }

    fn add_actor(&mut self, at: usize) {
        let actor = &self.snapshot.actors[at];
        let node = at as Node;
        let wait = self.wait_of(actor);
        let runtime = self.index.runtime(actor.runtime);
        let is_task = matches!(actor.kind, ActorKind::Task | ActorKind::LocalTask);
        // A poll that has begun goes on without a driver.
        let needs_drive = is_task && actor.state != ActorState::Running;
        let mut waiter = node;
        if let (Some(runtime), true) = (runtime, needs_drive) {
            let drive = self.drive(runtime as usize);
            if matches!(wait, Wait::Queued) {
                return self.edge(drive, node, NO_LEAF);
            }
            if !self.is_driven[runtime as usize] {
                waiter = self.needs.len() as Node;
                self.needs.push(1);
                self.needs[at] = 2;
                self.edge(drive, node, NO_LEAF);
                self.edge(waiter, node, NO_LEAF);
            }
        }
        match wait {
            Wait::Free | Wait::Queued => self.seeds.push(waiter),
            Wait::NoWaker => {}
            Wait::InBlockOn(thread) => self.edge(thread, waiter, NO_LEAF),
            Wait::InPoolQueue => match runtime {
                Some(runtime) => self.edge(self.pool(runtime as usize), waiter, NO_LEAF),
                None => self.seeds.push(waiter),
            },
            Wait::LastNote(kind, detail) => {
                // Another waiter may have been asked for the holder.
                let held = self.index.named_holder(self.snapshot, detail);
                let details = LeafDetails { holder: held, ..LeafDetails::default() };
                match self.add_givers(actor, waiter, kind, detail, &details, LAST_NOTE) {
                    Givers::Outside => self.seeds.push(waiter),
                    Givers::Any => self.edge(self.any(), waiter, LAST_NOTE),
                    Givers::Specific => {}
                }
            }
            Wait::Leaves { leaves, has_unknown_wakers } => {
                for (number, leaf) in (0..).zip(leaves) {
                    let (kind, detail) = (leaf.kind, leaf.detail);
                    match self.add_givers(actor, waiter, kind, detail, &leaf.details, number) {
                        Givers::Outside => return self.seeds.push(waiter),
                        Givers::Any if has_unknown_wakers => return self.seeds.push(waiter),
                        Givers::Any => self.edge(self.any(), waiter, number),
                        Givers::Specific => {}
                    }
                }
            }
        }
    }

    /// Says what is known of the things that an actor waits for.
    fn wait_of(&self, actor: &'a Actor) -> Wait<'a> {
        match (actor.kind, actor.state) {
            // What matters is since when no thread takes it, and not since when it is there.
            (ActorKind::BlockingJob, ActorState::Queued) => return Wait::InPoolQueue,
            (_, ActorState::Queued) => return Wait::Queued,
            _ if actor.unchanged_for < UNCHANGED_MIN => return Wait::Free,
            (ActorKind::BlockingJob, _) | (_, ActorState::Running) => {
                return self.index.block_on_of(actor).map_or(Wait::Free, Wait::InBlockOn);
            }
            (_, ActorState::Waiting) => {}
        }
        if actor.wakers == Some(0) {
            return Wait::NoWaker;
        }
        let Some(answer) = &actor.leaves else {
            // A last note is all that matters only if there is one waker at most.
            return match actor.last {
                Some(last)
                    if !self.is_strict() && actor.wakers.is_none_or(|wakers| wakers == 1) =>
                {
                    Wait::LastNote(last.kind, last.detail)
                }
                _ => Wait::Free,
            };
        };
        let leaves = &answer.leaves;
        if leaves.is_empty() || answer.is_truncated {
            return Wait::Free;
        }
        let own = leaves.iter().filter(|leaf| leaf.has_own_waker).count();
        match actor.wakers {
            // Each waker is at a leaf, and no leaf counts twice.
            Some(wakers) if own > 0 && wakers == distinct(leaves) => {
                Wait::Leaves { leaves, has_unknown_wakers: false }
            }
            _ if self.is_strict() => Wait::Free,
            // One waker may be at the set between the task and all of its leaves.
            Some(wakers) => Wait::Leaves { leaves, has_unknown_wakers: wakers > own.max(1) },
            None if own > 0 => Wait::Leaves { leaves, has_unknown_wakers: false },
            None => Wait::Free,
        }
    }

    /// Adds the edges from the givers of a leaf, if they are known.
    fn add_givers(
        &mut self,
        actor: &Actor,
        waiter: Node,
        kind: WaitKind,
        detail: u64,
        details: &LeafDetails,
        leaf: u32,
    ) -> Givers {
        use WaitKind::*;
        match kind {
            Time | IoRead | IoWrite => {
                let runtime = self.index.runtime(actor.runtime).map(|at| at as usize);
                let is_thread = matches!(actor.kind, ActorKind::Thread { .. });
                match runtime {
                    // Its timers and descriptors are probably those of the runtime that it is in.
                    Some(at) if is_thread && !self.is_strict() && !self.is_driven[at] => {
                        self.edge(self.drive(at), waiter, leaf);
                        Givers::Specific
                    }
                    _ => Givers::Outside,
                }
            }
            Task => match self.index.actor(detail) {
                Some(task) => {
                    self.edge(task, waiter, leaf);
                    Givers::Specific
                }
                // Probably it waits for its first poll in a queue that no thread looks at.
                None => match self.index.runtime(actor.runtime).map(|at| at as usize) {
                    Some(at) if !self.is_strict() && self.has_stuck_queue(at) => {
                        self.edge(self.drive(at), waiter, leaf);
                        Givers::Specific
                    }
                    _ => Givers::Outside,
                },
            },
            Mutex | RwLockRead | RwLockWrite | OnceCell | Semaphore => {
                self.add_lock_givers(waiter, kind, detail, details, leaf)
            }
            MpscSend if !self.is_strict() => {
                match details.receiver.and_then(|receiver| self.index.actor(receiver)) {
                    Some(receiver) => {
                        self.edge(receiver, waiter, leaf);
                        Givers::Specific
                    }
                    None => Givers::Any,
                }
            }
            AnyTask | MpscRecv | MpscSend | Closed | OneshotRecv | Notify | Watch | Broadcast
            | Barrier | Pipe => Givers::Any,
            _ => Givers::Outside,
        }
    }

    /// Whether a runtime has tasks in a queue, and no thread that would take them.
    fn has_stuck_queue(&self, runtime: usize) -> bool {
        self.snapshot.runtimes[runtime].queued > 0 && !self.is_driven[runtime]
    }

    fn add_lock_givers(
        &mut self,
        waiter: Node,
        kind: WaitKind,
        detail: u64,
        details: &LeafDetails,
        leaf: u32,
    ) -> Givers {
        if let Some(holder) = &details.holder {
            if holder.is_owned && self.is_strict() {
                return Givers::Any;
            }
            return match self.index.holder(holder) {
                Some(holder) => {
                    self.edge(holder, waiter, leaf);
                    Givers::Specific
                }
                None => Givers::Any,
            };
        }
        if let (WaitKind::RwLockRead, Ok(queue)) = (kind, self.index.queues.binary_search(&detail))
        {
            self.edge(self.queue(queue), waiter, leaf);
            return Givers::Specific;
        }
        // Any actor may add permits to a semaphore, and then the holders do not matter.
        let is_recorded =
            kind == WaitKind::RwLockWrite || kind == WaitKind::Semaphore && !self.is_strict();
        match self.index.object(detail) {
            Some(object) if is_recorded => {
                let node = self.object(object);
                self.edge(node, waiter, leaf);
                Givers::Specific
            }
            _ => Givers::Any,
        }
    }

    /// Finds the nodes that are alive.
    fn spread(&mut self) {
        self.alive = vec![false; self.needs.len()];
        sort_by_key(&mut self.edges, |edge| (edge.giver, edge.waiter, edge.leaf));
        let any = self.any();
        let mut reached = Vec::new();
        for &node in &self.seeds {
            // Once only: each edge counts once.
            if !std::mem::replace(&mut self.alive[node as usize], true) {
                reached.push(node);
            }
        }
        while let Some(node) = reached.pop() {
            if node < any && !self.alive[any as usize] {
                self.alive[any as usize] = true;
                reached.push(any);
            }
            let start = self.edges.partition_point(|edge| edge.giver < node);
            for edge in self.edges[start..].iter().take_while(|edge| edge.giver == node) {
                let waiter = edge.waiter as usize;
                self.needs[waiter] = self.needs[waiter].saturating_sub(1);
                if self.needs[waiter] == 0 && !self.alive[waiter] {
                    self.alive[waiter] = true;
                    reached.push(edge.waiter);
                }
            }
        }
    }
}

/// Counts the leaves that registered the task's own waker. Leaves that are alike count once: a loop
/// may have polled the same one twice, and dropped the first.
fn distinct(leaves: &[Leaf]) -> usize {
    let is_like = |a: &Leaf, b: &Leaf| (a.kind, a.detail, a.stack) == (b.kind, b.detail, b.stack);
    let mut count = 0;
    for (at, leaf) in leaves.iter().enumerate() {
        let mut before = leaves[..at].iter();
        let is_known = before.any(|before| before.has_own_waker && is_like(before, leaf));
        count += usize::from(leaf.has_own_waker && !is_known);
    }
    count
}
