//! Which actor waits for which object or task, and which actor holds an object.

use super::answer::Query;
use super::json::Writer;
use super::rows::{is_object, kind, number};
use crate::census::{Actor, ActorKind, Ask, Dump, Names, Snapshot, noun, push_actor, sort_by_key};
use crate::console::DUMP_GAP;
use std::time::Duration;
use wakeful_base::threads::THREAD_ID;
use wakeful_base::waiting::{Holder, WaitKind};

/// The limit on nodes of a graph.
const NODES_MAX: usize = 1000;

/// The limit on objects of an answer.
const OBJECTS_MAX: usize = 500;

/// The limit on listed waiters, holders and users of an object.
const LISTED_MAX: usize = 100;

/// What an actor has to do with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    WaitsFor,
    HeldBy,
    GrantedTo,
    UsedBy,
}

const WHY_NAMES: [&str; 4] = ["waits_for", "held_by", "granted_to", "used_by"];

/// An edge between an actor and an object, or between an actor and the task that it waits for.
#[derive(Debug, Clone, Copy)]
struct Edge {
    /// The address of the object, or the id of the task.
    to: u64,
    /// The kind of the wait, which also says what kind of object it is.
    kind: WaitKind,
    why: Why,
    /// The index of the actor.
    actor: usize,
}

/// Returns the index of the actor with this id.
fn index(snapshot: &Snapshot, id: u64) -> Option<usize> {
    snapshot.actors.binary_search_by_key(&id, |actor| actor.id).ok()
}

fn holder(snapshot: &Snapshot, holder: &Holder) -> Option<usize> {
    let thread = if holder.is_thread { THREAD_ID } else { 0 };
    // More than 2^32 tasks are rare.
    index(snapshot, thread | u64::from(holder.id_low)).or_else(|| {
        let is_it =
            |actor: &Actor| actor.id as u32 == holder.id_low && actor.id & THREAD_ID == thread;
        snapshot.actors.iter().position(is_it)
    })
}

/// Returns all edges of a snapshot, in the order of the objects.
fn edges(snapshot: &Snapshot) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (actor, waits) in snapshot.actors.iter().enumerate() {
        let mut add = |kind, to, holder_of: Option<&Holder>| {
            if kind != WaitKind::Task && !is_object(kind) {
                return;
            }
            edges.push(Edge { to, kind, why: Why::WaitsFor, actor });
            if let Some(by) = holder_of {
                let why = if by.is_granted { Why::GrantedTo } else { Why::HeldBy };
                edges.extend(holder(snapshot, by).map(|actor| Edge { to, kind, why, actor }));
            }
        };
        match (&waits.leaves, waits.last) {
            (Some(answer), _) => answer
                .leaves
                .iter()
                .for_each(|leaf| add(leaf.kind, leaf.detail, leaf.details.holder.as_ref())),
            (None, Some(last)) => add(last.kind, last.detail, None),
            (None, None) => {}
        }
    }
    let held = snapshot.holdings.permits.iter().filter(|held| !held.is_forgotten);
    let held = held.map(|held| (held.object, held.by, WaitKind::Unknown, Why::HeldBy));
    let used = snapshot.holdings.channels.iter();
    let used = used.map(|used| (used.object, used.by, WaitKind::MpscRecv, Why::UsedBy));
    for (to, by, kind, why) in held.chain(used) {
        edges.extend(index(snapshot, by).map(|actor| Edge { to, kind, why, actor }));
    }
    // Waits come first, since they say what kind of object it is.
    sort_by_key(&mut edges, |edge| (edge.kind == WaitKind::Task, edge.to, edge.why, edge.actor));
    edges.dedup_by_key(|edge| (edge.kind == WaitKind::Task, edge.to, edge.why, edge.actor));
    edges
}

/// Returns the edges of each object. Those to a task are in one group, too.
fn objects(edges: &[Edge]) -> impl Iterator<Item = &[Edge]> {
    edges.chunk_by(|a, b| (a.kind == WaitKind::Task, a.to) == (b.kind == WaitKind::Task, b.to))
}

