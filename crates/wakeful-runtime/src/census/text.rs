//! Prints a census: verdicts first, then what all actors wait for, stacks, workers and runtimes.
//!
//! The order depends on the snapshot only, so that two dumps can be compared.

use super::frames::{self, Frame, Resolved, without_closures};
use super::hang::Hang;
use super::snapshot::{Actor, ActorKind, ActorState, Flavor, RuntimeState, Snapshot};
use super::sort::{Row, sort, sort_rows};
use super::verdict::{
    Findings, LISTED_MAX, Member, Names, VerdictKind, find, push_actor, push_duration,
    push_runtime, push_wait,
};
use super::write::{push, put};
use std::cmp::Ordering;
use std::panic::Location;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wakeful_base::waiting::{WAIT_KINDS, WaitKind};
use wakeful_task::Id;

/// A snapshot and what hangs in it.
pub(crate) struct Dump {
    snapshot: Snapshot,
    hangs: Vec<Hang>,
    /// The names that the verdicts use for locks and channels.
    names: Names,
}

impl Dump {
    pub(crate) fn new(snapshot: Snapshot) -> Dump {
        Dump::with_names(snapshot, Names::default())
    }

    /// Creates a dump in which locks and channels have these names, and others get new ones.
    pub(crate) fn with_names(snapshot: Snapshot, names: Names) -> Dump {
        let Findings { verdicts, names } = find(&snapshot, names);
        let mut hangs = Vec::with_capacity(verdicts.len());
        for verdict in verdicts {
            hangs.push(Hang::new(verdict));
        }
        Dump { snapshot, hangs, names }
    }

    /// Returns what hangs, in the order in which it is printed.
    pub(crate) fn hangs(&self) -> &[Hang] {
        &self.hangs
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the names of locks and channels.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Writes the dump: first what hangs, then the rest, since the names in stacks take long.
    pub(crate) fn write(&self, out: &mut dyn FnMut(&str)) {
        out(&self.head(std::process::id(), SystemTime::now()));
        out(&self.rest(&frames::resolve(), &mut self.names.clone()));
    }

    /// Returns all that [`write`](Self::write) writes. Locks and channels that get their names here
    /// are added to `names`, which must have those of the dump.
    pub(crate) fn to_text_with(&self, names: &mut Names) -> String {
        self.head(std::process::id(), SystemTime::now()) + &self.rest(&frames::resolve(), names)
    }

    /// Returns all that [`write`](Self::write) writes.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut |part| text.push_str(part));
        text
    }

