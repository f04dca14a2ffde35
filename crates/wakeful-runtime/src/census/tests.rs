//! What a census says of recorded tasks, on each kind of scheduler.

use super::Observer;
use super::snapshot::{Actor, Snapshot, TaskFigures};
use crate::runtime::{Builder, Handle, Runtime};
use crate::stall::recent_stalls;
use crate::task::{self, LocalSet};
use crate::testing::stress_time;
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::block_on;
use wakeful_task::recording::{self, Guard};

/// Recording is on or off for the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a task waits for: it passes once for each call of `open`.
#[derive(Clone, Default)]
struct Gate(Arc<GateState>);

#[derive(Default)]
struct GateState {
    opened: AtomicU32,
    passed: AtomicU32,
    waker: Mutex<Option<Waker>>,
}

impl Gate {
    /// Waits until the gate is opened once more. Each poll computes for `busy`.
    fn pass(&self, busy: Duration) -> impl Future<Output = ()> + Send + use<> {
        let state = self.0.clone();
        poll_fn(move |cx| {
            let begun = Instant::now();
            while begun.elapsed() < busy {}
            let passed = state.passed.load(SeqCst);
            if state.opened.load(SeqCst) > passed {
                state.passed.store(passed + 1, SeqCst);
                return Poll::Ready(());
            }
            *state.waker.lock().unwrap() = Some(cx.waker().clone());
            // It may have been opened just before.
            if state.opened.load(SeqCst) > passed {
                state.passed.store(passed + 1, SeqCst);
                return Poll::Ready(());
            }
            Poll::Pending
        })
    }

    fn open(&self) {
        self.0.opened.fetch_add(1, SeqCst);
        let waker = self.0.waker.lock().unwrap().take();
        waker.expect("a task waits").wake();
    }

