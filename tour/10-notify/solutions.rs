//! Solutions to the exercises of step 10. `SOLUTIONS.md` explains them.
//!
//! 第 10 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。

use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::thread;

use super::bell::Bell;

fn poll(future: Pin<&mut impl Future<Output = ()>>) -> Poll<()> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_delay_on_a_bell_hangs_whenever_the_thread_is_first() {
    let bell = Bell::default();
    thread::scope(|scope| {
        let ringing = scope.spawn(|| bell.ring());
        // What `thread::sleep` before the `.await` makes likely, `join` makes certain.
        ringing.join().unwrap();
    });
    assert!(poll(pin!(bell.rung())).is_pending());
}

/// Wakes all tasks that wait, and leaves no permit.
#[derive(Default)]
struct Broadcast {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: u64,
    waiting: Vec<Waker>,
}

struct Heard<'b> {
    broadcast: &'b Broadcast,
    /// How many calls there had been when this was made. It counts as waiting from then on, also
    /// before its first poll: otherwise a call between the two would be lost.
    calls_before: u64,
}

impl Broadcast {
    fn notify_waiters(&self) {
        let waiting = {
            let mut state = self.state.lock().unwrap();
            state.calls += 1;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn heard(&self) -> Heard<'_> {
        Heard { broadcast: self, calls_before: self.state.lock().unwrap().calls }
    }
}

impl Future for Heard<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.broadcast.state.lock().unwrap();
        if state.calls > self.calls_before {
            return Poll::Ready(());
        }
        state.waiting.push(waker);
        Poll::Pending
    }
}

#[test]
fn a_broadcast_reaches_all_that_wait_and_leaves_no_permit() {
    let broadcast = Broadcast::default();
    let mut polled = pin!(broadcast.heard());
    let unpolled = pin!(broadcast.heard());
    assert!(poll(polled.as_mut()).is_pending());
    broadcast.notify_waiters();
    assert!(poll(polled).is_ready());
    assert!(poll(unpolled).is_ready(), "it was made before the call");
    assert!(poll(pin!(broadcast.heard())).is_pending(), "this one was made after it");
}
