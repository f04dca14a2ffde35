//! What all runs need: a log, chance, and futures polled by hand.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

/// What came of each call.
pub type Log = Vec<String>;

/// How many runs of each kind; `WAKEFUL_RUNS` sets another number.
pub fn seeds() -> u64 {
    std::env::var("WAKEFUL_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1000)
}

#[track_caller]
pub fn assert_same(seed: u64, ours: Log, theirs: Log) {
    let differs = |at: &usize| ours.get(*at) != theirs.get(*at);
    if let Some(at) = (0..ours.len().max(theirs.len())).find(differs) {
        let before = ours[at.saturating_sub(12)..at].join("\n");
        let (ours, theirs) = (ours.get(at), theirs.get(at));
        panic!("seed {seed}, step {at}:\n{before}\nWakeful: {ours:?}\nTokio:   {theirs:?}");
    }
}

/// The same seed gives the same numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Takes one out, if there is one.
    pub fn take<T>(&mut self, from: &mut Vec<T>) -> Option<T> {
        if from.is_empty() { None } else { Some(from.remove(self.below(from.len()))) }
    }

    pub fn pick<'a, T>(&mut self, from: &'a mut [T]) -> Option<&'a mut T> {
        let end = from.len();
        if end == 0 { None } else { Some(&mut from[self.below(end)]) }
    }
}

/// Counts its calls.
#[derive(Default)]
pub struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A waker, and how often it was called.
#[derive(Clone, Default)]
pub struct Rung(Arc<Bell>);

impl Rung {
    pub fn waker(&self) -> Waker {
        self.0.clone().into()
    }

    pub fn count(&self) -> usize {
        self.0.0.load(SeqCst)
    }
}

/// A future that was pending when last polled.
pub struct Waiting<T> {
    id: usize,
    future: Pin<Box<dyn Future<Output = T>>>,
    rung: Rung,
}

impl<T> Waiting<T> {
    /// Polls `future` for the first time.
    pub fn begin(id: usize, future: impl Future<Output = T> + 'static) -> Result<T, Self> {
        Waiting { id, future: Box::pin(future), rung: Rung::default() }.poll()
    }

    fn poll(mut self) -> Result<T, Self> {
        let waker = self.rung.waker();
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Ok(output),
            Poll::Pending => Err(self),
        }
    }
}

/// Those who wait, in the order they came.
pub struct Line<T>(Vec<Waiting<T>>);

impl<T> Line<T> {
    pub fn new() -> Self {
        Line(Vec::new())
    }

    /// Polls a new future, which waits here if it has to.
    pub fn begin(&mut self, id: usize, future: impl Future<Output = T> + 'static) -> Option<T> {
        Waiting::begin(id, future).map_err(|waiting| self.0.push(waiting)).ok()
    }

    /// Polls one of them, at times with another waker.
    pub fn poll_one(&mut self, random: &mut Random) -> Option<T> {
        if self.0.is_empty() {
            return None;
        }
        let at = random.below(self.0.len());
        let mut waiting = self.0.remove(at);
        if random.one_in(3) {
            waiting.rung = Rung::default();
        }
        waiting.poll().map_err(|waiting| self.0.insert(at, waiting)).ok()
    }

    pub fn give_up_one(&mut self, random: &mut Random) {
        drop(random.take(&mut self.0));
    }

    /// Who waits, and how often each was woken.
    pub fn woken(&self) -> String {
        let each = self.0.iter().map(|waiting| format!("{}:{}", waiting.id, waiting.rung.count()));
        each.collect::<Vec<_>>().join(" ")
    }

    /// As [`woken`](Self::woken), without a difference between once and twice.
    pub fn is_woken(&self) -> String {
        let each =
            self.0.iter().map(|waiting| format!("{}:{}", waiting.id, waiting.rung.count() > 0));
        each.collect::<Vec<_>>().join(" ")
    }
}

/// What a call returned, for the log.
pub fn shown(outcome: &impl Debug) -> String {
    format!("{outcome:?}")
}
