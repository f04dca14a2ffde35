//! Everything at once: threads that run, wake, abort, join, drop and shut down at random.
//!
//! Runs for about a second; `WAKEFUL_STRESS_SECONDS` makes it longer.

use super::home::{ENDINGS, TestHome};
use super::probes::{ExternalWaker, Tally, Token, poll_with, quiet_panic};
use crate::{AbortHandle, JoinHandle, Polled, RunningTask};
use std::env;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::FastRng;

const SLOTS: usize = if cfg!(miri) { 2 } else { 6 };
const STEPS: usize = if cfg!(miri) { 40 } else { 4000 };
/// The number of threads that run entries.
const WORKERS: u64 = 2;
/// The number of threads that wake, abort, join and spawn.
const ACTORS: u64 = 2;

/// What all threads know of a task.
#[derive(Default)]
struct Subject {
    /// How many wake-ups were requested, and how many of them the last poll knew of. Both are
    /// relaxed: the task has to order them.
    requested: AtomicUsize,
    seen: AtomicUsize,
    wakers: Mutex<Vec<Waker>>,
    inside: AtomicBool,
}

/// The counts of one round.
#[derive(Default)]
struct Accounts {
    futures: Tally,
    outputs: Tally,
    payloads: Tally,
    join_wakers: Mutex<Vec<Arc<ExternalWaker>>>,
    futures_made: AtomicUsize,
    outputs_made: AtomicUsize,
    payloads_made: AtomicUsize,
    polled_by_two: AtomicBool,
}

struct Erratic {
    subject: Arc<Subject>,
    accounts: Arc<Accounts>,
    rng: FastRng,
    _token: Token,
}

struct Output {
    _token: Token,
    _waker: Option<Waker>,
}

impl Future for Erratic {
    type Output = Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output> {
        let (subject, accounts) = (&self.subject, &self.accounts);
        if subject.inside.swap(true, Relaxed) {
            accounts.polled_by_two.store(true, Relaxed);
        }
        subject.seen.store(subject.requested.load(Relaxed), Relaxed);
        let what = self.rng.below(32);
        let mut wakers = subject.wakers.lock().unwrap();
        if wakers.len() < 3 {
            wakers.push(cx.waker().clone());
        }
        drop(wakers);
        if what % 5 == 0 {
            cx.waker().wake_by_ref();
        }
        subject.inside.store(false, Relaxed);
        match what {
            0 => {
                accounts.payloads_made.fetch_add(1, Relaxed);
                quiet_panic(accounts.payloads.token())
            }
            1..3 => {
                accounts.outputs_made.fetch_add(1, Relaxed);
                let waker = (what == 1).then(|| cx.waker().clone());
                Poll::Ready(Output { _token: token(&accounts.outputs, &self.rng), _waker: waker })
            }
            _ => Poll::Pending,
        }
    }
}

/// Creates a token, one in eight of which panics when dropped.
fn token(tally: &Tally, rng: &FastRng) -> Token {
    if rng.below(8) == 0 { tally.panicking_token() } else { tally.token() }
}

/// A join handle and the wakers that it was last polled with.
struct Joining {
    handle: JoinHandle<Output>,
    wakers: [Arc<ExternalWaker>; 3],
    waits_with: Option<usize>,
}

/// A slot for one task after another.
struct TaskSlot {
    subject: Arc<Subject>,
    abort: AbortHandle,
    joining: Option<Joining>,
}

struct Round {
    home: Arc<TestHome>,
    accounts: Arc<Accounts>,
    slots: Vec<Mutex<TaskSlot>>,
    stop: AtomicBool,
}

fn spawn(home: &Arc<TestHome>, accounts: &Arc<Accounts>, rng: &FastRng) -> TaskSlot {
    accounts.futures_made.fetch_add(1, Relaxed);
    let subject = Arc::<Subject>::default();
    let handle = home.spawn(Erratic {
        subject: subject.clone(),
        accounts: accounts.clone(),
        rng: FastRng::from_seed(rng.next_u64()),
        _token: token(&accounts.futures, rng),
    });
    let wakers = [ExternalWaker::new(), ExternalWaker::new(), ExternalWaker::new()];
    accounts.join_wakers.lock().unwrap().extend(wakers.iter().cloned());
    let abort = handle.abort_handle();
    TaskSlot { subject, abort, joining: Some(Joining { handle, wakers, waits_with: None }) }
}

/// Runs `f`, which may panic when it drops a token.
fn quietly(f: impl FnOnce()) {
    let _panicked = catch_unwind(AssertUnwindSafe(f));
}

impl Round {
    fn new(rng: &FastRng) -> Round {
        let (home, accounts) = (TestHome::new(), Arc::new(Accounts::default()));
        let slots = (0..SLOTS).map(|_| Mutex::new(spawn(&home, &accounts, rng))).collect();
        Round { home, accounts, slots, stop: AtomicBool::new(false) }
    }

    /// Runs entries, and now and then cancels an idle task, until asked to stop.
    fn work(&self, rng: &FastRng) {
        let home = &self.home;
        while !self.stop.load(Acquire) {
            let ending = ENDINGS[rng.below(2) as usize];
            let finishing = match (home.pop(), rng.below(64)) {
                (Some(runnable), 0) => Some(runnable.cancel()),
                (Some(runnable), 1..8) => match runnable.run() {
                    Polled::Ended(finishing) => Some(finishing),
                    Polled::Pending(running) => {
                        running.requeue().schedule();
                        None
                    }
                },
                (Some(runnable), _) => {
                    home.run(runnable, ending);
                    None
                }
                (None, 0) => home.claim_any().map(RunningTask::cancel),
                (None, _) => {
                    thread::yield_now();
                    None
                }
            };
            if let Some(finishing) = finishing {
                home.end(finishing, ending);
            }
        }
    }

