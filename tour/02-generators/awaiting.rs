//! `.await` as "poll, else yield".
//!
//! A generator that waits for one timer after the other. What stands for `.await` in it is a loop:
//!
//! ```text
//! for after in delays {
//!     let mut timer = Timer::new(after);
//!     loop {
//!         match timer.poll(waker) {
//!             Ready(()) => break,
//!             Pending => waker = yield,     // stop here; go on with the waker of the next resume
//!         }
//!     }
//! }
//! ```
//!
//! The compiler turns each `.await` into this loop, and the generator around it into a future whose
//! `poll` is `resume`: that is [`AsFuture`].
//!
//! `.await` 就是“先 poll，不行就 yield”。一个接一个等定时器的生成器，代替 `.await` 的是一个循环（见
//! 上）。编译器把每个 `.await` 都变成这样的循环，外面的生成器则变成 future，它的 `poll` 就是 `resume`：
//! 这就是 [`AsFuture`]。

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use std::vec;

use super::{Resume, Resumed};
use crate::timeline::Timeline;

/// A leaf future: ready once its thread has slept. Step 3 looks closely at how to write one.
pub(super) struct Timer {
    after: Duration,
    timeline: Timeline,
    /// Set by the thread; none before the first poll.
    has_fired: Option<Arc<AtomicBool>>,
}

impl Timer {
    pub(super) fn new(after: Duration, timeline: &Timeline) -> Timer {
        Timer { after, timeline: timeline.clone(), has_fired: None }
    }

    fn start(&self, waker: Waker) -> Arc<AtomicBool> {
        self.timeline.armed("timer", self.after);
        let has_fired = Arc::new(AtomicBool::new(false));
        let (after, timeline, fired) = (self.after, self.timeline.clone(), has_fired.clone());
        let thread = thread::Builder::new().name("timer".to_owned());
        let sleep = move || {
            thread::sleep(after);
            fired.store(true, Ordering::Release);
            timeline.fired("bell");
            waker.wake();
        };
        thread.spawn(sleep).expect("a thread can be started");
        has_fired
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.timeline.polled("timer");
        match &self.has_fired {
            Some(fired) if fired.load(Ordering::Acquire) => {
                self.timeline.ready("timer", &());
                return Poll::Ready(());
            }
            Some(_) => {}
            None => self.has_fired = Some(self.start(cx.waker().clone())),
        }
        self.timeline.pending("timer");
        Poll::Pending
    }
}

/// The generator by hand. It takes the waker as the argument of each resume: what a future gets in
/// its context.
pub(super) struct Sequence {
    delays: vec::IntoIter<Duration>,
    timeline: Timeline,
    /// The timer that it waits for. Between two of them there is none.
    timer: Option<Timer>,
}

impl Sequence {
    pub(super) fn new(delays: Vec<Duration>, timeline: Timeline) -> Sequence {
        Sequence { delays: delays.into_iter(), timeline, timer: None }
    }
}

impl Resume<Waker> for Sequence {
    type Yield = ();
    type Return = &'static str;

    fn resume(mut self: Pin<&mut Self>, waker: Waker) -> Resumed<(), &'static str> {
        loop {
            if let Some(timer) = &mut self.timer {
                match Pin::new(timer).poll(&mut Context::from_waker(&waker)) {
                    Poll::Ready(()) => self.timer = None,
                    Poll::Pending => return Resumed::Yielded(()),
                }
            }
            match self.delays.next() {
                Some(after) => self.timer = Some(Timer::new(after, &self.timeline)),
                None => return Resumed::Returned("all rung"),
            }
        }
    }
}

/// The same as an async fn, for comparison.
pub(super) async fn sequence(delays: Vec<Duration>, timeline: Timeline) -> &'static str {
    for after in delays {
        Timer::new(after, &timeline).await;
    }
    "all rung"
}

/// A generator that takes a waker and yields nothing *is* a future. Only the words differ.
pub(super) struct AsFuture<G>(Pin<Box<G>>);

impl<G: Resume<Waker, Yield = ()>> AsFuture<G> {
    pub(super) fn new(generator: G) -> AsFuture<G> {
        AsFuture(Box::pin(generator))
    }
}

impl<G: Resume<Waker, Yield = ()>> Future for AsFuture<G> {
    type Output = G::Return;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<G::Return> {
        match self.0.as_mut().resume(cx.waker().clone()) {
            Resumed::Yielded(()) => Poll::Pending,
            Resumed::Returned(value) => Poll::Ready(value),
        }
    }
}

/// A waker that rings. Step 5 shows what a waker is made of, step 6 what better to do with it.
struct Bell(Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// Polls `future` whenever the bell rings.
pub(super) fn drive(timeline: &Timeline, future: impl Future<Output = &'static str>) {
    let (ring, rung) = mpsc::channel();
    let waker = timeline.trace_waker("sequence", &Arc::new(Bell(ring)).into());
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(timeline.trace("sequence", future));
    while future.as_mut().poll(&mut cx).is_pending() {
        rung.recv().expect("the bell rings");
    }
}

/// The generator that `make` makes, as a future; then the async fn.
pub(super) fn run<G>(timeline: &Timeline, make: fn(Vec<Duration>, Timeline) -> G)
where
    G: Resume<Waker, Yield = (), Return = &'static str>,
{
    let delays = || [2, 1].map(Duration::from_millis).to_vec();
    timeline.note("sequence", "as a generator");
    drive(timeline, AsFuture::new(make(delays(), timeline.clone())));
    timeline.note("sequence", "as an async fn");
    drive(timeline, sequence(delays(), timeline.clone()));
}
