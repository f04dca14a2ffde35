//! A generator that starts a timer, and yields until it has rung.
//!
//! ```text
//! let steep = 2 * per_cup;
//! start a thread that sleeps for so long, then rings
//! yield steep;
//! format!("brewed for {steep:?}")
//! ```
//!
//! All that a runtime does is here, if only once each: something stops and says so (`yield`), the
//! thread that ran it does something else (here it sleeps), an event comes (the bell), and the
//! thing that had stopped goes on.
//!
//! 启动定时器，然后 yield，等铃响的生成器。运行时做的事，这里每样都有一份：有东西停下来并且说一声
//! （`yield`），跑它的线程去做别的（这里是睡觉），事件到来（铃响），停下的东西接着走。

use std::mem;
use std::pin::{Pin, pin};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use super::{Resume, Resumed};
use crate::timeline::Timeline;

/// How long one cup's worth takes.
pub(super) const PER_CUP: Duration = Duration::from_millis(2);

/// What the generator is given to begin with.
pub(super) struct Kettle {
    pub(super) timeline: Timeline,
    pub(super) bell: Sender<()>,
}

impl Kettle {
    /// Rings after `steep`, from a thread of its own.
    pub(super) fn start(self, steep: Duration) {
        self.timeline.armed("brew", steep);
        let timer = thread::Builder::new().name("timer".to_owned());
        let ring = move || {
            thread::sleep(steep);
            self.timeline.fired("bell");
            // If the receiver is gone, the bell rings in an empty kitchen.
            let _ = self.bell.send(());
        };
        timer.spawn(ring).expect("a thread can be started");
    }
}

/// The generator by hand. Nothing in it refers to itself, so it may be moved, and is an enum again.
pub(super) enum Brew {
    Start(Kettle),
    Steeping { steep: Duration },
    Done,
}

impl Brew {
    pub(super) fn new(kettle: Kettle) -> Brew {
        Brew::Start(kettle)
    }
}

impl Resume for Brew {
    type Yield = Duration;
    type Return = String;

    fn resume(mut self: Pin<&mut Self>, _: ()) -> Resumed<Duration, String> {
        match mem::replace(&mut *self, Brew::Done) {
            Brew::Start(kettle) => {
                let steep = 2 * PER_CUP;
                kettle.start(steep);
                *self = Brew::Steeping { steep };
                Resumed::Yielded(steep)
            }
            Brew::Steeping { steep } => Resumed::Returned(format!("brewed for {steep:?}")),
            Brew::Done => panic!("the brew was resumed after it had returned"),
        }
    }
}

/// Makes a brew on one thread and runs it on another: a generator is a value, and can be sent.
pub(super) fn run<G>(timeline: &Timeline, make: fn(Kettle) -> G)
where
    G: Resume<Yield = Duration, Return = String> + Send + 'static,
{
    let (bell, rung) = mpsc::channel();
    let (hand_over, handed_over) = mpsc::channel();
    let kettle = Kettle { timeline: timeline.clone(), bell };
    let cook = thread::Builder::new().name("cook".to_owned());
    let cook = cook.spawn(move || {
        kettle.timeline.note("brew", "made");
        hand_over.send(make(kettle)).expect("the receiver waits for the brew");
    });

    let mut brew = pin!(handed_over.recv().expect("the cook hands over a brew"));
    loop {
        timeline.note("brew", "resumed");
        match brew.as_mut().resume(()) {
            Resumed::Yielded(steep) => timeline.note("brew", format!("yielded {steep:?}")),
            Resumed::Returned(outcome) => {
                timeline.note("brew", format!("returned {outcome:?}"));
                break;
            }
        }
        // The thread is free meanwhile. It has nothing else to do, so it sleeps.
        rung.recv().expect("the bell rings");
    }
    cook.expect("a thread can be started").join().expect("the cook does not panic");
}