fn label(edge: &Edge, names: &mut Names) -> String {
    format!("{} {}", noun(edge.kind), names.number(edge.to))
}

/// A graph in the making.
struct Graph<'a> {
    snapshot: &'a Snapshot,
    json: &'a mut Writer,
    names: &'a mut Names,
    /// The indices of the actors that are nodes.
    actors: Vec<usize>,
    nodes: usize,
    is_truncated: bool,
}

impl Graph<'_> {
    fn has_room(&mut self) -> bool {
        self.is_truncated |= self.nodes == NODES_MAX;
        self.nodes += usize::from(!self.is_truncated);
        !self.is_truncated
    }

    /// Writes the node of an actor, unless that is done. Returns whether there is one.
    fn add_actor(&mut self, index: usize) -> bool {
        let Err(at) = self.actors.binary_search(&index) else { return true };
        if !self.has_room() {
            return false;
        }
        self.actors.insert(at, index);
        let actor = &self.snapshot.actors[index];
        let mut label = String::new();
        match actor.site {
            Some(site) => label = site.to_string(),
            None => push_actor(&mut label, actor),
        }
        self.json.open('{').text_member("key", &key(actor));
        self.json.text_member("kind", kind(actor.kind));
        self.json.number_member("id", number(actor.id));
        self.json.text_member("label", &label);
        self.json.close('}');
        true
    }

    /// Writes the node of what an edge leads to. Returns whether there is one.
    fn add_target(&mut self, edge: &Edge) -> bool {
        match index(self.snapshot, edge.to) {
            Some(task) if edge.kind == WaitKind::Task => self.add_actor(task),
            _ => edge.kind != WaitKind::Task && self.add_object(edge),
        }
    }

    /// Writes the node of an object, which must be new. Returns whether there is one.
    fn add_object(&mut self, edge: &Edge) -> bool {
        if !self.has_room() {
            return false;
        }
        self.json.open('{').name("key").address(edge.to);
        self.json.text_member("kind", noun(edge.kind));
        let label = label(edge, self.names);
        self.json.text_member("label", &label);
        self.json.close('}');
        true
    }
}

/// Returns the name of an actor in a graph.
fn key(actor: &Actor) -> String {
    let kind = match actor.kind {
        ActorKind::Thread { .. } => "thread",
        ActorKind::Task | ActorKind::LocalTask | ActorKind::BlockingJob => "task",
    };
    format!("{kind} {}", number(actor.id))
}

pub(super) fn graph(query: &mut Query<'_>) -> Result<(), String> {
    let all = query.flag("all", false)?;
    let ask = if query.flag("ask", true)? { Ask::Suspects } else { Ask::None };
    let gap = if query.flag("quick", false)? { Duration::ZERO } else { DUMP_GAP };
    let dump = query.look_for_hangs(gap, ask);
    let snapshot = dump.snapshot();
    let members = put_verdicts(&mut query.json, snapshot, &dump);
    let edges = edges(snapshot);
    let is_selected = |edges: &&[Edge]| {
        let is_concerned = |edge: &Edge| {
            matches!(edge.why, Why::HeldBy | Why::GrantedTo)
                || edge.why == Why::WaitsFor && members.binary_search(&edge.actor).is_ok()
        };
        all || edges[0].why == Why::WaitsFor && edges.iter().any(is_concerned)
    };
    query.json.name("nodes").open('[');
    let mut graph = Graph {
        snapshot,
        json: &mut query.json,
        names: query.names,
        actors: Vec::new(),
        nodes: 0,
        is_truncated: false,
    };
    members.iter().for_each(|member| _ = graph.add_actor(*member));
    // What hangs comes first, objects before those that wait for them: there may be too little
    // room for all.
    let is_of_verdict =
        |group: &&[Edge]| group.iter().any(|edge| members.binary_search(&edge.actor).is_ok());
    let (hung, others): (Vec<&[Edge]>, Vec<&[Edge]>) =
        objects(&edges).filter(is_selected).partition(is_of_verdict);
    let mut kept: Vec<&Edge> = Vec::new();
    let rounds = std::iter::once(hung).chain(others.into_iter().map(|group| vec![group]));
    for groups in rounds {
        let has_node: Vec<bool> = groups.iter().map(|group| graph.add_target(&group[0])).collect();
        for (group, _) in groups.iter().zip(has_node).filter(|(_, has_node)| *has_node) {
            kept.extend(group.iter().filter(|edge| graph.add_actor(edge.actor)));
        }
    }
    let is_truncated = graph.is_truncated;
    query.json.close(']');
    query.json.name("edges").open('[');
    for edge in kept {
        put_edge(&mut query.json, edge, snapshot);
    }
    query.json.close(']');
    query.json.bool_member("truncated", is_truncated);
    Ok(())
}

