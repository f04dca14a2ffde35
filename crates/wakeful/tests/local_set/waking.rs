//! Wake-ups and aborts, from the set's thread and from others.

use super::probes::*;
use std::cell::RefCell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use wakeful::task::{self, JoinHandle, LocalSet, spawn_local};

#[test]
fn tasks_that_wake_each_other_do_not_wake_the_poller() {
    let (wakes, waker) = WakeCount::new();
    let mut local = LocalSet::new();
    let go = Event::default();
    let for_task = go.clone();
    local.spawn_local(async move { for_task.wait().await });
    local.spawn_local(async move {
        turns(3).await;
        go.set();
        spawn_local(turns(1)).await.unwrap();
    });
    assert!(poll(Pin::new(&mut local), &waker).is_ready());
    assert_eq!(wakes.get(), 0);
}

#[test]
fn several_wake_ups_between_two_polls_wake_the_poller_once() {
    let (wakes, waker) = WakeCount::new();
    let mut local = LocalSet::new();
    let events = [(); 4].map(|()| Event::default());
    for event in events.clone() {
        local.spawn_local(async move { event.wait().await });
    }
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    assert_eq!(wakes.get(), 0);
    let [first, second, third, fourth] = events;
    first.set();
    second.set();
    assert_eq!(wakes.get(), 1);
    thread::spawn(move || third.set()).join().unwrap();
    assert_eq!(wakes.get(), 1);
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    thread::spawn(move || fourth.set()).join().unwrap();
    assert_eq!(wakes.get(), 2);
    assert!(poll(Pin::new(&mut local), &waker).is_ready());
}

#[test]
fn a_spawn_from_outside_wakes_the_poller() {
    let (wakes, waker) = WakeCount::new();
    let mut local = LocalSet::new();
    local.spawn_local(std::future::pending::<()>());
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    let by_method = local.spawn_local(async {});
    assert_eq!(wakes.get(), 1);
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    let by_guard = {
        let _inside = local.enter();
        spawn_local(async {})
    };
    assert_eq!(wakes.get(), 2);
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    assert!(by_method.is_finished() && by_guard.is_finished());
}

#[test]
fn the_last_poller_is_woken() {
    let mut local = LocalSet::new();
    let go = Event::default();
    let for_task = go.clone();
    local.spawn_local(async move { for_task.wait().await });
    let [(first, first_waker), (second, second_waker)] = [WakeCount::new(), WakeCount::new()];
    assert!(poll(Pin::new(&mut local), &first_waker).is_pending());
    assert!(poll(Pin::new(&mut local), &second_waker).is_pending());
    go.set();
    assert_eq!((first.get(), second.get()), (0, 1));
}

#[test]
fn a_task_woken_by_another_thread_runs_on_its_own_thread() {
    watched(|| {
        for runtime in [current_thread(), multi_thread()] {
            let here = thread::current().id();
            let go = Event::default();
            let for_task = go.clone();
            let local = LocalSet::new();
            let join = local.spawn_local(async move {
                for_task.wait().await;
                thread::current().id()
            });
            let there = thread::spawn(move || go.set());
            assert_eq!(local.block_on(&runtime, join).unwrap(), here);
            there.join().unwrap();
        }
    });
}

#[test]
fn a_task_is_joined_on_another_thread() {
    watched(|| {
        let runtime = multi_thread();
        let here = thread::current().id();
        let go = Event::default();
        LocalSet::new().block_on(&runtime, async {
            let for_task = go.clone();
            let join = spawn_local(async move {
                for_task.wait().await;
                thread::current().id()
            });
            let joining = task::spawn(async move {
                go.set();
                (thread::current().id(), join.await.unwrap())
            });
            let (there, ran_on) = joining.await.unwrap();
            assert_ne!(there, here);
            assert_eq!(ran_on, here);
        });
    });
}

fn waiting_with_probe(local: &LocalSet, drops: &Drops) -> JoinHandle<()> {
    let probe = drops.probe();
    local.spawn_local(async move {
        let _probe = probe;
        std::future::pending::<()>().await;
    })
}

