//! The sentences that explain verdicts.

use super::graph::Index;
use super::{Draft, Extra, LONG, Verdict, VerdictKind, Why};
use crate::census::snapshot::{
    Actor, ActorKind, BlockingState, ChannelUse, Flavor, RuntimeState, Snapshot, WorkerState,
};
use crate::census::sort::sort_by_key;
use crate::census::write::{push, put};
use std::time::Duration;
use wakeful_base::threads::THREAD_ID;
use wakeful_base::waiting::WaitKind;

/// Short names for the addresses of locks and channels: numbers, in the order of their first use.
#[derive(Debug, Default, Clone)]
pub(crate) struct Names {
    /// Each address that has a number, in the order of the addresses.
    known: Vec<(u64, usize)>,
    /// The last number that was given.
    last: usize,
}

/// How many names [`Names::limit`] keeps.
const NAMES_MAX: usize = 20_000;

impl Names {
    /// Forgets the names if they are too many: in hours, a client sees very many objects. No number
    /// is given again.
    pub(crate) fn limit(&mut self) {
        if self.known.len() > NAMES_MAX {
            self.known.clear();
        }
    }

    /// Returns the number of the object at this address.
    #[inline(never)]
    pub(crate) fn number(&mut self, address: u64) -> usize {
        match self.known.binary_search_by_key(&address, |known| known.0) {
            Ok(at) => self.known[at].1,
            Err(at) => {
                self.last += 1;
                self.known.insert(at, (address, self.last));
                self.last
            }
        }
    }
}

/// Appends what an actor is called: `task 3`, `thread "main"`.
#[inline(never)]
pub(crate) fn push_actor(into: &mut String, actor: &Actor) {
    match (actor.kind, &actor.thread) {
        (ActorKind::Thread { .. }, Some((id, name))) if name.is_empty() => {
            put!(into, "thread {id}");
        }
        (ActorKind::Thread { .. }, Some((_, name))) => put!(into, "thread \"{name}\""),
        (ActorKind::Thread { .. }, None) => put!(into, "thread #{}", actor.id & !THREAD_ID),
        (kind, _) => put!(into, "{kind} {}", actor.id),
    }
}

/// Appends what an actor is called, and where it comes from.
#[inline(never)]
fn introduce(into: &mut String, actor: &Actor) {
    push_actor(into, actor);
    if let Some(site) = actor.site {
        let begun = match actor.kind {
            ActorKind::Thread { .. } => "in `block_on` at",
            _ => "spawned at",
        };
        put!(into, " ({begun} {site})");
    }
}

/// Appends a duration as the stall report prints it, and long ones in seconds.
#[inline(never)]
pub(crate) fn push_duration(into: &mut String, duration: Duration) {
    // Not printed as a float: that code would add much to the size of every program.
    let (tenths, unit) = match duration.as_millis() as u64 {
        0..1_000 => (duration.as_micros() as u64 / 100, "ms"),
        millis => (millis / 100, "s"),
    };
    put!(into, "{}.{} {unit}", tenths / 10, tenths % 10);
}

/// Appends what a runtime is called.
pub(crate) fn push_runtime(into: &mut String, runtime: &RuntimeState) {
    push(
        into,
        match runtime.flavor {
            Flavor::CurrentThread => "current-thread runtime ",
            Flavor::MultiThread => "runtime ",
            Flavor::LocalSet => "`LocalSet` ",
        },
    );
    put!(into, "{}", runtime.id);
    if let Some(name) = &runtime.name {
        put!(into, " \"{name}\"");
    }
}

/// The noun for what is waited at.
pub(crate) fn noun(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Mutex => "mutex",
        WaitKind::RwLockRead | WaitKind::RwLockWrite => "rwlock",
        WaitKind::Semaphore => "semaphore",
        WaitKind::MpscRecv | WaitKind::MpscSend | WaitKind::Closed => "mpsc channel",
        WaitKind::OneshotRecv => "oneshot channel",
        WaitKind::Notify => "notify",
        WaitKind::Watch => "watch channel",
        WaitKind::Broadcast => "broadcast channel",
        WaitKind::Barrier => "barrier",
        WaitKind::OnceCell => "once-cell",
        WaitKind::Pipe => "pipe",
        _ => "object",
    }
}