    /// Returns the tasks, in the order of their ids.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = ListedTask> + '_ {
        self.snapshot.actors.iter().filter_map(|actor| {
            let (id, spawned_at) = (Id::from_u64(actor.id)?, actor.site?);
            actor.is_task().then(|| ListedTask {
                id,
                spawned_at,
                type_name: actor.type_name,
                waits_for: (actor.state == ActorState::Waiting)
                    .then(|| kind_name(actor.last.map_or(WaitKind::Unknown, |last| last.kind))),
                unchanged_for: actor.unchanged_for,
            })
        })
    }

    /// Returns where the tasks wait that have answered, in the order of their ids.
    pub(crate) fn traces(&self) -> Vec<(Id, String)> {
        let resolved = &*frames::resolve();
        let root = root_of(&self.snapshot, resolved);
        let mut traces = Vec::new();
        for actor in &self.snapshot.actors {
            let Some(id) = Id::from_u64(actor.id) else { continue };
            if !actor.is_task() || actor.leaves.is_none() {
                continue;
            }
            let mut text = String::new();
            for leaf in actor.leaves() {
                put!(&mut text, "waits for {}\n", kind_name(leaf.kind));
                for frame in resolved.get(leaf.stack) {
                    push_frame(&mut text, frame, root);
                    text.push('\n');
                }
            }
            traces.push((id, text));
        }
        traces
    }

    fn head(&self, process: u32, now: SystemTime) -> String {
        let mut text = String::new();
        let into = &mut text;
        put!(into, "== wakeful {}: process {process}, ", env!("CARGO_PKG_VERSION"));
        push_time(into, now);
        push(into, " ==\n");
        self.push_counts(into);
        push(
            into,
            match self.hangs.len() {
                0 => "\nNothing is known to hang.\n",
                _ => "\nWhat hangs:\n",
            },
        );
        for (number, hang) in (1..).zip(&self.hangs) {
            put!(into, "  {number}. {hang}\n");
        }
        text
    }

    fn rest(&self, resolved: &Resolved, names: &mut Names) -> String {
        let mut text = String::new();
        let into = &mut text;
        let root = root_of(&self.snapshot, resolved);
        if !self.hangs.is_empty() {
            push(into, "\nWhere that is:\n");
        }
        for (number, hang) in (1..).zip(&self.hangs) {
            let verdict = hang.verdict();
            put!(into, "  {number}. {}\n", hang.kind());
            for member in &verdict.members {
                self.push_member(into, verdict.kind, member, resolved, root);
            }
        }
        self.push_groups(into, names);
        self.push_stacks(into, resolved, names, root);
        self.push_workers(into);
        self.push_runtimes(into);
        push(into, "== end ==\n");
        text
    }

    fn actor(&self, id: u64) -> Option<&Actor> {
        self.snapshot.actors.iter().find(|actor| actor.id == id)
    }

    fn push_counts(&self, into: &mut String) {
        let (mut tasks, mut jobs, mut threads) = (0, 0, 0);
        let (mut waiting, mut queued, mut running) = (0, 0, 0);
        for actor in &self.snapshot.actors {
            *match actor.kind {
                ActorKind::Task | ActorKind::LocalTask => &mut tasks,
                ActorKind::BlockingJob => &mut jobs,
                ActorKind::Thread { .. } => &mut threads,
            } += 1;
            *match actor.state {
                ActorState::Waiting => &mut waiting,
                ActorState::Queued => &mut queued,
                ActorState::Running => &mut running,
            } += 1;
        }
        put!(into, "tasks: {tasks}, blocking jobs: {jobs}, threads in `block_on`: {threads}; ");
        put!(into, "waiting: {waiting}, queued: {queued}, running: {running}\n");
        if self.snapshot.is_incomplete {
            push(into, "Some workers did not answer in time, so tasks are missing.\n");
        }
        if !self.snapshot.holdings.are_complete {
            push(into, "It is not recorded which tasks hold permits and read locks.\n");
        }
    }

    /// Says where a member of a verdict waits.
    fn push_member(
        &self,
        into: &mut String,
        kind: VerdictKind,
        member: &Member,
        resolved: &Resolved,
        root: &str,
    ) {
        let Some(actor) = self.actor(member.id) else { return };
        push(into, "     ");
        push_actor(into, actor);
        match member.stack.and_then(|stack| resolved.get(stack).first()) {
            Some(frame) => {
                push(into, " waits in ");
                push_frame(into, frame, root);
            }
            None if actor.state == ActorState::Waiting && !actor.type_name.is_empty() => {
                push(into, " waits in ");
                push(into, without_closures(actor.type_name));
            }
            None => push(
                into,
                match actor.state {
                    // Whether it is in a queue just now says nothing.
                    _ if kind == VerdictKind::SpinningTask => " is polled again and again",
                    ActorState::Running => " is running",
                    ActorState::Queued => " is queued",
                    ActorState::Waiting => " waits",
                },
            ),
        }
        if !actor.unchanged_for.is_zero() {
            push(into, ", unchanged for ");
            push_duration(into, actor.unchanged_for);
        }
        push(into, "\n");
    }

    /// Prints how many actors of which origin wait for what.
    fn push_groups(&self, into: &mut String, names: &mut Names) {
        push(into, "\nTasks and threads, by where they come from and what they wait for:\n");
        let rows = rows_of(&self.snapshot.actors);
        // The largest groups first. Within a group, the actors are in the order of their ids.
        let mut groups: Vec<Row> = Vec::new();
        let mut start = 0;
        while let Some(first) = rows.get(start) {
            let len = rows[start..].iter().take_while(|row| first.is_like(row)).count();
            groups.push([!(len as u64), first.actor.id, start as u64, len as u64]);
            start += len;
        }
        sort_rows(&mut groups);
        for [_, _, start, len] in groups {
            push_group(into, &rows[start as usize..][..len as usize], names);
        }
    }

    /// Prints each distinct stack once.
    fn push_stacks(&self, into: &mut String, resolved: &Resolved, names: &mut Names, root: &str) {
        // The number of the frames, what is waited for in them, and the id of the actor.
        let mut rows: Vec<Row> = Vec::new();
        for actor in &self.snapshot.actors {
            for leaf in actor.leaves() {
                if let Some(frames) = resolved.number(leaf.stack) {
                    rows.push([frames as u64, leaf.kind as u64, actor.id, leaf.detail]);
                }
            }
        }
        if rows.is_empty() {
            return;
        }
        sort_rows(&mut rows);
        rows.dedup_by(|a, b| a[..3] == b[..3]);
        // Those of most actors first.
        let mut stacks: Vec<Row> = Vec::new();
        let mut start = 0;
        while let Some(&[frames, kind, actor, _]) = rows.get(start) {
            let is_like = |row: &&Row| row[0] == frames && row[1] == kind;
            let len = rows[start..].iter().take_while(is_like).count();
            stacks.push([!(len as u64), actor, kind, start as u64]);
            start += len;
        }
        sort_rows(&mut stacks);
        push(into, "\nWhere they wait, as far as they were asked:\n");
        for [len, _, _, start] in stacks {
            let rows = &rows[start as usize..][..!len as usize];
            let [frames, kind, _, detail] = rows[0];
            let kind = WAIT_KINDS[kind as usize];
            put!(into, "{:>6} × ", rows.len());
            if rows.len() == 1 {
                push_wait(into, kind, detail, names);
            } else {
                push(into, kind_name(kind));
            }
            push(into, ": ");
            push_list(into, rows.len(), &|at| self.actor(rows[at][2]));
            push(into, "\n");
            for frame in resolved.frames(frames as usize) {
                push(into, "         ");
                push_frame(into, frame, root);
                push(into, "\n");
            }
        }
    }

    fn push_workers(&self, into: &mut String) {
        if self.snapshot.workers.is_empty() {
            return;
        }
        push(into, "\nThreads that do not return from user code:\n");
        for worker in &self.snapshot.workers {
            put!(into, "  runtime {}, ", worker.runtime);
            match worker.index {
                usize::MAX => push(into, "a thread without a worker"),
                index => put!(into, "worker {index}"),
            }
            if let Some(task) = worker.task {
                put!(into, ": task {task}");
            }
            if let Some(time) = worker.stuck_for {
                push(into, ", for ");
                push_duration(into, time);
            }
            if let Some(thread) = &worker.thread {
                put!(into, " ({thread})");
            }
            push(into, "\n");
        }
    }

    fn push_runtimes(&self, into: &mut String) {
        push(into, "\nRuntimes:\n");
        for runtime in &self.snapshot.runtimes {
            push(into, "  ");
            push_runtime(into, runtime);
            self.push_state_of(into, runtime);
            push(into, "\n");
        }
        let threads = self.snapshot.user_threads;
        put!(into, "Other threads that may run the program's own code: {threads}\n");
    }

    fn push_state_of(&self, into: &mut String, runtime: &RuntimeState) {
        let mut tasks = 0;
        for actor in &self.snapshot.actors {
            tasks += usize::from(actor.runtime == runtime.id && actor.is_task());
        }
        put!(into, ": tasks: {tasks}, in queues: {}", runtime.queued);
        if runtime.flavor != Flavor::LocalSet {
            let pool = runtime.blocking;
            put!(into, "; blocking pool: {} of {} threads busy", pool.busy, pool.threads_max);
            put!(into, ", jobs in its queue: {}", pool.queued);
        }
        if !runtime.is_driven {
            push(into, "; no thread drives it");
        }
    }
}