#[test]
fn a_task_aborted_by_another_thread_is_dropped_on_its_own_thread() {
    watched(|| {
        let (runtime, drops) = (current_thread(), Drops::default());
        let local = LocalSet::new();
        let waiting = waiting_with_probe(&local, &drops);
        local.block_on(&runtime, task::yield_now());
        let never_ran = waiting_with_probe(&local, &drops);
        let there = thread::spawn(move || {
            for join in [&waiting, &never_ran] {
                join.abort();
            }
            [waiting, never_ran]
        });
        runtime.block_on(local);
        assert_eq!(drops.count(), 2);
        for join in there.join().unwrap() {
            assert!(runtime.block_on(join).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn a_task_aborts_another() {
    let drops = Drops::default();
    let local = LocalSet::new();
    let waiting = waiting_with_probe(&local, &drops);
    local.spawn_local(async move {
        task::yield_now().await;
        waiting.abort();
        assert!(!waiting.is_finished(), "it is dropped when it is run next");
        assert!(waiting.await.unwrap_err().is_cancelled());
    });
    current_thread().block_on(local);
    assert_eq!(drops.count(), 1);
}

#[test]
fn wakers_outlive_the_set() {
    let (to_us, wakers) = mpsc::channel();
    let local = LocalSet::new();
    for _ in 0..3 {
        local.spawn_local(leave_waker(to_us.clone()));
    }
    local.block_on(&current_thread(), task::yield_now());
    drop(local);
    let wakers: Vec<_> = wakers.try_iter().collect();
    assert_eq!(wakers.len(), 3);
    for waker in &wakers {
        waker.wake_by_ref();
    }
    thread::spawn(move || {
        let mut wakers = wakers.into_iter();
        let (first, second) = (wakers.next().unwrap(), wakers.next().unwrap());
        first.wake_by_ref();
        drop(first.clone());
        drop(first);
        second.wake();
        drop(wakers);
    })
    .join()
    .unwrap();
}

#[test]
fn handles_outlive_the_set() {
    let local = LocalSet::new();
    let waiting = local.spawn_local(std::future::pending::<()>());
    let ended = local.spawn_local(async { "output" });
    let abort = waiting.abort_handle();
    local.block_on(&current_thread(), task::yield_now());
    drop(local);
    thread::spawn(move || {
        assert!(abort.is_finished());
        abort.abort();
        waiting.abort();
        let runtime = current_thread();
        assert!(runtime.block_on(waiting).unwrap_err().is_cancelled());
        assert_eq!(runtime.block_on(ended).unwrap(), "output");
    })
    .join()
    .unwrap();
}

#[test]
fn a_poll_whose_wakers_clone_panics_leaves_wake_ups_to_the_previous_poller() {
    for is_woken_by_clone in [true, false] {
        let (wakes, waker) = WakeCount::new();
        let mut local = LocalSet::new();
        let go = Event::default();
        let (for_task, for_clone) = (go.clone(), go.clone());
        let join = local.spawn_local(async move { for_task.wait().await });
        assert!(poll(Pin::new(&mut local), &waker).is_pending());
        let panics = CloneHook::new(move || {
            if is_woken_by_clone {
                for_clone.set();
            }
            panic!("the clone of a waker panics");
        });
        let (text, _) =
            panic_of(|| assert!(poll(Pin::new(&mut local), &panics.waker()).is_ready()));
        assert_eq!(text, "the clone of a waker panics");
        thread::spawn(move || go.set()).join().unwrap();
        assert_eq!((wakes.get(), panics.wakes()), (1, 0), "by the clone: {is_woken_by_clone}");
        assert!(poll(Pin::new(&mut local), &waker).is_ready());
        assert!(join.is_finished());
    }
}

#[test]
fn a_waker_whose_clone_polls_the_set_is_woken() {
    let (wakes, waker) = WakeCount::new();
    let local = Rc::new(LocalSet::new());
    let go = Event::default();
    let for_task = go.clone();
    local.spawn_local(async move { for_task.wait().await });
    thread_local! {
        static SET: RefCell<Option<Rc<LocalSet>>> = const { RefCell::new(None) };
    }
    SET.set(Some(local.clone()));
    let outer = CloneHook::new(move || {
        if let Some(set) = SET.take() {
            let mut inner = pin!(set.run_until(std::future::pending::<()>()));
            assert!(poll(inner.as_mut(), &waker).is_pending());
        }
    });
    let mut run = pin!(local.run_until(std::future::pending::<()>()));
    assert!(poll(run.as_mut(), &outer.waker()).is_pending());
    thread::spawn(move || go.set()).join().unwrap();
    assert_eq!((wakes.get(), outer.wakes()), (0, 1), "the outer poll was the last to end");
}