/// Appends what is waited for, as it follows "waits for".
#[inline(never)]
pub(crate) fn push_wait(into: &mut String, kind: WaitKind, detail: u64, names: &mut Names) {
    let prefix = match kind {
        WaitKind::Unknown => return push(into, "something unknown"),
        WaitKind::Turn => return push(into, "its next turn"),
        WaitKind::AnyTask => return push(into, "the end of any task of a set"),
        WaitKind::Time => return push(into, "a point in time"),
        WaitKind::Task => return put!(into, "the end of task {detail}"),
        WaitKind::IoRead => return put!(into, "data from descriptor {detail}"),
        WaitKind::IoWrite => return put!(into, "room to write to descriptor {detail}"),
        WaitKind::Signal => return put!(into, "signal {detail}"),
        WaitKind::Process => return put!(into, "the end of process {detail}"),
        WaitKind::RwLockRead => "a read lock of ",
        WaitKind::RwLockWrite => "the write lock of ",
        WaitKind::Semaphore => "permits of ",
        WaitKind::MpscRecv | WaitKind::Broadcast => "a message from ",
        WaitKind::MpscSend => "room in ",
        WaitKind::Closed => "the end of the receivers of ",
        WaitKind::OneshotRecv => "the value of ",
        WaitKind::Notify => "a notification of ",
        WaitKind::Watch => "a new value of ",
        WaitKind::Barrier => "the other parties of ",
        WaitKind::OnceCell => "the initialization of ",
        WaitKind::Pipe => "the other end of ",
        _ => "",
    };
    put!(into, "{prefix}{} {}", noun(kind), names.number(detail));
}

impl Draft {
    /// Writes the text.
    pub(super) fn finish(self, snapshot: &Snapshot, index: &Index, names: &mut Names) -> Verdict {
        let Draft { mut verdict, links, extra } = self;
        let mut line = Line { snapshot, names, text: String::new() };
        let runtime = match extra {
            Extra::Runtime(at) => snapshot.runtimes.get(at),
            _ => None,
        };
        match verdict.kind {
            _ if matches!(extra, Extra::UnknownHolders) => line.unknown_holders(&verdict, &links),
            VerdictKind::Deadlock
            | VerdictKind::SelfDeadlock
            | VerdictKind::Futurelock
            | VerdictKind::JoinCycle
            | VerdictKind::ChannelCycle => line.cycle(&links, index),
            VerdictKind::PoolExhausted => line.pool(&verdict, &links, runtime, index),
            VerdictKind::NotDriven => line.not_driven(&verdict, &links, runtime, index),
            VerdictKind::SemaphoreExhausted => {
                line.list(&links);
                line.waits_for(&verdict, links.len());
                line.put(if links.len() == 1 {
                    ", and holds permits of it itself"
                } else {
                    ", and they hold its permits themselves"
                });
            }
            VerdictKind::LeakedPermits => {
                line.list(&links);
                line.waits_for(&verdict, links.len());
                if let Extra::Forgotten(count) = extra {
                    put!(&mut line.text, ", but no task holds any, and {count} were forgotten");
                }
            }
            VerdictKind::LostWaker => {
                line.list(&links);
                line.put(" waits, and no waker of it exists");
                if links.iter().any(|link| !snapshot.actors[link.actor].has_join_handle) {
                    line.put(", nor a `JoinHandle`");
                }
            }
            VerdictKind::BarrierShort => {
                line.list(&links);
                line.waits_for(&verdict, links.len());
                if let Extra::Parties(waiting, limit) = extra {
                    put!(
                        &mut line.text,
                        ": {waiting} of {limit} are there, and no actor can join them"
                    );
                }
            }
            VerdictKind::ForgottenSender => {
                line.list(&links);
                line.waits_for(&verdict, links.len());
                line.put(", and a sender exists, but no task or thread is left to send");
                line.senders(&verdict);
            }
            VerdictKind::AllAsleep => {
                line.put("every task and thread waits for another one: ");
                line.each(&links);
            }
            VerdictKind::BlockedWorker => line.blocked(runtime),
            VerdictKind::SpinningTask => {
                line.list(&links);
                line.put(if links.len() == 1 { " is" } else { " are" });
                line.put(" polled all the time and never waits");
                let polls: u64 = links.iter().map(|link| snapshot.actors[link.actor].polls).sum();
                put!(&mut line.text, " ({polls} polls in ");
                push_duration(&mut line.text, snapshot.took);
                line.put(")");
                if let Extra::Starved(count @ 1..) = extra {
                    put!(&mut line.text, "; {count} queued for a second or more");
                }
            }
            VerdictKind::StarvedTask => {
                line.list(&links);
                line.put(if links.len() == 1 {
                    " has been queued for "
                } else {
                    " have been queued for up to "
                });
                let longest = line.times(&links).1;
                push_duration(&mut line.text, longest);
            }
            VerdictKind::HeldAcrossWait => line.held(&verdict, &links),
        }
        line.others(&verdict);
        let is_once_cell = |object: &(WaitKind, u64)| object.0 == WaitKind::OnceCell;
        line.put(match verdict.kind {
            VerdictKind::SelfDeadlock if verdict.objects.iter().any(is_once_cell) => {
                ". Do not use a once-cell within its own initialization"
            }
            kind => advice(kind),
        });
        verdict.text = line.text;
        verdict
    }
}

