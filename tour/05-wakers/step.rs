//! Wakers by hand: what is behind `cx.waker()`.
//!
//! A waker is a word of data and four functions. What the word means only the functions know:
//!
//! - [`over_arc`]: it is an `Arc` of the task, which is what most runtimes do;
//! - [`ledger`]: the same with one of the four functions wrong, and what becomes of the task;
//! - [`by_id`]: it is a number, the task's id.

use std::mem;
use std::sync::Arc;
use std::task::Waker;

use crate::timeline::Timeline;
use ledger::{Ledger, Mistake};
use over_arc::Bell;

mod by_id;
mod ledger;
mod over_arc;
#[cfg(test)]
mod tests;

/// Every function of the vtable once, with the count of references after each.
fn count_references(timeline: &Timeline) {
    let bell = Arc::new(Bell::new("task", timeline));
    let note = |what: &str, bell: &Arc<Bell>| {
        timeline.note("bell", format!("{what}, references: {}", Arc::strong_count(bell)));
    };
    note("made", &bell);
    let waker = over_arc::waker(bell.clone());
    note("a waker made of it", &bell);
    let another = waker.clone();
    note("clone", &bell);
    another.wake_by_ref();
    note("wake_by_ref", &bell);
    another.wake();
    note("wake", &bell);
    drop(waker);
    note("drop", &bell);
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("A waker over an Arc");
    let (waker, maybe) = (mem::size_of::<Waker>(), mem::size_of::<Option<Waker>>());
    timeline.note("waker", format!("{waker} bytes, and {maybe} if there may be none"));
    count_references(timeline);

    for mistake in Mistake::ALL {
        timeline.scene(mistake.title());
        ledger::live_and_die(&Ledger::new(mistake, timeline));
    }

    timeline.scene("A waker that is a number");
    by_id::run(timeline);
}
