//! Solutions to the exercises of step 6. `SOLUTIONS.md` explains them.
//!
//! 第 6 步练习的答案，讲解见 `SOLUTIONS.zh-CN.md`。

use std::pin::pin;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use super::Reactor;
use super::reactor::Timer;
use crate::timeline::Timeline;

/// A waker that drops another timer of the same reactor, as a task does that is dropped with its
/// last waker. `Timer::drop` takes the board's lock: were the waker called under it, the reactor's
/// thread would wait for itself.
struct DropsATimer {
    timer: Mutex<Option<Timer>>,
    report: Sender<()>,
}

impl Wake for DropsATimer {
    fn wake(self: Arc<Self>) {
        drop(self.timer.lock().unwrap().take());
        let _ = self.report.send(());
    }
}

#[test]
fn a_waker_that_drops_a_timer_finds_the_board_unlocked() {
    let timeline = Timeline::new();
    let reactor = Reactor::start(&timeline).unwrap();
    let timers = reactor.handle();
    let mut other = timers.timer(Duration::from_secs(3600));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(pin!(&mut other).as_mut().poll(&mut cx).is_pending());

    let (report, reported) = mpsc::channel();
    let waker = Waker::from(Arc::new(DropsATimer { timer: Mutex::new(Some(other)), report }));
    let mut timer = pin!(timers.timer(Duration::from_millis(1)));
    assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    reported.recv().unwrap();
    assert_eq!(timers.entries(), 1, "the one that fired; the other is gone");
}