/// What to do, as a sentence that follows another one.
fn advice(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Deadlock => {
            ". Acquire in the same order everywhere, or release before waiting"
        }
        VerdictKind::SelfDeadlock => ". Drop the guard before acquiring again",
        VerdictKind::Futurelock => {
            ". Poll the future that has the lock, or drop it, before waiting for the lock again"
        }
        VerdictKind::JoinCycle => ". No task can end: one of them must not wait for the others",
        VerdictKind::ChannelCycle => {
            ". Receive while sending, as with `select!`, or use `try_send` or an unbounded channel"
        }
        VerdictKind::SemaphoreExhausted => {
            ". Acquire all permits at once with `acquire_many`, or release before acquiring again"
        }
        VerdictKind::LeakedPermits => {
            ". Drop the permits instead of forgetting them, or add new ones with `add_permits`"
        }
        VerdictKind::LostWaker => {
            ". A future returned `Pending` without storing the waker, or its waker was dropped; \
             `std::future::pending` does so on purpose"
        }
        VerdictKind::NotDriven => ". Call `block_on` of the runtime, or `run_until` of the set",
        VerdictKind::PoolExhausted => {
            ". Do not block on a job from within a job, or raise `max_blocking_threads`"
        }
        VerdictKind::BarrierShort => ". Compare the barrier's size with the number of tasks",
        VerdictKind::ForgottenSender => {
            ". Drop all senders that are not used, above all the receiver's own"
        }
        VerdictKind::AllAsleep => {
            ". A message, notification or wake-up came too early, or its sender is gone"
        }
        VerdictKind::BlockedWorker => {
            ". Use `spawn_blocking` for calls that block, and `.await` instead of blocking locks"
        }
        VerdictKind::SpinningTask => {
            ". A future wakes itself in each poll: it has to return `Pending` until it is woken"
        }
        VerdictKind::StarvedTask => ". Look for tasks that do not yield",
        VerdictKind::HeldAcrossWait => ". Drop the guard before waiting, or set a timeout",
    }
}

/// A verdict's text in the making.
struct Line<'a> {
    snapshot: &'a Snapshot,
    names: &'a mut Names,
    text: String,
}

