//! Prints a census: verdicts first, then what all actors wait for, stacks, workers and runtimes.
//!
//! The order depends on the snapshot only, so that two dumps can be compared.

use super::frames::{self, Frame, Frames, Resolved, without_closures};
use super::hang::Hang;
use super::snapshot::{Actor, ActorKind, ActorState, Flavor, RuntimeState, Snapshot};
use super::sort::{sort, sort_by_key};
use super::verdict::{
    Findings, LISTED_MAX, Member, Names, Verdict, VerdictKind, find, push_actor, push_duration,
    push_runtime, push_wait, put,
};
use std::panic::Location;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wakeful_base::waiting::WaitKind;
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
        Dump { snapshot, hangs: verdicts.into_iter().map(Hang::new).collect(), names }
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
            let is_task = matches!(actor.kind, ActorKind::Task | ActorKind::LocalTask);
            let (id, spawned_at) = (Id::from_u64(actor.id)?, actor.site?);
            is_task.then(|| ListedTask {
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
            let is_task = matches!(actor.kind, ActorKind::Task | ActorKind::LocalTask);
            let (Some(answer), Some(id)) = (&actor.leaves, Id::from_u64(actor.id)) else {
                continue;
            };
            let mut text = String::new();
            for leaf in &answer.leaves {
                put!(text, "waits for {}\n", kind_name(leaf.kind));
                for frame in resolved.get(leaf.stack).iter().flat_map(|frames| &frames.lines) {
                    push_frame(&mut text, frame, root);
                    text.push('\n');
                }
            }
            if is_task {
                traces.push((id, text));
            }
        }
        traces
    }

    fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.hangs.iter().map(Hang::verdict)
    }

    fn head(&self, process: u32, now: SystemTime) -> String {
        let mut into = String::new();
        put!(into, "== wakeful {}: process {process}, ", env!("CARGO_PKG_VERSION"));
        push_time(&mut into, now);
        into.push_str(" ==\n");
        self.push_counts(&mut into);
        into.push_str(match self.hangs.len() {
            0 => "\nNothing is known to hang.\n",
            _ => "\nWhat hangs:\n",
        });
        for (number, hang) in (1..).zip(&self.hangs) {
            put!(into, "  {number}. {hang}\n");
        }
        into
    }

    fn rest(&self, resolved: &Resolved, names: &mut Names) -> String {
        let mut into = String::new();
        let root = root_of(&self.snapshot, resolved);
        if !self.hangs.is_empty() {
            into.push_str("\nWhere that is:\n");
        }
        for (number, verdict) in (1..).zip(self.verdicts()) {
            put!(into, "  {number}. {}\n", verdict.kind.name());
            for member in &verdict.members {
                self.push_member(&mut into, verdict.kind, member, resolved, root);
            }
        }
        self.push_groups(&mut into, names);
        self.push_stacks(&mut into, resolved, names, root);
        self.push_workers(&mut into);
        self.push_runtimes(&mut into);
        into.push_str("== end ==\n");
        into
    }

    fn actor(&self, id: u64) -> Option<&Actor> {
        self.snapshot.actors.iter().find(|actor| actor.id == id)
    }

    fn push_counts(&self, into: &mut String) {
        let actors = &self.snapshot.actors;
        let count = |test: &dyn Fn(&Actor) -> bool| actors.iter().filter(|a| test(a)).count();
        let is_thread = |actor: &Actor| matches!(actor.kind, ActorKind::Thread { .. });
        let jobs = count(&|actor| actor.kind == ActorKind::BlockingJob);
        let threads = count(&is_thread);
        let waiting = count(&|actor| actor.state == ActorState::Waiting);
        let queued = count(&|actor| actor.state == ActorState::Queued);
        let running = actors.len() - waiting - queued;
        let tasks = actors.len() - jobs - threads;
        put!(into, "tasks: {tasks}, blocking jobs: {jobs}, threads in `block_on`: {threads}; ");
        put!(into, "waiting: {waiting}, queued: {queued}, running: {running}\n");
        if self.snapshot.is_incomplete {
            into.push_str("Some workers did not answer in time, so tasks are missing.\n");
        }
        if !self.snapshot.holdings.are_complete {
            into.push_str("It is not recorded which tasks hold permits and read locks.\n");
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
        into.push_str("     ");
        push_actor(into, actor);
        let frames = member.stack.and_then(|stack| resolved.get(stack));
        let frame = frames.and_then(|frames| frames.lines.first());
        match (frame, member.waits) {
            (Some(frame), _) => {
                into.push_str(" waits in ");
                push_frame(into, frame, root);
            }
            (None, _) if actor.state == ActorState::Waiting && !actor.type_name.is_empty() => {
                put!(into, " waits in {}", without_closures(actor.type_name));
            }
            (None, _) => into.push_str(match actor.state {
                // Whether it is in a queue just now says nothing.
                _ if kind == VerdictKind::SpinningTask => " is polled again and again",
                ActorState::Running => " is running",
                ActorState::Queued => " is queued",
                ActorState::Waiting => " waits",
            }),
        }
        if !actor.unchanged_for.is_zero() {
            into.push_str(", unchanged for ");
            push_duration(into, actor.unchanged_for);
        }
        into.push('\n');
    }

    /// Prints how many actors of which origin wait for what.
    fn push_groups(&self, into: &mut String, names: &mut Names) {
        into.push_str("\nTasks and threads, by where they come from and what they wait for:\n");
        for group in groups(&self.snapshot.actors) {
            let first = group.actors[0];
            let count = group.actors.len();
            put!(into, "{count:>6} × {}", first.kind);
            if let Some(site) = first.site {
                into.push_str(match first.kind {
                    ActorKind::Thread { .. } => " in `block_on` at ",
                    _ => " spawned at ",
                });
                put!(into, "{site}");
            }
            if !first.type_name.is_empty() {
                put!(into, ", {}", without_closures(first.type_name));
            }
            into.push_str(match first.state {
                ActorState::Running => ": running",
                ActorState::Queued => ": queued",
                ActorState::Waiting if group.waits.is_empty() => ": waiting for something unknown",
                ActorState::Waiting => ": waiting for ",
            });
            for (at, &(kind, detail)) in group.waits.iter().enumerate() {
                into.push_str(if at > 0 { ", or " } else { "" });
                match kind {
                    WaitKind::Task if count > 1 => into.push_str("the end of a task"),
                    WaitKind::IoRead if count > 1 => into.push_str("data from a descriptor"),
                    WaitKind::IoWrite if count > 1 => {
                        into.push_str("room to write to a descriptor")
                    }
                    WaitKind::Process if count > 1 => into.push_str("the end of a process"),
                    _ => push_wait(into, kind, detail, names),
                }
            }
            let times = group.actors.iter().map(|actor| actor.unchanged_for);
            let longest = times.max().unwrap_or_default();
            if !longest.is_zero() {
                into.push_str(if count > 1 { ", for up to " } else { ", for " });
                push_duration(into, longest);
            }
            into.push_str("\n         ");
            push_list(into, &group.actors);
            into.push('\n');
        }
    }

    /// Prints each distinct stack once.
    fn push_stacks(&self, into: &mut String, resolved: &Resolved, names: &mut Names, root: &str) {
        type Row<'a> = (&'a Frames, WaitKind, u64, &'a Actor);
        let mut rows: Vec<Row<'_>> = Vec::new();
        for actor in &self.snapshot.actors {
            for leaf in actor.leaves.iter().flat_map(|answer| &answer.leaves) {
                let frames = resolved.get(leaf.stack).filter(|frames| !frames.lines.is_empty());
                rows.extend(frames.map(|frames| (frames, leaf.kind, leaf.detail, actor)));
            }
        }
        if rows.is_empty() {
            return;
        }
        sort_by_key(&mut rows, |row| (row.0, row.1, row.3.id, row.2));
        rows.dedup_by_key(|row| (row.0, row.1, row.3.id));
        let mut stacks: Vec<&[Row<'_>]> = rows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).collect();
        sort_by_key(&mut stacks, |rows| {
            (usize::MAX - rows.len(), rows[0].3.id, rows[0].1, rows[0].0)
        });
        into.push_str("\nWhere they wait, as far as they were asked:\n");
        for rows in stacks {
            let (frames, kind, detail, _) = rows[0];
            let actors: Vec<&Actor> = rows.iter().map(|row| row.3).collect();
            put!(into, "{:>6} × ", actors.len());
            match kind {
                _ if actors.len() == 1 => push_wait(into, kind, detail, names),
                kind => into.push_str(kind_name(kind)),
            }
            into.push_str(": ");
            push_list(into, &actors);
            into.push('\n');
            for frame in &frames.lines {
                into.push_str("         ");
                push_frame(into, frame, root);
                into.push('\n');
            }
        }
    }

    fn push_workers(&self, into: &mut String) {
        if self.snapshot.workers.is_empty() {
            return;
        }
        into.push_str("\nThreads that do not return from user code:\n");
        for worker in &self.snapshot.workers {
            put!(into, "  runtime {}, ", worker.runtime);
            match worker.index {
                usize::MAX => into.push_str("a thread without a worker"),
                index => put!(into, "worker {index}"),
            }
            if let Some(task) = worker.task {
                put!(into, ": task {task}");
            }
            if let Some(time) = worker.stuck_for {
                into.push_str(", for ");
                push_duration(into, time);
            }
            if let Some(thread) = &worker.thread {
                put!(into, " ({thread})");
            }
            into.push('\n');
        }
    }

    fn push_runtimes(&self, into: &mut String) {
        into.push_str("\nRuntimes:\n");
        for runtime in &self.snapshot.runtimes {
            into.push_str("  ");
            push_runtime(into, runtime);
            self.push_state_of(into, runtime);
            into.push('\n');
        }
        let threads = self.snapshot.user_threads;
        put!(into, "Other threads that may run the program's own code: {threads}\n");
    }

    fn push_state_of(&self, into: &mut String, runtime: &RuntimeState) {
        let tasks = self.snapshot.actors.iter().filter(|actor| {
            actor.runtime == runtime.id
                && matches!(actor.kind, ActorKind::Task | ActorKind::LocalTask)
        });
        put!(into, ": tasks: {}, in queues: {}", tasks.count(), runtime.queued);
        if runtime.flavor != Flavor::LocalSet {
            let pool = runtime.blocking;
            put!(into, "; blocking pool: {} of {} threads busy", pool.busy, pool.threads_max);
            put!(into, ", jobs in its queue: {}", pool.queued);
        }
        if !runtime.is_driven {
            into.push_str("; no thread drives it");
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
    let sites = snapshot.actors.iter().filter_map(|actor| actor.site);
    let mut files: Vec<&str> = sites.map(Location::file).collect();
    sort(&mut files, |a, b| a < b);
    files.dedup();
    let root = |file: &&str| resolved.locations().find_map(|at| directory_of(at, file));
    files.iter().find_map(root).unwrap_or("")
}

/// Returns what comes before `file` in `location`, which is `path:line:column`.
fn directory_of<'a>(location: &'a str, file: &str) -> Option<&'a str> {
    let path = location.rsplitn(3, ':').last()?;
    path.strip_suffix(file).filter(|directory| directory.ends_with('/'))
}

fn push_frame(into: &mut String, frame: &Frame, root: &str) {
    into.push_str(&frame.function);
    if let Some(location) = &frame.location {
        put!(into, " at {}", location.strip_prefix(root).unwrap_or(location));
    }
}

/// Actors of one origin that wait for the same.
struct Group<'a> {
    waits: Vec<(WaitKind, u64)>,
    /// In the order of their ids.
    actors: Vec<&'a Actor>,
}

