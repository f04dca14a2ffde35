//! What tasks do, in the order in which they do it.

use std::cell::RefCell;

/// A task's number and what it did; the number of the step with it, for those with several.
pub type Event = (u32, What, u64);

/// What a task did.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Its first poll began.
    Begins,
    /// It goes on after it has waited.
    GoesOn,
    /// It comes to its end by itself.
    Ends,
    /// Its future was dropped.
    IsDropped,
    /// Its output was dropped.
    OutputIsDropped,
}

thread_local! {
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Writes an event down.
pub fn happened(task: u32, what: What, detail: u64) {
    // What is dropped with the thread is of no interest any more.
    let _ = EVENTS.try_with(|events| events.borrow_mut().push((task, what, detail)));
}

/// Takes the events since the last look: first what tasks did, in order, then what was dropped. The order in which several
/// tasks or outputs are dropped by one call is not promised.
pub fn take() -> Vec<Event> {
    let mut events = EVENTS.with(|events| std::mem::take(&mut *events.borrow_mut()));
    let is_drop = |what| matches!(what, What::IsDropped | What::OutputIsDropped);
    events.sort_by_key(|&(task, what, _)| is_drop(what).then_some((what, task)));
    events
}
