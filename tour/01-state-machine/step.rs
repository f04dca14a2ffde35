//! A future is a state machine.
//!
//! [`main_task`] is an async fn. [`MainFuture`] is the enum that the compiler would make of it,
//! written by hand. Both do the same at every poll, which is what the timeline shows and a test
//! checks.
//!
//! future 就是状态机。[`main_task`] 是一个 async fn；[`MainFuture`] 是编译器会把它变成的那个 enum，
//! 这里手写出来。每次 poll，两者做的事完全一样：时间线上看得到，也有测试检验。

use std::cell::Cell;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use crate::panics;
use crate::timeline::Timeline;

mod door;
#[cfg(test)]
mod solutions;
#[cfg(test)]
mod tests;

/// A clock that stands still until its hands are turned.
///
/// With it nothing in this step depends on how fast the machine is: a future can be examined
/// between two minutes for any length of time.
#[derive(Default)]
struct Clock {
    minute: Cell<u32>,
}

impl Clock {
    fn turn_to(&self, minute: u32) {
        self.minute.set(minute);
    }
}

/// The smallest future there is: it has nothing to wait for but the clock. A *leaf*: no other
/// future is inside it.
struct Delay<'c> {
    clock: &'c Clock,
    until_minute: u32,
    outcome: &'static str,
    timeline: Timeline,
}

impl Future for Delay<'_> {
    type Output = &'static str;

    // A poll is a question: "are you done?" It is answered at once, one way or the other. It never
    // waits.
    //
    // A future that answers `Pending` owes a wake-up to the waker in the context. This leaf does
    // not pay, which is harmless only because the step polls by hand. Step 3 pays.
    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<&'static str> {
        self.timeline.polled("delay");
        if self.clock.minute.get() >= self.until_minute {
            self.timeline.ready("delay", &self.outcome);
            Poll::Ready(self.outcome)
        } else {
            self.timeline.pending("delay");
            Poll::Pending
        }
    }
}

/// Makes tea: two things to wait for, one after the other, and a value to keep in between.
async fn main_task(clock: &Clock, timeline: Timeline) -> String {
    timeline.note("main", "puts the kettle on");
    let water = delay(clock, 3, "hot water", &timeline).await;
    timeline.note("main", "pours it on");
    let leaves = delay(clock, 7, "green leaves", &timeline).await;
    format!("{water} on {leaves}")
}

fn delay<'c>(
    clock: &'c Clock,
    until_minute: u32,
    outcome: &'static str,
    timeline: &Timeline,
) -> Delay<'c> {
    Delay { clock, until_minute, outcome, timeline: timeline.clone() }
}

/// What [`main_task`] amounts to: one state per place where it can stand still.
///
/// Each state holds what the rest of the function still needs, and nothing else: `Boiling` has no
/// `water` yet, `Brewing` needs no `clock` any more.
enum MainFuture<'c> {
    /// Made, but never polled. The arguments wait here; not a line of the body has run.
    Start { clock: &'c Clock, timeline: Timeline },
    /// At the first `.await`.
    Boiling { clock: &'c Clock, timeline: Timeline, boiling: Delay<'c> },
    /// At the second `.await`. `water` is a local variable that lives across it.
    Brewing { water: &'static str, brewing: Delay<'c> },
    /// It has returned, and has nothing left.
    Done,
}