/// A task of a dump.
pub(crate) struct ListedTask {
    pub(crate) id: Id,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) type_name: &'static str,
    pub(crate) waits_for: Option<&'static str>,
    pub(crate) unchanged_for: Duration,
}

/// Returns the directory that spawn sites are relative to, if a stack tells: where the program was
/// built.
pub(crate) fn root_of<'a>(snapshot: &Snapshot, resolved: &'a Resolved) -> &'a str {
    let mut files: Vec<&str> = Vec::new();
    for site in snapshot.actors.iter().filter_map(|actor| actor.site) {
        if let Err(at) = files.binary_search(&site.file()) {
            files.insert(at, site.file());
        }
    }
    for file in files {
        if let Some(root) = resolved.directory_of(file) {
            return root;
        }
    }
    ""
}

fn push_frame(into: &mut String, frame: &Frame, root: &str) {
    push(into, &frame.function);
    if let Some(location) = &frame.location {
        push(into, " at ");
        push(into, location.strip_prefix(root).unwrap_or(location));
    }
}

/// An actor, and what it waits for, in order.
struct WaitingActor<'a> {
    actor: &'a Actor,
    waits: Vec<(WaitKind, u64)>,
}

impl WaitingActor<'_> {
    /// Compares where two actors come from, and their states.
    fn cmp_origin(&self, other: &Actor) -> Ordering {
        let kind = |actor: &Actor| match actor.kind {
            ActorKind::Thread { .. } => ActorKind::Thread { job: None },
            kind => kind,
        };
        let own = self.actor;
        kind(own)
            .cmp(&kind(other))
            .then_with(|| own.site.cmp(&other.site))
            .then_with(|| own.type_name.cmp(other.type_name))
            .then_with(|| own.state.cmp(&other.state))
    }

    /// Compares by origin, and then by what they wait for.
    #[inline(never)]
    fn cmp(&self, other: &WaitingActor<'_>) -> Ordering {
        self.cmp_origin(other.actor).then_with(|| self.waits.cmp(&other.waits))
    }

    /// Returns whether the other one belongs to the same group.
    fn is_like(&self, other: &WaitingActor<'_>) -> bool {
        self.cmp(other).is_eq()
    }
}

