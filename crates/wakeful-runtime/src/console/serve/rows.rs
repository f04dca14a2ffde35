//! Tasks as rows that can be sorted and filtered, and groups of them.

use super::answer::{Query, not_allowed};
use super::json::Writer;
use crate::census::{
    Actor, ActorKind, ActorState, Names, TaskFigures, kind_name, push_wait, sort, sort_by_key,
};
use crate::console::Console;
use std::borrow::Cow;
use std::time::Duration;
use wakeful_base::threads::THREAD_ID;
use wakeful_base::waiting::WaitKind;

/// The limit on rows of an answer.
const ROWS_MAX: usize = 500;

/// How many rows `tasks` returns unless the request says so.
const ROWS_DEFAULT: u64 = 100;

pub(super) const STATES: [(&str, ActorState); 3] = [
    ("waiting", ActorState::Waiting),
    ("queued", ActorState::Queued),
    ("running", ActorState::Running),
];

/// The names of the kinds of things that are waited for, in the order of their numbers.
pub(super) const WAIT_NAMES: [&str; 23] = [
    "unknown",
    "turn",
    "task",
    "any_task",
    "time",
    "io_read",
    "io_write",
    "mutex",
    "rw_lock_read",
    "rw_lock_write",
    "semaphore",
    "mpsc_recv",
    "mpsc_send",
    "closed",
    "oneshot_recv",
    "notify",
    "watch",
    "broadcast",
    "barrier",
    "once_cell",
    "signal",
    "process",
    "pipe",
];

/// A value of a row. Rows without the value come first in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cell<'a> {
    None,
    Number(u64),
    Text(Cow<'a, str>),
    Bool(bool),
    /// An object that is waited for.
    Object(u64),
    /// What is waited for, as a text with the names of objects.
    Wait(WaitKind, u64),
}

/// Makes a value of an actor.
type Field = for<'a> fn(&'a Actor, &Clocks) -> Cell<'a>;

/// The members of a row.
const FIELDS: [(&str, Field); 25] = [
    ("id", |actor, _| Cell::Number(number(actor.id))),
    ("kind", |actor, _| text(kind(actor.kind))),
    ("runtime", |actor, _| some(Some(actor.runtime).filter(|runtime| *runtime != 0))),
    ("name", |actor, _| match (&actor.name, &actor.thread) {
        (Some(name), _) => text(name),
        (None, Some((_, name))) if !name.is_empty() => text(name),
        _ => Cell::None,
    }),
    ("site", |actor, _| actor.site.map_or(Cell::None, |at| Cell::Text(at.to_string().into()))),
    ("type", |actor, _| match actor.type_name {
        "" => Cell::None,
        name => text(name),
    }),
    ("state", |actor, _| text(state(actor.state))),
    ("wait", |actor, _| actor.last.map_or(Cell::None, |last| text(wait_name(last.kind)))),
    ("object", |actor, _| match actor.last {
        Some(last) if last.kind == WaitKind::Task => Cell::Number(last.detail),
        Some(last) if is_object(last.kind) => Cell::Object(last.detail),
        _ => Cell::None,
    }),
    ("fd", |actor, _| match actor.last {
        Some(last) if matches!(last.kind, WaitKind::IoRead | WaitKind::IoWrite) => {
            Cell::Number(last.detail)
        }
        _ => Cell::None,
    }),
    ("deadline_us", |actor, clocks| match actor.last {
        Some(last) if last.kind == WaitKind::Time => some(clocks.convert(actor, last.detail)),
        _ => Cell::None,
    }),
    ("waits_for", |actor, _| {
        actor.last.map_or(Cell::None, |last| Cell::Wait(last.kind, last.detail))
    }),
    ("unchanged_us", |actor, _| Cell::Number(us(actor.unchanged_for))),
    ("age_us", |actor, _| some(actor.age.map(us))),
    ("polls", |actor, _| recorded(actor, |record| record.polls)),
    ("busy_us", |actor, _| recorded(actor, |record| us(record.busy))),
    ("last_poll_us", |actor, _| recorded(actor, |record| us(record.last_poll))),
    ("last_poll_at_us", |actor, clocks| {
        let ago = actor.record.and_then(|record| record.last_poll_ago);
        some(ago.map(|ago| clocks.now_us.saturating_sub(us(ago))))
    }),
    ("wakes", |actor, _| recorded(actor, |record| record.wakes)),
    ("self_wakes", |actor, _| recorded(actor, |record| record.self_wakes)),
    ("woken_by", |actor, _| some(actor.record.and_then(|record| record.woken_by).map(number))),
    ("scheduled_us", |actor, _| recorded(actor, |record| us(record.scheduled))),
    ("scheduled_max_us", |actor, _| recorded(actor, |record| us(record.scheduled_max))),
    ("wakers", |actor, _| some(actor.wakers.map(|wakers| wakers as u64))),
    ("joinable", |actor, _| match actor.kind {
        ActorKind::Task | ActorKind::LocalTask => Cell::Bool(actor.has_join_handle),
        ActorKind::BlockingJob | ActorKind::Thread { .. } => Cell::None,
    }),
];