impl Future for MainFuture<'_> {
    type Output = String;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<String> {
        // As far as it goes: a state whose future is ready leads straight on to the next one,
        // within the same poll.
        loop {
            // The state is taken out, and `Done` left in its place. Each arm that goes on puts in a
            // new one. That works because no state refers to itself. Step 2 has one that does.
            *self = match mem::replace(&mut *self, MainFuture::Done) {
                MainFuture::Start { clock, timeline } => {
                    timeline.note("main", "puts the kettle on");
                    let boiling = delay(clock, 3, "hot water", &timeline);
                    MainFuture::Boiling { clock, timeline, boiling }
                }
                MainFuture::Boiling { clock, timeline, mut boiling } => {
                    // `.await`, spelled out: ask the inner future, and if it is not ready, neither
                    // are we.
                    let Poll::Ready(water) = Pin::new(&mut boiling).poll(cx) else {
                        *self = MainFuture::Boiling { clock, timeline, boiling };
                        return Poll::Pending;
                    };
                    timeline.note("main", "pours it on");
                    let brewing = delay(clock, 7, "green leaves", &timeline);
                    MainFuture::Brewing { water, brewing }
                }
                MainFuture::Brewing { water, mut brewing } => {
                    let Poll::Ready(leaves) = Pin::new(&mut brewing).poll(cx) else {
                        *self = MainFuture::Brewing { water, brewing };
                        return Poll::Pending;
                    };
                    // `Done` is already in place.
                    return Poll::Ready(format!("{water} on {leaves}"));
                }
                MainFuture::Done => panic!("MainFuture was polled after it had completed"),
            };
        }
    }
}

/// Polls `future` at four times of the clock's choosing, and once more than it has to.
fn drive(timeline: &Timeline, clock: &Clock, future: impl Future<Output = String>) {
    timeline.note("main", "made; nothing has run");
    let mut future = pin!(timeline.trace("main", future));
    // A waker that does nothing: this loop decides when to ask again.
    let mut cx = Context::from_waker(Waker::noop());

    for minute in [0, 2, 3, 8] {
        clock.turn_to(minute);
        timeline.note("clock", format!("minute {minute}"));
        if future.as_mut().poll(&mut cx).is_ready() {
            break;
        }
    }

    timeline.note("clock", "one poll too many");
    if let Err(text) = panics::catch(|| future.as_mut().poll(&mut cx)) {
        timeline.panicked("main", &text);
    }
}

/// The async fn, driven.
fn as_async_fn(timeline: &Timeline) {
    let clock = Clock::default();
    let future = main_task(&clock, timeline.clone());
    timeline.note("main", format!("takes {} bytes", mem::size_of_val(&future)));
    drive(timeline, &clock, future);
}

/// The enum, driven in the very same way.
fn by_hand(timeline: &Timeline) {
    let clock = Clock::default();
    let future = MainFuture::Start { clock: &clock, timeline: timeline.clone() };
    timeline.note("main", format!("takes {} bytes", mem::size_of_val(&future)));
    drive(timeline, &clock, future);
}

/// A thousand guests that wait for tea, and one thread that serves them all.
fn thousand_guests(timeline: &Timeline) {
    /// What `std::thread` reserves for the stack of a thread, unless told otherwise.
    const STACK_MIB: usize = 2;
    const GUESTS: usize = 1000;

    let clock = Clock::default();
    // On the record would be two thousand polls, so these have a timeline of their own.
    let quiet = Timeline::new();
    let mut cx = Context::from_waker(Waker::noop());
    let mut guests: Vec<_> =
        (0..GUESTS).map(|_| Box::pin(main_task(&clock, quiet.clone()))).collect();
    for guest in &mut guests {
        assert!(guest.as_mut().poll(&mut cx).is_pending(), "the water is not hot yet");
    }
    let bytes: usize = guests.iter().map(|guest| mem::size_of_val(&**guest)).sum();
    timeline.note("guests", format!("{GUESTS} futures wait, in {bytes} bytes"));
    let mib = GUESTS * STACK_MIB;
    let threads =
        format!("{GUESTS} threads would reserve {mib} MiB of address space for their stacks");
    timeline.note("guests", threads);
}

/// Runs the step.
pub fn run(timeline: &Timeline) {
    timeline.scene("An automatic door: states, events, actions, transitions");
    door::run(timeline);
    timeline.scene("An async fn");
    as_async_fn(timeline);
    timeline.scene("The same as an enum, by hand");
    by_hand(timeline);
    timeline.scene("A thousand guests, and one thread that serves them");
    thousand_guests(timeline);
}