/// Sorts actors by where they come from, what they wait for, and their ids.
fn sort_actors(rows: &mut [WaitingActor<'_>]) {
    sort(rows, |a, b| a.cmp(b).then(a.actor.id.cmp(&b.actor.id)).is_lt());
}

/// What an actor waits for, so that actors which wait for the same kind of event are alike.
fn alike((kind, detail): (WaitKind, u64)) -> (WaitKind, u64) {
    match kind {
        WaitKind::Task
        | WaitKind::Time
        | WaitKind::IoRead
        | WaitKind::IoWrite
        | WaitKind::Process => (kind, 0),
        _ => (kind, detail),
    }
}

/// Returns the actors, sorted, so that those of one origin that wait for the same are together.
fn rows_of(actors: &[Actor]) -> Vec<WaitingActor<'_>> {
    let mut rows: Vec<WaitingActor<'_>> = Vec::with_capacity(actors.len());
    for actor in actors.iter().filter(|actor| actor.leaves.is_some()) {
        let mut waits = Vec::new();
        for leaf in actor.leaves() {
            let wait = alike((leaf.kind, leaf.detail));
            if let Err(at) = waits.binary_search(&wait) {
                waits.insert(at, wait);
            }
        }
        rows.push(WaitingActor { actor, waits });
    }
    sort_actors(&mut rows);
    let asked = rows.len();
    for actor in actors.iter().filter(|actor| actor.leaves.is_none()) {
        let last = actor.last().map(alike);
        // An actor that was not asked waits for the same as those like it that were.
        let start = rows[..asked].partition_point(|row| row.cmp_origin(actor).is_lt());
        let like = rows[start..asked]
            .iter()
            .take_while(|row| row.cmp_origin(actor).is_eq())
            .find(|row| last.is_some_and(|last| row.waits.contains(&last)));
        let waits = match (like, last) {
            (Some(row), _) => row.waits.clone(),
            (None, Some(last)) if last.0 != WaitKind::Unknown => vec![last],
            (None, _) => Vec::new(),
        };
        rows.push(WaitingActor { actor, waits });
    }
    sort_actors(&mut rows);
    rows
}