    /// Returns once a task waits.
    fn wait_for_task(&self) {
        while self.0.waker.lock().unwrap().is_none() {
            thread::yield_now();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    CurrentThread,
    MultiThread,
    LocalSet,
}

const KINDS: [Kind; 3] = [Kind::CurrentThread, Kind::MultiThread, Kind::LocalSet];

/// A runtime or a set that runs on other threads.
struct Running {
    handle: Handle,
    ends: Arc<AtomicBool>,
    waker: Waker,
    thread: thread::JoinHandle<()>,
}

type Spawn<'a> = dyn Fn(std::pin::Pin<Box<dyn Future<Output = ()> + Send>>) -> u64 + 'a;

impl Running {
    /// Builds what `kind` says, and calls `spawn` inside it with a function that spawns.
    fn start<T: Send + 'static>(
        kind: Kind,
        spawn: impl FnOnce(&Spawn<'_>) -> T + Send + 'static,
    ) -> (Running, T) {
        let runtime = match kind {
            Kind::MultiThread => Builder::new_multi_thread().worker_threads(2).build().unwrap(),
            _ => Builder::new_current_thread().build().unwrap(),
        };
        let (handle, ends) = (runtime.handle().clone(), Arc::new(AtomicBool::new(false)));
        let ended = ends.clone();
        let (tell, told) = mpsc::channel();
        let main = move |runtime: Runtime| {
            let mut tell = Some((tell, spawn));
            let mut root = |waker: &Waker, spawner: &Spawn<'_>| {
                if let Some((tell, spawn)) = tell.take() {
                    tell.send((waker.clone(), spawn(spawner))).unwrap();
                }
                if ended.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
            };
            if kind == Kind::LocalSet {
                let set = LocalSet::new();
                let spawner: &Spawn<'_> = &|future| set.spawn_local(future).id().as_u64();
                set.block_on(&runtime, poll_fn(|cx| root(cx.waker(), spawner)));
            } else {
                let spawner: &Spawn<'_> = &|future| task::spawn(future).id().as_u64();
                runtime.block_on(poll_fn(|cx| root(cx.waker(), spawner)));
            }
        };
        let thread = thread::spawn(move || main(runtime));
        let (waker, spawned) = told.recv().unwrap();
        (Running { handle, ends, waker, thread }, spawned)
    }

    fn glance(&self) -> Snapshot {
        Observer::new(false).glance(std::slice::from_ref(&self.handle.scheduler))
    }

    /// Returns the task once it waits.
    #[track_caller]
    fn waiting(&self, id: u64) -> Actor {
        let begun = Instant::now();
        loop {
            let found = self.glance().actors.into_iter().find(|actor| actor.id == id);
            match found {
                Some(actor) if actor.state == super::snapshot::ActorState::Waiting => return actor,
                found => assert!(begun.elapsed() < Duration::from_secs(20), "{found:?}"),
            }
        }
    }

    #[track_caller]
    fn figures(&self, id: u64) -> TaskFigures {
        self.waiting(id).record.expect("the task is recorded")
    }

    fn stop(self) {
        self.ends.store(true, SeqCst);
        self.waker.wake();
        self.thread.join().unwrap();
    }
}

const BUSY: Duration = Duration::from_millis(2);

#[test]
fn a_task_woken_by_another_one_has_its_polls_and_wakes_counted() {
    let _alone = alone();
    let _recording = Guard::begin();
    for kind in KINDS {
        let begun = Instant::now();
        let (gate, go) = (Gate::default(), Gate::default());
        let (hears, waits) = (gate.clone(), go.clone());
        let (running, (hearer, ringer)) = Running::start(kind, move |spawn| {
            let rings = hears.clone();
            let hearer = spawn(Box::pin(async move {
                loop {
                    hears.pass(BUSY).await;
                }
            }));
            let ringer = spawn(Box::pin(async move {
                loop {
                    waits.pass(Duration::ZERO).await;
                    rings.open();
                }
            }));
            (hearer, ringer)
        });
        for _ in 0..3 {
            gate.wait_for_task();
            running.waiting(hearer);
            go.wait_for_task();
            go.open();
        }
        gate.wait_for_task();
        let actor = running.waiting(hearer);
        let figures = actor.record.unwrap();
        let elapsed = begun.elapsed();
        assert_eq!((figures.wakes, figures.self_wakes), (3, 0), "{kind:?} {figures:?}");
        // The one that is woken passes the gate, and then waits anew in the same poll.
        assert_eq!(figures.polls, 4, "{kind:?}");
        assert_eq!(figures.woken_by, Some(ringer), "{kind:?}");
        // The first poll asks once, the others twice.
        assert!(figures.busy >= BUSY * 7 && figures.busy <= elapsed, "{kind:?} {figures:?}");
        assert!(figures.last_poll >= BUSY * 2 && figures.last_poll <= figures.busy, "{figures:?}");
        assert!(figures.scheduled_max <= figures.scheduled, "{kind:?} {figures:?}");
        assert!(figures.scheduled > Duration::ZERO && figures.scheduled <= elapsed);
        assert!(figures.last_poll_ago.unwrap() >= figures.last_poll, "{kind:?} {figures:?}");
        assert_eq!(figures.woken_ago, None, "{kind:?}");
        let age = actor.age.unwrap();
        assert!(age >= figures.busy && age <= elapsed, "{kind:?} {age:?}");
        // Woken by the test's thread, which is no task.
        assert_eq!(running.figures(ringer).woken_by, None, "{kind:?}");
        running.stop();
    }
}

#[test]
fn wake_ups_by_the_task_itself_are_told_from_others() {
    let _alone = alone();
    let _recording = Guard::begin();
    for kind in KINDS {
        let (running, (yields, wakes)) = Running::start(kind, |spawn| {
            let yields = spawn(Box::pin(async {
                for _ in 0..10 {
                    task::yield_now().await;
                }
                std::future::pending().await
            }));
            let wakes = spawn(Box::pin(async {
                let mut left = 10;
                poll_fn(|cx| {
                    if left > 0 {
                        left -= 1;
                        cx.waker().wake_by_ref();
                    }
                    Poll::Pending
                })
                .await
            }));
            (yields, wakes)
        });
        for id in [yields, wakes] {
            let begun = Instant::now();
            let figures = loop {
                let figures = running.figures(id);
                if figures.polls == 11 {
                    break figures;
                }
                assert!(begun.elapsed() < Duration::from_secs(20), "{kind:?} {figures:?}");
            };
            assert_eq!((figures.wakes, figures.self_wakes), (10, 10), "{kind:?} {figures:?}");
            assert_eq!(figures.woken_by, Some(id), "{kind:?}");
        }
        running.stop();
    }
}

#[test]
fn recording_begins_late_and_anew() {
    let _alone = alone();
    for kind in KINDS {
        let gate = Gate::default();
        let hears = gate.clone();
        let (running, id) = Running::start(kind, move |spawn| {
            spawn(Box::pin(async move {
                loop {
                    hears.pass(Duration::ZERO).await;
                }
            }))
        });
        let ring = || {
            running.waiting(id);
            gate.wait_for_task();
            gate.open();
            gate.wait_for_task();
            running.waiting(id)
        };
        assert_eq!(ring().record, None, "{kind:?}");
        let recording = Guard::begin();
        assert_eq!(running.waiting(id).record, None, "{kind:?}: not polled yet");
        let first = ring();
        // This wake-up came before the first recorded poll.
        let figures = first.record.unwrap();
        assert_eq!((figures.polls, figures.wakes, first.age), (1, 0, None), "{kind:?}");
        let second = ring().record.unwrap();
        assert_eq!((second.polls, second.wakes), (2, 1), "{kind:?}");
        let joined = Guard::begin();
        drop(recording);
        assert_eq!(running.figures(id).polls, 2, "{kind:?}: there is another guard");
        drop(joined);
        assert_eq!(running.waiting(id).record, None, "{kind:?}");
        ring();
        let _recording = Guard::begin();
        assert_eq!(running.waiting(id).record, None, "{kind:?}");
        assert_eq!(ring().record.unwrap().polls, 1, "{kind:?}: figures begin anew");
        running.stop();
    }
}

#[test]
fn a_task_that_panics_is_recorded_to_its_end() {
    let _alone = alone();
    let _recording = Guard::begin();
    let sum = |buckets: [u64; recording::BUCKETS]| buckets.into_iter().sum::<u64>();
    for kind in KINDS {
        let before = recording::totals();
        let (running, next) = Running::start(kind, |spawn| {
            for _ in 0..5 {
                spawn(Box::pin(async { std::panic::resume_unwind(Box::new("a task")) }));
            }
            spawn(Box::pin(std::future::pending()))
        });
        let begun = Instant::now();
        while sum(recording::totals().polls) < sum(before.polls) + 6 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{kind:?}");
            thread::yield_now();
        }
        let figures = running.figures(next);
        assert_eq!((figures.polls, figures.wakes), (1, 0), "{kind:?}");
        running.stop();
    }
}

