//! A `JoinSet` returns every task exactly once, whatever its result.

mod support;

use std::cell::Cell;
use std::collections::HashSet;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use support::{Mailbox, current_thread, each_flavor, multi_thread, panic_of};
use wakeful::runtime::LocalRuntime;
use wakeful::task::{JoinSet, LocalSet, yield_now};

type Gate = Mailbox<()>;

/// A waker that counts its wake-ups.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Counter {
    fn new() -> (Arc<Counter>, Waker) {
        let counter = Arc::new(Counter::default());
        (counter.clone(), counter.into())
    }

    fn woken(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// Polls once, with a waker that does nothing.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Yields often enough for the few other tasks of a current-thread runtime to finish their work.
async fn settle() {
    for _ in 0..10 {
        yield_now().await;
    }
}

/// Returns a set of `tasks` tasks, all of which have ended.
async fn ended(tasks: usize) -> JoinSet<()> {
    let mut set = JoinSet::new();
    let handles: Vec<_> = (0..tasks).map(|_| set.spawn(async {})).collect();
    for handle in handles {
        while !handle.is_finished() {
            yield_now().await;
        }
    }
    // Yields, so that the caller starts with a full budget.
    yield_now().await;
    set
}

#[test]
fn joins_every_task_once() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for n in 0..1000 {
                set.spawn(async move {
                    if n % 3 == 0 {
                        yield_now().await;
                    }
                    n
                });
                assert_eq!(set.len(), n + 1);
            }
            let mut seen = HashSet::new();
            while let Some(joined) = set.join_next().await {
                assert!(seen.insert(joined.unwrap()));
                assert_eq!(set.len(), 1000 - seen.len());
            }
            assert_eq!(seen.len(), 1000);
            assert!(set.is_empty());
            assert!(set.join_next().await.is_none());
        });
    }
}

#[test]
fn tasks_come_in_the_order_they_end() {
    current_thread().block_on(async {
        let gates: [Arc<Gate>; 4] = std::array::from_fn(|_| Gate::new());
        let mut set = JoinSet::new();
        for (n, gate) in gates.clone().into_iter().enumerate() {
            set.spawn(async move {
                gate.take().await;
                n
            });
        }
        settle().await;
        for n in [2, 0, 3, 1] {
            gates[n].put(());
            settle().await;
        }
        assert_eq!(set.join_all().await, [2, 0, 3, 1]);
    });
}

#[test]
fn an_empty_set_has_nothing_to_join() {
    let mut set = JoinSet::<()>::default();
    assert!(matches!(poll_once(set.join_next()), Poll::Ready(None)));
    assert!(matches!(poll_once(set.join_next_with_id()), Poll::Ready(None)));
    assert!(matches!(poll_once(set.shutdown()), Poll::Ready(())));
    assert!(set.try_join_next().is_none());
    assert!(set.try_join_next_with_id().is_none());
    set.abort_all();
    set.detach_all();
    assert_eq!(format!("{set:?}"), "JoinSet { len: 0 }");
    assert!(matches!(poll_once(set.join_all()), Poll::Ready(all) if all.is_empty()));
}

#[test]
fn tasks_are_added_while_others_are_joined() {
    multi_thread(2).block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async {});
        set.spawn(async {});
        for _ in 0..500 {
            set.join_next().await.unwrap().unwrap();
            assert_eq!(set.len(), 1);
            set.spawn(async {});
        }
        assert_eq!(set.join_all().await.len(), 2);
    });
}

#[test]
fn try_join_next_returns_only_ended_tasks() {
    current_thread().block_on(async {
        let gate = Gate::new();
        let mut set = JoinSet::new();
        let waits = gate.clone();
        let late = set.spawn(async move { waits.take().await }).id();
        let early = set.spawn(async {}).id();
        assert!(set.try_join_next().is_none());
        settle().await;
        assert_eq!(set.try_join_next_with_id().unwrap().unwrap().0, early);
        assert!(set.try_join_next_with_id().is_none());
        assert_eq!(set.len(), 1);
        gate.put(());
        settle().await;
        assert_eq!(set.try_join_next_with_id().unwrap().unwrap().0, late);
        assert!(set.is_empty());
    });
}

