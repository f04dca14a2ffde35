//! Wakers by hand: what is behind `cx.waker()`.
//!
//! A waker is a word of data and four functions. What the word means only the functions know:
//!
//! - [`over_arc`]: it is an `Arc` of the task, which is what most runtimes do;
//! - [`borrowed`]: the same, with a reference that is only lent;
//! - [`ledger`]: the first with one of the four functions wrong, and what becomes of the task;
//! - [`by_id`]: it is a number, the task's id.
//!
//! [`send_sync`] asks which values may go to other threads, and [`lost`] what a task looks like whose
//! waker is gone.
//!
//! 手写 waker：`cx.waker()` 的背后。waker 是一个机器字的数据，加四个函数；这个机器字是什么意思，只
//! 有函数知道：[`over_arc`]，它是任务的 `Arc`，多数运行时都这样；[`borrowed`]，同上，但引用是借来
//! 的；[`ledger`]，同第一种，但四个函数里有一个写错了；[`by_id`]，它是一个数字，任务的编号。
//! [`send_sync`] 讲哪些值可以给别的线程；[`lost`] 看一个丢失了 waker 的任务是什么样子。

use std::mem;
use std::sync::Arc;
use std::task::Waker;

use crate::timeline::Timeline;
use ledger::{Ledger, Mistake};
use over_arc::Bell;

mod borrowed;
mod by_id;
mod ledger;
mod lost;
mod over_arc;
mod send_sync;
#[cfg(test)]
mod solutions;
#[cfg(test)]
mod tests;

/// A bell, and a function that notes how many references to it there are.
fn bell(timeline: &Timeline) -> (Arc<Bell>, impl Fn(&str, &Arc<Bell>)) {
    let note = |what: &str, bell: &Arc<Bell>| {
        timeline.note("bell", format!("{what}, references: {}", Arc::strong_count(bell)));
    };
    (Arc::new(Bell::new("task", timeline)), note)
}

/// A waker that is lent for a while, and a clone that outlives it.
fn count_borrowed(timeline: &Timeline) {
    let (bell, note) = bell(timeline);
    note("made", &bell);
    let clone = {
        let waker = borrowed::waker_ref(&bell);
        note("a borrowed waker of it", &bell);
        let clone = waker.clone();
        note("clone of the borrowed waker", &bell);
        waker.wake_by_ref();
        note("wake_by_ref", &bell);
        clone
    };
    note("the borrowed waker has ended", &bell);
    drop(clone);
    note("drop", &bell);
}

/// Every function of the vtable once, with the count of references after each.
fn count_references(timeline: &Timeline) {
    let (bell, note) = bell(timeline);
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

    timeline.scene("A waker that is borrowed, as waker_ref does it");
    count_borrowed(timeline);

    timeline.scene("Send and Sync: which values may other threads have?");
    send_sync::run(timeline);

    for mistake in Mistake::ALL {
        timeline.scene(mistake.title());
        ledger::live_and_die(&Ledger::new(mistake, timeline));
    }

    timeline.scene("A lost waker, seen from inside");
    lost::run(timeline);

    timeline.scene("A waker that is a number");
    by_id::run(timeline);
}