/// How many actors a line lists at most.
pub(crate) const LISTED_MAX: usize = 8;

impl<'a> Line<'a> {
    #[inline(never)]
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Returns the shortest and the longest time for which an actor has not changed.
    fn times(&self, links: &[super::Link]) -> (Duration, Duration) {
        let (mut shortest, mut longest) = (Duration::MAX, Duration::ZERO);
        for link in links {
            let time = self.snapshot.actors[link.actor].unchanged_for;
            (shortest, longest) = (shortest.min(time), longest.max(time));
        }
        (shortest, longest)
    }

    /// Appends a list of actors.
    fn list(&mut self, links: &[super::Link]) {
        for (at, link) in links.iter().take(LISTED_MAX).enumerate() {
            if at > 0 {
                self.put(if at + 1 == links.len() { " and " } else { ", " });
            }
            introduce(&mut self.text, &self.snapshot.actors[link.actor]);
        }
        if let more @ 1.. = links.len().saturating_sub(LISTED_MAX) {
            put!(&mut self.text, " and {more} more");
        }
    }

    /// Appends what the first member waits for.
    fn waits_for(&mut self, verdict: &Verdict, count: usize) {
        self.put(if count == 1 { " waits for " } else { " wait for " });
        let waits = verdict.members.first().and_then(|member| member.waits);
        let (kind, detail) = waits.unwrap_or((WaitKind::Unknown, 0));
        push_wait(&mut self.text, kind, detail, self.names);
    }

    /// Appends whether the first member has made or used a sender of its channel itself, if that is
    /// recorded.
    fn senders(&mut self, verdict: &Verdict) {
        let channel = verdict.objects.first().map(|object| object.1);
        let receiver = verdict.members.first().map(|member| member.id);
        let is_own = |used: &ChannelUse| {
            used.is_sender && Some(used.object) == channel && Some(used.by) == receiver
        };
        if self.snapshot.holdings.channels.iter().any(is_own) {
            self.put(" (the receiver's own task has made or used a sender)");
        }
    }

    /// Appends what each actor waits for.
    fn each(&mut self, links: &[super::Link]) {
        for (at, link) in links.iter().take(LISTED_MAX).enumerate() {
            self.put(if at > 0 { "; " } else { "" });
            introduce(&mut self.text, &self.snapshot.actors[link.actor]);
            self.why(link.why);
        }
        if let more @ 1.. = links.len().saturating_sub(LISTED_MAX) {
            put!(&mut self.text, "; and {more} more");
        }
    }

    /// Appends what an actor waits for.
    fn why(&mut self, why: Why) {
        match why {
            Why::Waits { kind, detail, .. } => {
                self.put(" waits for ");
                push_wait(&mut self.text, kind, detail, self.names);
            }
            Why::InBlockOn => self.put(" is in `block_on`"),
            Why::NotDriven => self.put(" cannot be polled"),
            Why::InPoolQueue => self.put(" is queued in the blocking pool"),
            Why::NoWaker => self.put(" waits, and no waker of it exists"),
            Why::End => {}
        }
    }

    /// Appends actors that wait for locks and channels whose holders are not known.
    fn unknown_holders(&mut self, verdict: &Verdict, links: &[super::Link]) {
        self.each(links);
        let waits_at =
            |kinds: &[WaitKind]| verdict.objects.iter().any(|(kind, _)| kinds.contains(kind));
        self.put(". All other tasks and threads wait, too, so ");
        let are_channels = verdict.objects.iter().all(|(kind, _)| *kind == WaitKind::MpscSend);
        self.put(if are_channels { "none of them receives" } else { "nothing is released" });
        if self.snapshot.holdings.are_complete {
            return self.ended_holders(links);
        }
        // What would be known if the program had been watched.
        if waits_at(&[WaitKind::Mutex, WaitKind::OnceCell]) {
            self.put("; `WAKEFUL_CONSOLE=watch` records the holders from the start");
        }
    }