#[test]
fn named_tasks_keep_their_names_whether_recorded_or_not() {
    let _alone = alone();
    for recorded in [false, true] {
        let guard = recorded.then(Guard::begin);
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let builder = task::Builder::new().name("db writer");
        let join = builder.spawn_on(std::future::pending::<()>(), runtime.handle()).unwrap();
        let mut observer = Observer::new(false);
        let begun = Instant::now();
        let name = loop {
            let snapshot = observer.glance(&[runtime.handle().scheduler.clone()]);
            let found = snapshot.actors.into_iter().find(|a| a.id == join.id().as_u64());
            match found {
                Some(actor) => break actor.name,
                None => assert!(begun.elapsed() < Duration::from_secs(20)),
            }
        };
        assert_eq!(name.as_deref(), Some("db writer"));
        drop(guard);
    }
}

#[test]
fn a_stall_is_kept_while_tasks_are_recorded() {
    let _alone = alone();
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let stall = || {
        let (release, held) = mpsc::channel::<()>();
        let id = runtime.spawn(async move { _ = held.recv() }).id();
        let begun = Instant::now();
        let count = runtime.metrics().stall_count();
        while runtime.metrics().stall_count() == count {
            assert!(begun.elapsed() < Duration::from_secs(20));
            thread::sleep(Duration::from_millis(1));
        }
        drop(release);
        id
    };
    stall();
    let _recording = Guard::begin();
    let own = runtime.handle().scheduler.info().id.get();
    assert!(recent_stalls().iter().all(|kept| kept.runtime != own), "it was not recorded");
    let id = stall();
    let begun = Instant::now();
    loop {
        let kept = recent_stalls();
        if let Some(kept) = kept.iter().find(|kept| kept.stall.task_id() == Some(id)) {
            assert_eq!(kept.runtime, own);
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{kept:?}");
    }
}

#[test]
fn stress_readers_beside_tasks_that_are_woken_aborted_and_freed() {
    let _alone = alone();
    let until = Instant::now() + stress_time();
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let handle = runtime.handle().clone();
    let ends = Arc::new(AtomicBool::new(false));
    let reader = |ends: Arc<AtomicBool>, handle: Handle| {
        move || {
            let (mut observer, mut seen) = (Observer::new(false), 0_u64);
            let begun = Instant::now();
            while !ends.load(SeqCst) {
                for actor in observer.glance(std::slice::from_ref(&handle.scheduler)).actors {
                    let Some(record) = actor.record else { continue };
                    assert!(record.self_wakes <= record.wakes + 4, "{record:?}");
                    assert!(record.busy <= begun.elapsed() + Duration::from_secs(1), "{record:?}");
                    seen += 1;
                }
            }
            seen
        }
    };
    let switch = |ends: Arc<AtomicBool>| {
        move || {
            while !ends.load(SeqCst) {
                let guard = Guard::begin();
                thread::sleep(Duration::from_millis(3));
                drop(guard);
            }
        }
    };
    let readers = [(); 2].map(|()| thread::spawn(reader(ends.clone(), handle.clone())));
    let switch = thread::spawn(switch(ends.clone()));
    let mut rounds = 0_u64;
    while Instant::now() < until {
        let tasks: Vec<_> = (0..64_u64)
            .map(|n| {
                let builder = task::Builder::new();
                let builder = if n % 3 == 0 { builder.name("one of many") } else { builder };
                let future = async move {
                    for _ in 0..n % 7 {
                        task::yield_now().await;
                    }
                    if n % 5 == 0 {
                        std::future::pending::<()>().await;
                    }
                    n
                };
                builder.spawn_on(future, &handle).unwrap()
            })
            .collect();
        for (n, task) in tasks.into_iter().enumerate() {
            if n % 5 == 0 {
                task.abort();
                assert!(block_on(task).unwrap_err().is_cancelled());
            } else {
                assert_eq!(block_on(task).unwrap(), n as u64);
            }
        }
        rounds += 1;
    }
    ends.store(true, SeqCst);
    switch.join().unwrap();
    let seen: u64 = readers.map(|reader| reader.join().unwrap()).into_iter().sum();
    assert!(rounds > 0 && seen > 0, "{rounds} rounds, {seen} records read");
}