#[test]
fn the_id_is_returned_with_the_output_or_the_error() {
    multi_thread(2).block_on(async {
        let mut set = JoinSet::new();
        let mut expected = HashSet::new();
        for n in 0..100 {
            let abort = set.spawn(async move {
                match n % 3 {
                    0 => panic!("on purpose"),
                    1 => pending().await,
                    _ => wakeful::task::id(),
                }
            });
            expected.insert(abort.id());
            if n % 3 == 1 {
                abort.abort();
            }
        }
        while let Some(joined) = set.join_next_with_id().await {
            let id = match joined {
                Ok((id, own)) => {
                    assert_eq!(id, own);
                    id
                }
                Err(error) => error.id(),
            };
            assert!(expected.remove(&id));
        }
        assert!(expected.is_empty());
    });
}

#[test]
fn a_task_can_be_aborted_by_its_handle() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for n in 0..16 {
                let abort = set.spawn(async move { if n % 2 == 0 { n } else { pending().await } });
                if n % 2 == 1 {
                    abort.abort();
                }
            }
            let (mut ended, mut aborted) = (0, 0);
            while let Some(joined) = set.join_next().await {
                match joined {
                    Ok(n) => {
                        assert_eq!(n % 2, 0);
                        ended += 1;
                    }
                    Err(error) => {
                        assert!(error.is_cancelled());
                        aborted += 1;
                    }
                }
            }
            assert_eq!((ended, aborted), (8, 8));
        });
    }
}

#[test]
fn abort_all_leaves_the_tasks_in_the_set() {
    current_thread().block_on(async {
        let mut set = JoinSet::new();
        for _ in 0..5 {
            set.spawn(async {});
            set.spawn(pending());
        }
        settle().await;
        set.abort_all();
        assert_eq!(set.len(), 10);
        let (mut ended, mut aborted) = (0, 0);
        while let Some(joined) = set.join_next().await {
            match joined {
                Ok(()) => ended += 1,
                Err(error) if error.is_cancelled() => aborted += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!((ended, aborted), (5, 5));
    });
}

#[test]
fn a_set_can_be_used_again_after_a_shutdown() {
    struct PanicOnDrop;
    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    multi_thread(2).block_on(async {
        let mut set = JoinSet::new();
        for _ in 0..10 {
            set.spawn(pending());
            set.spawn(async {
                let _guard = PanicOnDrop;
                pending::<()>().await;
            });
        }
        set.shutdown().await;
        assert!(set.is_empty());
        set.spawn(async {});
        assert_eq!(set.join_all().await, [()]);
    });
}

#[test]
fn a_panic_is_returned_by_join_next() {
    multi_thread(2).block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async { panic!("on purpose") });
        set.spawn_blocking(|| panic!("on purpose"));
        while let Some(joined) = set.join_next().await {
            let joined: Result<(), _> = joined;
            let payload = joined.unwrap_err().into_panic();
            assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
        }
    });
}

#[test]
fn join_all_resumes_a_panic_and_aborts_the_other_tasks() {
    for runtime in each_flavor() {
        let (token, dropped) = mpsc::channel::<()>();
        runtime.block_on(async {
            let mut set = JoinSet::new();
            set.spawn(async move {
                let _token = token;
                pending::<()>().await;
            });
            set.spawn(async { panic!("on purpose") });
            let error = wakeful::spawn(set.join_all()).await.unwrap_err();
            assert_eq!(error.into_panic().downcast_ref(), Some(&"on purpose"));
            while dropped.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
                yield_now().await;
            }
        });
    }
}

#[test]
fn join_all_says_which_task_was_cancelled() {
    current_thread().block_on(async {
        let mut set = JoinSet::<()>::new();
        let abort = set.spawn(pending());
        abort.abort();
        let error = wakeful::spawn(set.join_all()).await.unwrap_err();
        let text = error.into_panic().downcast::<String>().unwrap();
        assert!(text.contains(&format!("task {} was cancelled", abort.id())), "{text}");
    });
}

#[test]
fn dropping_the_set_aborts_its_tasks() {
    for runtime in each_flavor() {
        let (token, dropped) = mpsc::channel::<()>();
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for _ in 0..16 {
                let token = token.clone();
                set.spawn(async move {
                    let _token = token;
                    pending::<()>().await;
                });
            }
            drop((set, token));
            while dropped.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
                yield_now().await;
            }
        });
    }
}

#[test]
fn unjoined_outputs_are_dropped_with_the_set() {
    let output = Arc::new(());
    current_thread().block_on(async {
        let mut set = JoinSet::new();
        for _ in 0..10 {
            let output = output.clone();
            set.spawn(async { output });
        }
        settle().await;
        assert!(set.try_join_next().is_some());
        assert_eq!(Arc::strong_count(&output), 10);
        drop(set);
        assert_eq!(Arc::strong_count(&output), 1);
    });
}