    /// Wakes, aborts, joins, drops and spawns at random.
    fn act(&self, rng: &FastRng) {
        for _ in 0..STEPS {
            let slot = &self.slots[rng.below(SLOTS as u32) as usize];
            let (subject, abort, joining) = {
                let mut slot = slot.lock().unwrap();
                let joining = (rng.below(3) == 0).then(|| slot.joining.take()).flatten();
                (slot.subject.clone(), slot.abort.clone(), joining)
            };
            if let Some(left) = joining.and_then(|joining| self.join(joining, rng)) {
                // Another task may have been put into the slot meanwhile. The handle of that one is
                // dropped.
                let before = slot.lock().unwrap().joining.replace(left);
                drop(before);
            }
            match rng.below(256) {
                0 => abort.abort(),
                how => wake(&subject, how % 8),
            }
            if abort.is_finished() {
                let next = spawn(&self.home, &self.accounts, rng);
                let before = mem::replace(&mut *slot.lock().unwrap(), next);
                drop(before);
            }
        }
    }

    /// Polls a handle with one of several wakers, or drops it.
    fn join(&self, mut joining: Joining, rng: &FastRng) -> Option<Joining> {
        if rng.below(32) == 0 {
            return None;
        }
        let with = rng.below(5) as usize;
        let waker = match joining.wakers.get(with) {
            Some(external) => external.waker(),
            None => self.waker_of_some_task(rng)?,
        };
        match poll_with(&mut joining.handle, &waker) {
            Poll::Pending => {
                joining.waits_with = joining.wakers.get(with).is_some().then_some(with);
                Some(joining)
            }
            Poll::Ready(result) => {
                assert!(joining.handle.is_finished());
                quietly(|| drop(result));
                None
            }
        }
    }

    fn waker_of_some_task(&self, rng: &FastRng) -> Option<Waker> {
        let slot = self.slots[rng.below(SLOTS as u32) as usize].lock().unwrap();
        let wakers = slot.subject.wakers.lock().unwrap();
        wakers.last().cloned()
    }

    /// Checks the counts after all threads have finished.
    fn settle(self) {
        let Round { home, accounts, slots, .. } = self;
        home.run_all();
        let slots: Vec<TaskSlot> =
            slots.into_iter().map(|slot| slot.into_inner().unwrap()).collect();
        for TaskSlot { subject, abort, .. } in &slots {
            let (requested, seen) = (subject.requested.load(Relaxed), subject.seen.load(Relaxed));
            assert!(
                abort.is_finished() || requested == seen,
                "requested {requested}, seen {seen}: lost wake"
            );
        }
        home.shut_down();
        for mut joining in slots.into_iter().filter_map(|slot| slot.joining) {
            if let Some(with) = joining.waits_with {
                assert!(joining.wakers[with].woken() > 0, "the join side was not woken");
            }
            let Poll::Ready(result) = poll_with(&mut joining.handle, Waker::noop()) else {
                panic!("a handle waits for a task that has ended")
            };
            quietly(|| drop(result));
        }
        assert!(!accounts.polled_by_two.load(Relaxed), "two threads polled one future");
        let join_wakers = accounts.join_wakers.lock().unwrap();
        assert!(join_wakers.iter().all(|external| external.alive() == 0), "a join waker is left");
        assert_eq!(accounts.futures.dropped(), accounts.futures_made.load(Relaxed), "futures");
        assert_eq!(accounts.outputs.dropped(), accounts.outputs_made.load(Relaxed), "outputs");
        assert_eq!(accounts.payloads.dropped(), accounts.payloads_made.load(Relaxed), "payloads");
        home.assert_all_freed();
    }
}

fn wake(subject: &Subject, how: u32) {
    let mut wakers = subject.wakers.lock().unwrap();
    let Some(waker) = wakers.pop() else { return };
    if how < 4 {
        wakers.push(waker.clone());
    }
    drop(wakers);
    if how == 7 {
        drop(waker);
        return;
    }
    subject.requested.fetch_add(1, Relaxed);
    if how % 2 == 0 {
        waker.wake_by_ref();
    } else {
        waker.wake();
    }
}

fn play(seed: u64) {
    let round = Round::new(&FastRng::from_seed(seed));
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (round, rng) = (&round, FastRng::from_seed(seed ^ (worker << 56) ^ 1));
            scope.spawn(move || round.work(&rng));
        }
        let actors: Vec<_> = (0..ACTORS)
            .map(|actor| {
                let (round, rng) = (&round, FastRng::from_seed(seed ^ (actor << 48) ^ 2));
                scope.spawn(move || round.act(&rng))
            })
            .collect();
        let ended: Vec<_> = actors.into_iter().map(|actor| actor.join()).collect();
        round.stop.store(true, Release);
        ended.into_iter().for_each(Result::unwrap);
    });
    round.settle();
}

#[test]
fn nothing_is_lost_leaked_or_done_twice() {
    let seconds = env::var("WAKEFUL_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(1.5));
    let rounds_max = if cfg!(miri) { 5 } else { u64::MAX };
    let mut seed = FastRng::from_entropy().next_u64() >> 16;
    for _ in 0..rounds_max {
        if !cfg!(miri) && Instant::now() >= end {
            break;
        }
        seed += 1;
        if let Err(payload) = catch_unwind(|| play(seed)) {
            eprintln!("the round's seed was {seed}");
            std::panic::resume_unwind(payload);
        }
    }
}