/// Writes what hangs. Returns the indices of the actors that do, sorted.
fn put_verdicts(json: &mut Writer, snapshot: &Snapshot, dump: &Dump) -> Vec<usize> {
    let mut members = Vec::new();
    json.name("verdicts").open('[');
    for hang in dump.hangs() {
        json.open('{').text_member("name", hang.kind());
        json.bool_member("certain", hang.is_certain());
        json.text_member("text", hang.text());
        json.name("actors").open('[');
        for id in hang.actors() {
            json.number(number(id));
            members.extend(index(snapshot, id));
        }
        json.close(']');
        json.close('}');
    }
    json.close(']');
    sort_by_key(&mut members, |member| *member);
    members.dedup();
    members
}

fn put_edge(json: &mut Writer, edge: &Edge, snapshot: &Snapshot) {
    let waits = edge.why == Why::WaitsFor;
    let actor = key(&snapshot.actors[edge.actor]);
    json.open('{').text_member(if waits { "from" } else { "to" }, &actor);
    let other = json.name(if waits { "to" } else { "from" });
    match edge.kind {
        WaitKind::Task => other.text(&format!("task {}", edge.to)),
        _ => other.address(edge.to),
    }
    json.text_member("why", WHY_NAMES[edge.why as usize]);
    json.close('}');
}

pub(super) fn list(query: &mut Query<'_>) -> Result<(), String> {
    let ask = if query.flag("ask", true)? { Ask::Suspects } else { Ask::None };
    let snapshot = query.look(Duration::ZERO, ask);
    let edges = edges(&snapshot);
    let waiters = |edges: &[Edge]| edges.partition_point(|edge| edge.why == Why::WaitsFor);
    let mut rows: Vec<&[Edge]> = objects(&edges).collect();
    rows.retain(|edges| edges[0].kind != WaitKind::Task);
    sort_by_key(&mut rows, |edges| (usize::MAX - waiters(edges), edges[0].to));
    let json = &mut query.json;
    json.number_member("total", rows.len() as u64);
    json.name("rows").open('[');
    for edges in rows.into_iter().take(OBJECTS_MAX) {
        json.open('{').name("object").address(edges[0].to);
        json.text_member("kind", noun(edges[0].kind));
        let label = label(&edges[0], query.names);
        json.text_member("label", &label);
        for (name, whys) in [
            ("waiting", [Why::WaitsFor; 2]),
            ("holders", [Why::HeldBy, Why::GrantedTo]),
            ("users", [Why::UsedBy; 2]),
        ] {
            json.name(name).open('[');
            let listed = edges.iter().filter(|edge| whys.contains(&edge.why));
            for edge in listed.take(LISTED_MAX) {
                json.number(number(snapshot.actors[edge.actor].id));
            }
            json.close(']');
        }
        json.number_member("waiting_total", waiters(edges) as u64);
        let waiting = edges[..waiters(edges)].iter();
        let longest = waiting.map(|edge| snapshot.actors[edge.actor].unchanged_for).max();
        json.number_member("wait_max_us", longest.unwrap_or_default().as_micros() as u64);
        json.close('}');
    }
    json.close(']');
    Ok(())
}