#[test]
fn detached_tasks_keep_running() {
    current_thread().block_on(async {
        let (done, results) = mpsc::channel();
        let mut set = JoinSet::new();
        for n in 0..10 {
            let done = done.clone();
            set.spawn(async move {
                if n % 2 == 1 {
                    yield_now().await;
                }
                done.send(n).unwrap();
            });
        }
        yield_now().await;
        set.detach_all();
        assert_eq!(set.len(), 0);
        assert!(set.join_next().await.is_none());
        set.spawn(async {});
        assert_eq!(set.join_all().await, [()]);
        settle().await;
        drop(done);
        assert_eq!(results.iter().collect::<HashSet<_>>().len(), 10);
    });
}

#[test]
fn tasks_of_a_dropped_runtime_are_cancelled() {
    let mut set = JoinSet::new();
    let runtime = current_thread();
    set.spawn_on(async { 1 }, runtime.handle());
    drop(runtime);
    let joined = current_thread().block_on(set.join_next());
    assert!(joined.unwrap().unwrap_err().is_cancelled());
}

#[test]
fn a_set_holds_tasks_of_several_runtimes() {
    let runtimes = [current_thread(), multi_thread(2), multi_thread(2)];
    let mut set = JoinSet::new();
    set.spawn_on(async { 1 }, runtimes[0].handle());
    set.spawn_on(async { 10 }, runtimes[1].handle());
    set.spawn_blocking_on(|| 100, runtimes[2].handle());
    assert_eq!(runtimes[0].block_on(set.join_all()).into_iter().sum::<i32>(), 111);
}

#[test]
fn blocking_closures_can_be_joined() {
    current_thread().block_on(async {
        let mut set = JoinSet::new();
        for n in 0..10 {
            set.spawn_blocking(move || n);
        }
        let seen: HashSet<i32> = set.join_all().await.into_iter().collect();
        assert_eq!(seen.len(), 10);
    });
}

/// Spawns `tasks` tasks that each return their number. The futures are not `Send`.
fn spawn_numbers(set: &mut JoinSet<Rc<usize>>, tasks: usize, on: Option<&LocalSet>) {
    for n in 0..tasks {
        let number = Rc::new(n);
        let task = async move {
            yield_now().await;
            number
        };
        match on {
            Some(local) => set.spawn_local_on(task, local),
            None => set.spawn_local(task),
        };
    }
}

async fn assert_numbers(set: JoinSet<Rc<usize>>, tasks: usize) {
    let mut numbers: Vec<usize> = set.join_all().await.iter().map(|number| **number).collect();
    numbers.sort();
    assert!(numbers.into_iter().eq(0..tasks));
}

#[test]
fn local_tasks_can_be_joined() {
    let local = LocalSet::new();
    current_thread().block_on(local.run_until(async {
        let mut set = JoinSet::new();
        spawn_numbers(&mut set, 8, None);
        assert_numbers(set, 8).await;
    }));
    LocalRuntime::new().unwrap().block_on(async {
        let mut set = JoinSet::new();
        spawn_numbers(&mut set, 8, None);
        assert!(set.try_join_next().is_none());
        assert_numbers(set, 8).await;
    });
}

#[test]
fn tasks_of_a_local_set_wait_until_it_is_driven() {
    let (local, mut set) = (LocalSet::new(), JoinSet::new());
    spawn_numbers(&mut set, 8, Some(&local));
    let runtime = multi_thread(2);
    assert!(runtime.block_on(async { poll_once(set.join_next()).is_pending() }));
    local.block_on(&runtime, assert_numbers(set, 8));
}

#[test]
fn local_tasks_are_aborted_with_the_set() {
    let local = LocalSet::new();
    current_thread().block_on(local.run_until(async {
        let token = Rc::new(());
        for shutdown in [true, false] {
            let mut set = JoinSet::new();
            for _ in 0..8 {
                let token = token.clone();
                set.spawn_local(async move {
                    let _token = token;
                    pending::<()>().await;
                });
            }
            settle().await;
            if shutdown {
                set.shutdown().await;
                assert!(set.is_empty());
            }
            drop(set);
            settle().await;
            assert_eq!(Rc::strong_count(&token), 1);
        }
    }));
}