/// What the actors of a group have in common, apart from what they wait for.
type Origin = (ActorKind, Option<(&'static str, u32, u32)>, &'static str, ActorState);

fn origin(actor: &Actor) -> Origin {
    let place = |site: &'static Location<'static>| (site.file(), site.line(), site.column());
    let kind = match actor.kind {
        ActorKind::Thread { .. } => ActorKind::Thread { job: None },
        kind => kind,
    };
    (kind, actor.site.map(place), actor.type_name, actor.state)
}

/// What an actor waits for, so that actors which wait for the same kind of event are alike.
fn alike(kind: WaitKind, detail: u64) -> (WaitKind, u64) {
    match kind {
        WaitKind::Task
        | WaitKind::Time
        | WaitKind::IoRead
        | WaitKind::IoWrite
        | WaitKind::Process => (kind, 0),
        _ => (kind, detail),
    }
}

fn groups(actors: &[Actor]) -> Vec<Group<'_>> {
    type Row<'a> = (Origin, Vec<(WaitKind, u64)>, &'a Actor);
    let key = |row: &Row<'_>| (row.0, row.1.clone());
    let is_before = |a: &Row<'_>, b: &Row<'_>| (a.0, &a.1, a.2.id) < (b.0, &b.1, b.2.id);
    let waits = |actor: &Actor| -> Option<Vec<(WaitKind, u64)>> {
        let leaves = &actor.leaves.as_ref()?.leaves;
        let mut waits: Vec<_> = leaves.iter().map(|leaf| alike(leaf.kind, leaf.detail)).collect();
        sort(&mut waits, |a, b| a < b);
        waits.dedup();
        Some(waits)
    };
    let (mut rows, mut unasked): (Vec<Row<'_>>, Vec<&Actor>) = (Vec::new(), Vec::new());
    for actor in actors {
        match waits(actor) {
            Some(waits) => rows.push((origin(actor), waits, actor)),
            None => unasked.push(actor),
        }
    }
    sort(&mut rows, is_before);
    let mut kinds: Vec<(Origin, Vec<(WaitKind, u64)>)> = rows.iter().map(key).collect();
    kinds.dedup();
    for actor in unasked {
        let origin = origin(actor);
        let last = actor.last.map(|last| alike(last.kind, last.detail));
        // An actor that was not asked waits for the same as those like it that were.
        let start = kinds.partition_point(|kind| kind.0 < origin);
        let like = kinds[start..].iter().take_while(|kind| kind.0 == origin);
        let mut like = like.filter(|kind| last.is_some_and(|last| kind.1.contains(&last)));
        let waits = match like.next() {
            Some(kind) => kind.1.clone(),
            None => last.filter(|last| last.0 != WaitKind::Unknown).into_iter().collect(),
        };
        rows.push((origin, waits, actor));
    }
    sort(&mut rows, is_before);
    let same = |a: &Row<'_>, b: &Row<'_>| a.0 == b.0 && a.1 == b.1;
    let mut groups: Vec<Group<'_>> = rows
        .chunk_by(same)
        .map(|rows| Group {
            waits: details(rows[0].2, &rows[0].1),
            actors: rows.iter().map(|row| row.2).collect(),
        })
        .collect();
    sort_by_key(&mut groups, |group| (usize::MAX - group.actors.len(), group.actors[0].id));
    groups
}

/// Puts the details of one actor in what it waits for.
fn details(actor: &Actor, waits: &[(WaitKind, u64)]) -> Vec<(WaitKind, u64)> {
    let leaves = || actor.leaves.iter().flat_map(|answer| &answer.leaves);
    let detail = |wait: &(WaitKind, u64)| {
        let leaf = leaves().find(|leaf| alike(leaf.kind, leaf.detail) == *wait);
        let last = actor.last.filter(|last| alike(last.kind, last.detail) == *wait);
        let known = leaf.map(|leaf| leaf.detail).or(last.map(|last| last.detail));
        (wait.0, known.unwrap_or(wait.1))
    };
    waits.iter().map(detail).collect()
}

/// Prints the ids or names of actors.
fn push_list(into: &mut String, actors: &[&Actor]) {
    for (at, actor) in actors.iter().take(LISTED_MAX).enumerate() {
        into.push_str(if at > 0 { ", " } else { "" });
        push_actor(into, actor);
    }
    if let more @ 1.. = actors.len().saturating_sub(LISTED_MAX) {
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
