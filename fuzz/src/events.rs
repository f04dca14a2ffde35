//! Records what the tasks of a script do, in order.

use std::cell::RefCell;

/// The number of a task, what it did, and a detail, such as the number of the step in the task.
pub type Event = (u32, What, u64);

/// What a task did.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// It was polled for the first time.
    Started,
    /// It continued after a wait.
    Continues,
    /// It ran to completion.
    Ended,
    /// Its future was dropped.
    Dropped,
    /// Its output was dropped.
    OutputDropped,
}

thread_local! {
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Records an event.
pub fn happened(task: u32, what: What, detail: u64) {
    // Drops during the destruction of the thread's locals are not recorded.
    let _ = EVENTS.try_with(|events| events.borrow_mut().push((task, what, detail)));
}

/// Returns the events since the last call: first what tasks did, in order, then the drops, sorted.
/// Neither library promises the order in which one call drops several tasks or outputs.
pub fn take() -> Vec<Event> {
    let mut events = EVENTS.with(|events| std::mem::take(&mut *events.borrow_mut()));
    let is_drop = |what| matches!(what, What::Dropped | What::OutputDropped);
    events.sort_by_key(|&(task, what, _)| is_drop(what).then_some((what, task)));
    events
}