/// The fields in which the text of `filter` is searched.
const FILTERED: [usize; 4] = [3, 4, 5, 7];

fn us(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

fn recorded(actor: &Actor, figure: fn(&TaskFigures) -> u64) -> Cell<'static> {
    some(actor.record.as_ref().map(figure))
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

fn some(number: Option<u64>) -> Cell<'static> {
    number.map_or(Cell::None, Cell::Number)
}

/// Returns the number of an actor. That of a thread fits into a float.
pub(super) fn number(id: u64) -> u64 {
    id & !THREAD_ID
}

pub(super) fn kind(kind: ActorKind) -> &'static str {
    match kind {
        ActorKind::Task => "task",
        ActorKind::LocalTask => "local_task",
        ActorKind::BlockingJob => "blocking_job",
        ActorKind::Thread { .. } => "thread",
    }
}

fn state(state: ActorState) -> &'static str {
    let state = STATES.iter().find(|known| known.1 == state);
    state.map_or("", |state| state.0)
}

pub(super) fn wait_name(kind: WaitKind) -> &'static str {
    WAIT_NAMES.get(kind as usize).copied().unwrap_or(WAIT_NAMES[0])
}

/// Returns whether the detail of such a wait is an address.
pub(super) fn is_object(kind: WaitKind) -> bool {
    kind == WaitKind::Pipe || (WaitKind::Mutex..=WaitKind::OnceCell).contains(&kind)
}

/// The clocks of the runtimes, in relation to that of the console.
pub(super) struct Clocks {
    now_us: u64,
    /// The ids of runtimes, and the times of their clocks.
    runtimes: Vec<(u64, u64)>,
}

impl Clocks {
    pub(super) fn read(console: &Console, now_us: u64) -> Clocks {
        let runtimes = console.schedulers().into_iter().filter_map(|scheduler| {
            let info = scheduler.info();
            Some((info.id.get(), info.time.now_us()?))
        });
        Clocks { now_us, runtimes: runtimes.collect() }
    }

    /// Returns a time of the clock of an actor's runtime as a time of the console's.
    fn convert(&self, actor: &Actor, at_us: u64) -> Option<u64> {
        let own = self.runtimes.iter().find(|runtime| runtime.0 == actor.runtime);
        // A `LocalSet` has the clock of the runtime that it is in.
        let only = self.runtimes.first().filter(|_| self.runtimes.len() == 1);
        let (_, runtime_us) = own.or(only)?;
        (self.now_us + at_us).checked_sub(*runtime_us)
    }
}

/// Writes the members of a row.
pub(super) fn put_row(json: &mut Writer, actor: &Actor, clocks: &Clocks, names: &mut Names) {
    json.open('{');
    for (name, field) in FIELDS {
        match field(actor, clocks) {
            Cell::None => {}
            Cell::Number(number) => json.number_member(name, number),
            Cell::Text(text) => json.text_member(name, &text),
            Cell::Bool(value) => json.bool_member(name, value),
            Cell::Object(address) => json.name(name).address(address),
            Cell::Wait(kind, detail) => {
                let mut text = String::new();
                push_wait(&mut text, kind, detail, names);
                json.text_member(name, &text);
            }
        }
    }
    json.close('}');
}