    /// Appends the tasks that have acquired locks and ended without releasing them.
    fn ended_holders(&mut self, links: &[super::Link]) {
        for link in links.iter().take(LISTED_MAX) {
            for leaf in self.snapshot.actors[link.actor].leaves() {
                let Some(holder) = leaf.details.holder else { continue };
                let is_there = self.snapshot.actors.iter().any(|it| it.id as u32 == holder.id_low);
                if holder.id_low != 0 && !holder.is_thread && !is_there {
                    let number = self.names.number(leaf.detail);
                    put!(&mut self.text, "; {} {number} was acquired by task ", noun(leaf.kind));
                    put!(&mut self.text, "{}, which has ended without releasing it", holder.id_low);
                }
            }
        }
    }

    /// Appends a cycle: each link, and its relation to the next.
    fn cycle(&mut self, links: &[super::Link], index: &Index) {
        for (at, link) in links.iter().enumerate() {
            if at == 0 {
                introduce(&mut self.text, &self.snapshot.actors[link.actor]);
            } else {
                self.put(", which");
            }
            self.link(links, at, index);
        }
    }

    fn link(&mut self, links: &[super::Link], at: usize, index: &Index) {
        let snapshot = self.snapshot;
        let link = links[at];
        let next = &snapshot.actors[links[(at + 1) % links.len()].actor];
        let is_last = at + 1 == links.len();
        let is_self = links.len() == 1;
        let mut name = String::new();
        match (is_self, is_last) {
            (true, _) => push(&mut name, "it"),
            (_, true) => push_actor(&mut name, next),
            _ => introduce(&mut name, next),
        }
        let Why::Waits { kind, detail, is_granted, has_holder, has_own_waker } = link.why else {
            self.why(link.why);
            match (link.why, next.site) {
                (Why::InBlockOn, Some(site)) => put!(&mut self.text, " at {site}"),
                (Why::NotDriven, _) if !is_self => put!(&mut self.text, " except by {name}"),
                _ => {}
            }
            return;
        };
        if kind == WaitKind::Task {
            self.put(" waits for the end of ");
            match index.actor(detail) {
                Some(_) if is_self => self.put("itself"),
                _ => self.put(&name),
            }
            return;
        }
        self.why(link.why);
        if !has_own_waker {
            self.put(" in one of several futures that it polls");
        }
        if is_granted && is_self {
            return self
                .put(", which was granted to another of its futures, which it does not poll");
        }
        let of = if is_self { "itself".into() } else { name };
        if is_granted {
            put!(&mut self.text, ", which was granted to a future of {of} that is not polled");
            return;
        }
        match kind {
            WaitKind::MpscSend => put!(&mut self.text, ", whose receiver is with {of}"),
            WaitKind::RwLockRead if !has_holder => put!(&mut self.text, ", queued behind {of}"),
            WaitKind::Semaphore => put!(&mut self.text, ", which are held by {of}"),
            WaitKind::OnceCell => put!(&mut self.text, ", which is done by {of}"),
            _ => put!(&mut self.text, ", which is held by {of}"),
        }
    }

    fn runtime(&mut self, runtime: &RuntimeState) {
        push_runtime(&mut self.text, runtime);
    }

    fn pool(
        &mut self,
        verdict: &Verdict,
        links: &[super::Link],
        runtime: Option<&RuntimeState>,
        index: &Index,
    ) {
        if let Some(runtime) = runtime {
            let BlockingState { busy, threads_max, queued } = runtime.blocking;
            put!(&mut self.text, "{busy} of {threads_max} threads of the blocking pool of ");
            self.runtime(runtime);
            put!(&mut self.text, " run jobs, and {queued} more are queued: ");
        }
        if verdict.affected > 0 && links.iter().all(|link| link.why == Why::End) {
            self.list(links);
            self.put(if links.len() == 1 { " has run for " } else { " have run for " });
            let shortest = self.times(links).0;
            push_duration(&mut self.text, shortest);
            self.put(" or longer");
        } else {
            self.cycle(links, index);
        }
    }