#[test]
fn tasks_of_a_dropped_local_set_are_cancelled() {
    let (local, mut set) = (LocalSet::new(), JoinSet::new());
    spawn_numbers(&mut set, 3, Some(&local));
    drop(local);
    current_thread().block_on(async {
        while let Some(joined) = set.join_next().await {
            assert!(joined.unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn a_local_task_is_joined_on_another_thread() {
    let (local, mut set) = (LocalSet::new(), JoinSet::new());
    let number = Rc::new(7);
    // The future is not `Send`, but its output is.
    set.spawn_local_on(async move { *number }, &local);
    let there = std::thread::spawn(|| current_thread().block_on(set.join_all()));
    current_thread().block_on(local);
    assert_eq!(there.join().unwrap(), [7]);
}

#[test]
fn spawning_a_local_task_needs_a_local_set_or_runtime() {
    for runtime in each_flavor() {
        let (text, file) =
            runtime.block_on(async { panic_of(|| drop(JoinSet::new().spawn_local(async {}))) });
        assert_eq!(file, file!());
        let expected = "from outside of a `task::LocalSet` or `runtime::LocalRuntime`";
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_set_is_collected_and_extended_from_futures() {
    current_thread().block_on(async {
        let mut set: JoinSet<_> = (0..5).map(|n| async move { n }).collect();
        set.extend((5..10).map(|n| async move { n }));
        let mut all = set.join_all().await;
        all.sort();
        assert!(all.into_iter().eq(0..10));
    });
}

#[test]
fn a_task_can_be_built_into_the_set() {
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let mut set = JoinSet::new();
        let builder = set.build_task().name("first");
        assert!(format!("{builder:?}").contains("first"));
        builder.spawn(async { 1 }).unwrap();
        set.build_task().spawn_on(async { 2 }, runtime.handle()).unwrap();
        set.build_task().name("third").spawn_blocking(|| 4).unwrap();
        set.build_task().spawn_blocking_on(|| 8, runtime.handle()).unwrap();
        let local = LocalSet::new();
        set.build_task().name("local").spawn_local_on(async { 16 }, &local).unwrap();
        assert_eq!(set.len(), 5);
        let sum = local.run_until(async {
            set.build_task().spawn_local(async { 32 }).unwrap();
            set.join_all().await.into_iter().sum::<i32>()
        });
        assert_eq!(sum.await, 63);
    });
}

#[test]
fn spawning_outside_a_runtime_panics() {
    let (text, file) = panic_of(|| drop(JoinSet::new().spawn(async {})));
    assert_eq!(file, file!());
    assert!(text.contains("there is no runtime on this thread"), "{text}");
}

#[test]
fn only_the_waker_of_the_last_poll_is_woken() {
    let runtime = current_thread();
    let (first, second) = (Gate::new(), Gate::new());
    let mut set = JoinSet::new();
    for gate in [first.clone(), second.clone()] {
        set.spawn_on(async move { gate.take().await }, runtime.handle());
    }
    runtime.block_on(settle());
    let counters = [Counter::new(), Counter::new()];
    for (_, waker) in &counters {
        assert!(set.poll_join_next(&mut Context::from_waker(waker)).is_pending());
    }
    first.put(());
    runtime.block_on(settle());
    assert_eq!(counters.each_ref().map(|(counter, _)| counter.woken()), [0, 1]);

    // Only a task that polls again is woken again.
    let mut again = Context::from_waker(&counters[0].1);
    assert!(set.poll_join_next_with_id(&mut again).is_ready());
    assert!(set.poll_join_next_with_id(&mut again).is_pending());
    second.put(());
    runtime.block_on(settle());
    assert_eq!(counters.each_ref().map(|(counter, _)| counter.woken()), [1, 1]);
    assert!(set.poll_join_next(&mut again).is_ready());
}

#[test]
fn many_ended_tasks_wake_the_joining_task_once() {
    let runtime = current_thread();
    let mut set = JoinSet::new();
    let (counter, waker) = Counter::new();
    for _ in 0..100 {
        set.spawn_on(async {}, runtime.handle());
    }
    assert!(set.poll_join_next(&mut Context::from_waker(&waker)).is_pending());
    runtime.block_on(settle());
    assert_eq!(counter.woken(), 1);
}

#[test]
fn a_dropped_join_next_loses_nothing() {
    let runtime = current_thread();
    let gate = Gate::new();
    let mut set = JoinSet::new();
    let waits = gate.clone();
    set.spawn_on(async move { waits.take().await }, runtime.handle());
    runtime.block_on(settle());
    assert!(poll_once(set.join_next()).is_pending());
    gate.put(());
    runtime.block_on(settle());
    drop(set.join_next());
    assert_eq!(set.len(), 1);
    assert!(matches!(poll_once(set.join_next()), Poll::Ready(Some(Ok(())))));
}

#[test]
fn join_next_yields_and_try_join_next_does_not() {
    current_thread().block_on(async {
        let (mut set, mut joined, mut gave_way) = (ended(1000).await, 0, 0);
        while !set.is_empty() {
            match poll_fn(|cx| Poll::Ready(pin!(set.join_next()).poll(cx))).await {
                Poll::Ready(task) => {
                    task.unwrap().unwrap();
                    joined += 1;
                }
                Poll::Pending => {
                    gave_way += 1;
                    yield_now().await;
                }
            }
        }
        assert_eq!(joined, 1000);
        assert!((1..20).contains(&gave_way), "gave way {gave_way} times");

        let mut set = ended(1000).await;
        assert_eq!(std::iter::from_fn(|| set.try_join_next()).count(), 1000);
    });
}

#[test]
fn a_hundred_thousand_ended_tasks_take_one_poll_each() {
    const TASKS: usize = 100_000;
    current_thread().block_on(async {
        let mut set = ended(TASKS).await;
        let (mut polls, mut joined) = (0, 0);
        loop {
            let next = poll_fn(|cx| {
                polls += 1;
                set.poll_join_next(cx)
            });
            match next.await {
                Some(task) => task.unwrap(),
                None => break,
            }
            joined += 1;
        }
        assert_eq!(joined, TASKS);
        // One poll for each task, one for each time the budget ran out, one for the empty set.
        assert!(polls <= TASKS + TASKS / 100 + 1, "{polls} polls");
    });
}

#[test]
fn a_task_that_ends_among_many_that_wait_takes_two_polls() {
    const TASKS: usize = 100_000;
    // Coprime to the number of tasks, so that every task is reached.
    const STRIDE: usize = 38_317;
    current_thread().block_on(async {
        let gates: Vec<Arc<Gate>> = (0..TASKS).map(|_| Gate::new()).collect();
        let mut set = JoinSet::new();
        for (n, gate) in gates.iter().cloned().enumerate() {
            set.spawn(async move {
                gate.take().await;
                n
            });
        }
        let mut polls = 0;
        for turn in 0..TASKS {
            let n = turn * STRIDE % TASKS;
            gates[n].put(());
            let next = poll_fn(|cx| {
                polls += 1;
                set.poll_join_next(cx)
            });
            assert_eq!(next.await.unwrap().unwrap(), n);
        }
        assert!(set.is_empty());
        assert!(polls <= 2 * TASKS, "{polls} polls");
    });
}

#[test]
fn a_set_dropped_while_its_tasks_end_leaks_nothing() {
    let runtime = multi_thread(2);
    let token = Arc::new(());
    for round in 0..300 {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for n in 0..20 {
                let token = token.clone();
                set.spawn(async move {
                    for _ in 0..n % 4 {
                        yield_now().await;
                    }
                    token
                });
            }
            for _ in 0..round % 20 {
                drop(set.join_next().await.unwrap().unwrap());
            }
            if round % 2 == 0 {
                set.detach_all();
                set.spawn(async { Arc::default() });
                assert!(set.join_next().await.unwrap().is_ok());
            }
        });
    }
    drop(runtime);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn a_panic_of_the_joining_task_leaves_the_set_usable() {
    let runtime = current_thread();
    let mut set = JoinSet::new();
    set.spawn_on(async { 1 }, runtime.handle());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            set.spawn(async { 2 });
            panic!("on purpose");
        })
    }));
    assert!(caught.is_err());
    assert_eq!(set.len(), 2);
    assert_eq!(runtime.block_on(set.join_all()).into_iter().sum::<i32>(), 3);
}

#[test]
fn a_set_is_send_if_its_outputs_are() {
    fn assert_traits<S: Send + Sync + Unpin + std::panic::UnwindSafe>() {}
    assert_traits::<JoinSet<u32>>();
    // A shared reference to the set gives no access to an output.
    assert_traits::<JoinSet<Cell<u32>>>();
    fn assert_future<F: Send + Sync>(_: F) {}
    assert_future(JoinSet::<Cell<u32>>::new().join_next());

    // If the output were `Send`, the call would be ambiguous and not compile.
    trait NotSend<Marker> {
        fn not_send(&self) {}
    }
    impl<S> NotSend<()> for S {}
    impl<S: Send> NotSend<u8> for S {}
    JoinSet::<Rc<u32>>::new().not_send();
}