pub(super) fn tasks(query: &mut Query<'_>) -> Result<(), String> {
    let field = match query.text("sort")? {
        None => FIELDS[0],
        Some(name) => *FIELDS
            .iter()
            .find(|field| field.0 == name)
            .ok_or_else(|| not_allowed("sort", name, FIELDS.iter().map(|field| field.0)))?,
    };
    let state = match query.text("state")? {
        None => None,
        Some(name) => Some(
            STATES
                .iter()
                .find(|state| state.0 == name)
                .ok_or_else(|| not_allowed("state", name, STATES.iter().map(|state| state.0)))?,
        ),
    };
    let descending = query.flag("descending", false)?;
    let offset = query.number("offset", u64::from(u32::MAX))?.unwrap_or(0) as usize;
    let limit = query.number("limit", ROWS_MAX as u64)?.unwrap_or(ROWS_DEFAULT) as usize;
    let runtime = query.number("runtime", u64::MAX)?;
    let filter = query.text("filter")?.unwrap_or_default().to_owned();
    let only_kind = query.text("kind")?.map(str::to_owned);
    let only_wait = query.text("wait")?.map(str::to_owned);
    let snapshot = query.recent_glance();
    let clocks = Clocks::read(query.console, query.process.now_us());
    let is_selected = |actor: &&Actor| {
        let has_text = |at: &usize| match FIELDS[*at].1(actor, &clocks) {
            Cell::Text(text) => text.contains(&*filter),
            _ => false,
        };
        state.is_none_or(|state| actor.state == state.1)
            && runtime.is_none_or(|runtime| actor.runtime == runtime)
            && only_kind.as_ref().is_none_or(|name| kind(actor.kind) == name)
            && only_wait
                .as_ref()
                .is_none_or(|name| actor.last.is_some_and(|last| wait_name(last.kind) == name))
            && (filter.is_empty() || FILTERED.iter().any(has_text))
    };
    let selected = snapshot.actors.iter().filter(is_selected);
    let mut selected: Vec<(Cell<'_>, &Actor)> =
        selected.map(|actor| (field.1(actor, &clocks), actor)).collect();
    sort(&mut selected, |a, b| (&a.0, a.1.id) < (&b.0, b.1.id));
    if descending {
        selected.reverse();
    }
    let json = &mut query.json;
    json.number_member("total", snapshot.actors.len() as u64);
    json.number_member("matching", selected.len() as u64);
    json.name("rows").open('[');
    for (_, actor) in selected.iter().skip(offset).take(limit) {
        put_row(json, actor, &clocks, query.names);
    }
    json.close(']');
    Ok(())
}

/// Actors of the same origin and state that wait for the same kind of thing.
type Group<'a> = (&'static str, Option<(&'static str, u32, u32)>, &'a str, ActorState, WaitKind);

fn group_of(actor: &Actor) -> Group<'_> {
    let site = actor.site.map(|site| (site.file(), site.line(), site.column()));
    let wait = actor.last.map_or(WaitKind::Unknown, |last| last.kind);
    (kind(actor.kind), site, actor.type_name, actor.state, wait)
}

pub(super) fn groups(query: &mut Query<'_>) -> Result<(), String> {
    let snapshot = query.recent_glance();
    let clocks = Clocks { now_us: 0, runtimes: Vec::new() };
    let mut actors: Vec<&Actor> = snapshot.actors.iter().collect();
    sort_by_key(&mut actors, |actor| group_of(actor));
    let mut groups: Vec<&[&Actor]> = actors.chunk_by(|a, b| group_of(a) == group_of(b)).collect();
    sort_by_key(&mut groups, |group| (usize::MAX - group.len(), group_of(group[0])));
    let json = &mut query.json;
    json.number_member("total", groups.len() as u64);
    json.name("rows").open('[');
    for group in groups.into_iter().take(ROWS_MAX) {
        json.open('{');
        for name in ["kind", "site", "type", "state", "wait"] {
            let field = FIELDS.iter().find(|field| field.0 == name);
            if let Some(Cell::Text(text)) = field.map(|field| field.1(group[0], &clocks)) {
                json.text_member(name, &text);
            }
        }
        if let Some(last) = group[0].last {
            json.text_member("waits_for", kind_name(last.kind));
        }
        json.number_member("tasks", group.len() as u64);
        let records: Vec<TaskFigures> = group.iter().filter_map(|actor| actor.record).collect();
        if !records.is_empty() {
            json.number_member("polls", records.iter().map(|record| record.polls).sum());
            json.number_member("busy_us", us(records.iter().map(|record| record.busy).sum()));
        }
        let longest = group.iter().map(|actor| actor.unchanged_for).max();
        json.number_member("unchanged_max_us", us(longest.unwrap_or_default()));
        json.close('}');
    }
    json.close(']');
    Ok(())
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;
    use wakeful_base::waiting::WAIT_KINDS;

    #[test]
    fn kinds_of_waits_have_their_names_in_snake_case() {
        for kind in WAIT_KINDS {
            let mut name = String::new();
            for c in format!("{kind:?}").chars() {
                if c.is_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.extend(c.to_lowercase());
            }
            assert_eq!(wait_name(kind), name);
        }
    }

    #[test]
    fn filters_look_into_names_sites_types_and_waits() {
        assert_eq!(FILTERED.map(|at| FIELDS[at].0), ["name", "site", "type", "wait"]);
    }
}