/// Prints a group of actors of one origin that wait for the same.
fn push_group(into: &mut String, group: &[WaitingActor<'_>], names: &mut Names) {
    let first = group[0].actor;
    let count = group.len();
    put!(into, "{count:>6} × {}", first.kind);
    if let Some(site) = first.site {
        push(into, if first.is_thread() { " in `block_on` at " } else { " spawned at " });
        put!(into, "{site}");
    }
    if !first.type_name.is_empty() {
        push(into, ", ");
        push(into, without_closures(first.type_name));
    }
    push(
        into,
        match first.state {
            ActorState::Running => ": running",
            ActorState::Queued => ": queued",
            ActorState::Waiting if group[0].waits.is_empty() => ": waiting for something unknown",
            ActorState::Waiting => ": waiting for ",
        },
    );
    for (at, &wait) in group[0].waits.iter().enumerate() {
        push(into, if at > 0 { ", or " } else { "" });
        let (kind, detail) = exact(first, wait);
        match kind {
            WaitKind::Task | WaitKind::IoRead | WaitKind::IoWrite | WaitKind::Process
                if count > 1 =>
            {
                push(into, kind_name(kind));
            }
            _ => push_wait(into, kind, detail, names),
        }
    }
    let mut longest = Duration::ZERO;
    for row in group {
        longest = longest.max(row.actor.unchanged_for);
    }
    if !longest.is_zero() {
        push(into, if count > 1 { ", for up to " } else { ", for " });
        push_duration(into, longest);
    }
    push(into, "\n         ");
    push_list(into, count, &|at| Some(group[at].actor));
    push(into, "\n");
}

/// Puts the detail of one actor in what it waits for.
fn exact(actor: &Actor, wait: (WaitKind, u64)) -> (WaitKind, u64) {
    for leaf in actor.leaves() {
        if alike((leaf.kind, leaf.detail)) == wait {
            return (leaf.kind, leaf.detail);
        }
    }
    actor.last().filter(|last| alike(*last) == wait).unwrap_or(wait)
}

/// Prints the ids or names of actors.
fn push_list<'a>(into: &mut String, count: usize, actor: &dyn Fn(usize) -> Option<&'a Actor>) {
    for (at, actor) in (0..count.min(LISTED_MAX)).filter_map(actor).enumerate() {
        push(into, if at > 0 { ", " } else { "" });
        push_actor(into, actor);
    }
    if let more @ 1.. = count.saturating_sub(LISTED_MAX) {
        put!(into, " and {more} more");
    }
}

/// What several actors wait for at different objects of one kind.
pub(crate) fn kind_name(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Unknown => "something unknown",
        WaitKind::Turn => "a turn",
        WaitKind::Task => "the end of a task",
        WaitKind::AnyTask => "the end of any task of a set",
        WaitKind::Time => "a point in time",
        WaitKind::IoRead => "data from a descriptor",
        WaitKind::IoWrite => "room to write to a descriptor",
        WaitKind::Mutex => "a mutex",
        WaitKind::RwLockRead => "a read lock",
        WaitKind::RwLockWrite => "a write lock",
        WaitKind::Semaphore => "permits of a semaphore",
        WaitKind::MpscRecv => "a message",
        WaitKind::MpscSend => "room in a channel",
        WaitKind::Closed => "the end of a channel's receivers",
        WaitKind::OneshotRecv => "the value of a oneshot channel",
        WaitKind::Notify => "a notification",
        WaitKind::Watch => "a new value of a watch channel",
        WaitKind::Broadcast => "a message of a broadcast channel",
        WaitKind::Barrier => "a barrier",
        WaitKind::OnceCell => "the initialization of a once-cell",
        WaitKind::Signal => "a signal",
        WaitKind::Process => "the end of a process",
        WaitKind::Pipe => "the other end of a pipe",
        _ => "an object",
    }
}

/// Prints a point in time, in UTC.
fn push_time(into: &mut String, now: SystemTime) {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // The day within eras of 400 years that begin on a 1 March, as leap days then come last.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (400 * era + year, month + 3),
        _ => (400 * era + year + 1, month - 9),
    };
    put!(into, "{year:04}-{month:02}-{day:02} ");
    put!(into, "{:02}:{:02}:{:02} UTC", second / 3_600, second / 60 % 60, second % 60);
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