    fn not_driven(
        &mut self,
        verdict: &Verdict,
        links: &[super::Link],
        runtime: Option<&RuntimeState>,
        index: &Index,
    ) {
        self.put("no thread drives ");
        if let Some(runtime) = runtime {
            self.runtime(runtime);
        }
        if links.is_empty() {
            return;
        }
        self.put(": ");
        let is_cycle = verdict.members.iter().any(|member| member.waits.is_some());
        if is_cycle && links.len() > 1 {
            self.cycle(links, index);
        } else {
            self.list(links);
            self.put(" cannot go on");
        }
    }

    fn blocked(&mut self, runtime: Option<&RuntimeState>) {
        let Some(runtime) = runtime else { return };
        let snapshot = self.snapshot;
        let workers = || snapshot.workers.iter().filter(|worker| worker.runtime == runtime.id);
        let stuck = |worker: &&WorkerState| worker.stuck_for.is_some_and(|time| time >= LONG);
        let mut blocked: Vec<&WorkerState> = workers().filter(stuck).collect();
        sort_by_key(&mut blocked, |it| (it.task.is_none(), it.task, it.index));
        let count = blocked.len();
        self.runtime(runtime);
        self.put(match (runtime.flavor, count) {
            (Flavor::LocalSet, _) => " has a blocked thread: ",
            (_, 1) => " has a blocked worker: ",
            _ => " has blocked workers: ",
        });
        for (at, worker) in blocked.iter().take(LISTED_MAX).enumerate() {
            self.put(if at > 0 { "; " } else { "" });
            let task = snapshot.actors.iter().find(|actor| Some(actor.id) == worker.task);
            match task {
                Some(task) => introduce(&mut self.text, task),
                None => self.put("user code"),
            }
            match (task.map(|task| task.kind), worker.index) {
                (Some(ActorKind::Thread { .. }), _) => {
                    self.put(" has not returned from a poll for ")
                }
                (_, usize::MAX) => self.put(" has blocked its thread for "),
                (_, index) => put!(&mut self.text, " has blocked worker {index} for "),
            }
            push_duration(&mut self.text, worker.stuck_for.unwrap_or_default());
            if let Some(thread) = &worker.thread {
                put!(&mut self.text, " ({thread})");
            }
        }
        if let more @ 1.. = count.saturating_sub(LISTED_MAX) {
            put!(&mut self.text, "; and {more} more");
        }
    }

    fn held(&mut self, verdict: &Verdict, links: &[super::Link]) {
        let (Some(link), Some((kind, lock))) = (links.first(), verdict.objects.first()) else {
            return;
        };
        introduce(&mut self.text, &self.snapshot.actors[link.actor]);
        let is_granted = matches!(link.why, Why::Waits { is_granted: true, .. });
        self.put(if is_granted { " was granted " } else { " holds " });
        put!(&mut self.text, "{} {}", noun(*kind), self.names.number(*lock));
        self.put(if is_granted { ", has not polled the future that has it, and" } else { " and" });
        self.why(link.why);
    }

    /// Appends how many others are concerned.
    fn others(&mut self, verdict: &Verdict) {
        let count = verdict.affected;
        if count == 0 || verdict.kind == VerdictKind::SpinningTask {
            return;
        }
        let what = match verdict.kind {
            VerdictKind::HeldAcrossWait if count == 1 => "waits for the lock",
            VerdictKind::HeldAcrossWait => "wait for the lock",
            VerdictKind::BlockedWorker if count == 1 => "other task is queued",
            VerdictKind::BlockedWorker => "other tasks are queued",
            VerdictKind::PoolExhausted if matches!(verdict.members.first(), Some(m) if m.waits.is_none()) =>
            {
                return;
            }
            _ if count == 1 => "more waits for this",
            _ => "more wait for this",
        };
        put!(&mut self.text, "; {count} {what}");
    }
}
